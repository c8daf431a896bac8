package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/cli/term"
)

func newAudit(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:   "audit",
		Short: "Read, follow, export and verify the audit log",
		Long: `The audit log records who did what, when, and whether it was allowed. It has
an entry for every change, with what it changed, and for every refused
attempt. Entries are never changed or deleted.`,
		Example: `  bursar audit list --since 24h --outcome denied
  bursar audit show aud_01jd2s6w8x0y2z4a6b8c0d2e4f
  bursar audit tail -f
  bursar audit export audit.csv --since 2026-01-01 --until 2026-03-31
  bursar audit export --proof log.zip`,
	}, newAuditList(r), newAuditShow(r), newAuditTail(r), newAuditExport(r), newAuditProve(r), newAuditVerify(r.terminal), newAuditRestart(r.terminal, "bursar audit restart"))
}

// auditQuery contains the filters as typed.
type auditQuery struct {
	actor, action, resourceType, resource, outcome string
	key                                            string
	since, until                                   string
	organization                                   string
	mine                                           bool
}

const auditFilters = `
Filters combine: an entry must match all of them. --actor is an email address,
a name or an id. --resource is an id; with --resource-type member, workspace,
organization, api_key or directory_entry it can also be a name. --since and
--until take a time (2026-05-31T08:00:00Z), a local date (2026-05-31), which
includes the whole day, or a duration before now (2h, 7d). --key includes keys
that were made with it and its successors.

The entries are those of the workspace. With --organization, owners see the
entries that belong to no workspace, such as settings and logins.`

// ownActivity is the help text of --mine.
const ownActivity = ` With --mine
you see what you did yourself outside of workspaces.`

func (q *auditQuery) bind(r *remote, c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&q.actor, "actor", "", "only actions of this person or machine client")
	flags.StringVar(&q.key, "key", "", "only what was done with this API key, by its id")
	flags.StringVar(&q.resourceType, "resource-type", "", "only entries about this type of resource, such as member")
	flags.StringVar(&q.resource, "resource", "", "only entries about this resource")
	q.bindOrganization(r, c)
	q.bindCommon(c, "directory.entry.created")
	r.bindWorkspace(c)
	c.MarkFlagsMutuallyExclusive("organization", "workspace")
	_ = c.RegisterFlagCompletionFunc("actor", members().completion(r))
	var types []string
	for _, kind := range audit.ResourceTypes() {
		types = append(types, string(kind))
	}
	_ = c.RegisterFlagCompletionFunc("resource-type", cobra.FixedCompletions(types, cobra.ShellCompDirectiveNoFileComp))
}

// bindOrganization lets a command read the log of an organization.
func (q *auditQuery) bindOrganization(r *remote, c *cobra.Command) {
	c.Flags().StringVar(&q.organization, "organization", "", "entries of this organization that belong to no workspace")
	_ = c.RegisterFlagCompletionFunc("organization", organizations().completion(r))
}

// bindCommon binds the filters that the operator's log has, too.
func (q *auditQuery) bindCommon(c *cobra.Command, action string) {
	flags := c.Flags()
	flags.StringVar(&q.action, "action", "", "only this action, such as "+action)
	flags.StringVar(&q.outcome, "outcome", "", "only this outcome: success, denied or failure")
	flags.StringVar(&q.since, "since", "", "only entries from this time on")
	flags.StringVar(&q.until, "until", "", "only entries up to this time")
	var actions []string
	for _, a := range audit.Actions() {
		actions = append(actions, string(a))
	}
	_ = c.RegisterFlagCompletionFunc("action", cobra.FixedCompletions(actions, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("outcome", cobra.FixedCompletions(outcomes(), cobra.ShellCompDirectiveNoFileComp))
}

// bindMine lets a command show the user's own activity, which needs no permission.
func (q *auditQuery) bindMine(c *cobra.Command) {
	c.Flags().BoolVar(&q.mine, "mine", false, "your own actions outside of workspaces")
	c.MarkFlagsMutuallyExclusive("organization", "mine", "workspace")
	c.MarkFlagsMutuallyExclusive("actor", "mine")
	c.MarkFlagsMutuallyExclusive("key", "mine")
}

func outcomes() []string {
	return []string{client.OutcomeSuccess, client.OutcomeDenied, client.OutcomeFailure}
}

// check validates the filters that do not need the server.
func (q *auditQuery) check(now time.Time) (client.AuditListParams, error) {
	p := client.AuditListParams{Action: q.action, ResourceType: q.resourceType, ResourceID: q.resource, Outcome: q.outcome, KeyID: q.key}
	var wrong []error
	if q.outcome != "" && !slices.Contains(outcomes(), q.outcome) {
		wrong = append(wrong, fmt.Errorf("--outcome must be one of %s, not %q", strings.Join(outcomes(), ", "), q.outcome))
	}
	moment := func(flag, text string, last bool) time.Time {
		if text == "" {
			return time.Time{}
		}
		at, err := parseMoment(text, now, last)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("--%s: %w", flag, err))
		} else if at.UnixMilli() < 0 {
			at = time.UnixMilli(0)
		}
		return at
	}
	p.From, p.To = moment("since", q.since, false), moment("until", q.until, true)
	if len(wrong) == 0 && !p.To.IsZero() && p.To.Before(p.From) {
		wrong = append(wrong, errors.New("--until must not be before --since"))
	}
	if len(wrong) > 0 {
		return p, term.Usage(errors.Join(wrong...))
	}
	return p, nil
}

// auditSource reads the entries that match a query.
type auditSource struct {
	*call
	p    client.AuditListParams
	mine bool
}

// source connects to the server and resolves names.
func (q *auditQuery) source(ctx context.Context, r *remote) (*auditSource, error) {
	p, err := q.check(time.Now())
	if err != nil {
		return nil, err
	}
	s, err := r.connect()
	if err != nil {
		return nil, err
	}
	a := &auditSource{call: r.call(ctx, s), p: p, mine: q.mine}
	switch {
	case q.mine:
	case q.organization != "":
		o, err := organizations().find(a.call, q.organization)
		if err != nil {
			return nil, err
		}
		a.p.OrganizationID = o.ID
	default:
		w, err := a.here()
		if err != nil {
			return nil, err
		}
		a.p.WorkspaceID = w.ID
	}
	if a.p.Actor, err = a.findActor(q.actor); err != nil {
		return nil, err
	}
	a.p.ResourceID, err = a.findResource(q.resource)
	return a, err
}

// actorsSearched is the number of entries searched for an actor who is not a member, such as a former member or a machine client.
const actorsSearched = 1000

func (a *auditSource) findActor(ref string) (string, error) {
	if ref == "" || term.IsID(ref) {
		return ref, nil // the log can contain ids that no longer exist
	}
	if a.p.WorkspaceID != "" {
		all, err := members().all(a.call)
		if err != nil && !client.IsForbidden(err) {
			return "", err
		}
		known := func(m api.Member) bool { return strings.EqualFold(m.Email, ref) || strings.EqualFold(m.Name, ref) }
		if slices.ContainsFunc(all, known) {
			m, err := members().pick(a.call, ref, all)
			return m.ID, err
		}
	}
	var list []candidate[string]
	met, n := map[string]bool{}, 0
	for row, err := range a.Audit.All(a, client.AuditListParams{WorkspaceID: a.p.WorkspaceID, OrganizationID: a.p.OrganizationID}) {
		if err != nil {
			return "", fmt.Errorf("search the log for the actor: %w", err)
		}
		if !met[row.ActorID] {
			list = append(list, candidate[string]{row.ActorID, row.ActorID, []string{row.ActorEmail, row.ActorName}, term.Printable(person(row.ActorName, row.ActorEmail)) + "  " + row.ActorID})
		}
		met[row.ActorID] = true
		if n++; n == actorsSearched {
			break
		}
	}
	id, err := pick(a, a.terminal, "actor", ref, list)
	if err == nil && id == "" {
		err = fmt.Errorf("the log has no id for %q, so it cannot be filtered", ref)
	}
	return id, err
}

func (a *auditSource) findResource(ref string) (string, error) {
	if ref == "" || term.IsID(ref) {
		return ref, nil // the log can contain ids that no longer exist
	}
	switch kind := audit.ResourceType(a.p.ResourceType); kind {
	case audit.Member, audit.UserResource:
		if a.p.WorkspaceID != "" {
			m, err := members().find(a.call, ref)
			return m.ID, err
		}
	case audit.DirectoryEntry:
		if a.p.WorkspaceID != "" {
			return entryID(a.call, ref)
		}
	case audit.Workspace:
		w, err := workspaces().find(a.call, ref)
		return w.ID, err
	case audit.Organization:
		o, err := organizations().find(a.call, ref)
		return o.ID, err
	case audit.Key:
		k, err := keys().find(a.call, ref)
		return k.ID, err
	}
	return ref, nil
}

// rows returns the entries from a time on, newest first.
func (a *auditSource) rows(ctx context.Context, from time.Time, page int) iter.Seq2[api.AuditEntry, error] {
	p := a.p
	p.Limit = page
	if from.After(p.From) {
		p.From = from
	}
	if !a.mine {
		return a.Audit.All(ctx, p)
	}
	// The API cannot filter the user's own activity, so it is filtered here.
	return func(yield func(api.AuditEntry, error) bool) {
		for row, err := range a.Auth.AllActivity(ctx, client.ListParams{Limit: page}) {
			if err == nil && row.Timestamp < p.From.UnixMilli() && !p.From.IsZero() {
				return
			}
			if (err != nil || matches(p, row)) && !yield(row, err) {
				return
			}
		}
	}
}

// all returns all entries of the log, without filters, newest first.
func (a *auditSource) all(ctx context.Context) iter.Seq2[api.AuditEntry, error] {
	return a.Audit.All(ctx, client.AuditListParams{WorkspaceID: a.p.WorkspaceID, OrganizationID: a.p.OrganizationID, Limit: 25})
}

func matches(p client.AuditListParams, row api.AuditEntry) bool {
	same := func(want, got string) bool { return want == "" || want == got }
	return same(p.Action, row.Action) && same(p.ResourceType, row.ResourceType) && same(p.ResourceID, row.ResourceID) &&
		same(p.Outcome, row.Outcome) && (p.To.IsZero() || row.Timestamp <= p.To.UnixMilli())
}

func newAuditList(r *remote) *cobra.Command {
	var q auditQuery
	table := &term.Table{Columns: auditColumns(), Detail: []string{"action"}, Empty: noAuditEntries}
	c := newLocalList(r.terminal, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List entries of the audit log, newest first",
		Long: "List entries of the audit log, newest first. Times are in your time zone.\n--csv writes every field, as 'bursar audit export' does.\n" + auditFilters + ownActivity,
		Example: `  bursar audit list --since 24h
  bursar audit list --actor grace@example.com --outcome denied
  bursar audit list --resource-type member --resource "Grace Hopper" --all --json`,
	}, list[api.AuditEntry]{
		noun: "audit log",
		rows: func(c *call, limit int) (iter.Seq2[api.AuditEntry, error], error) {
			if c.format.CSV {
				table.Columns = auditlog.Columns()
			}
			a, err := q.source(c, r)
			if err != nil {
				return nil, err
			}
			return a.rows(c, time.Time{}, limit), nil
		},
		table: table,
		cells: func(c *call, row api.AuditEntry) []string {
			if c.format.CSV {
				return auditlog.Cells(row)
			}
			return auditCells(row)
		},
	})
	q.bind(r, c)
	q.bindMine(c)
	return c
}

const noAuditEntries = "No matching entries."

func auditColumns() []string { return []string{"time", "actor", "action", "description", "outcome"} }

// auditAction is the index of the action in auditColumns.
const auditAction = 2

// auditCells returns an entry as the cells of a table.
func auditCells(row api.AuditEntry) []string {
	return []string{localTime(row.Timestamp), auditActor(row), row.Action, auditDescription(row), row.Outcome}
}

// auditActor returns the shortest readable name of an entry's actor.
func auditActor(row api.AuditEntry) string {
	return cmp.Or(row.ActorName, row.ActorEmail, row.ActorID, row.ActorType)
}
