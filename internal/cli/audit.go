package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
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
		Short: "Read, follow and export the audit log",
		Long: `The audit log tells who did what, when, and whether it was allowed. Every change
leaves an entry, and so does what was refused. Entries are never changed or deleted.`,
		Example: `  bursar audit list --since 24h --outcome denied
  bursar audit tail -f
  bursar audit export audit.csv --since 2026-01-01 --until 2026-03-31`,
	}, newAuditList(r), newAuditTail(r), newAuditExport(r))
}

// auditQuery is which entries are asked for, as it was typed.
type auditQuery struct {
	actor, action, resourceType, resource, outcome string
	since, until                                   string
	organization                                   string
	mine                                           bool
}

const auditFilters = `
Filters combine. --actor is an email address, a name or an id; --resource is an id,
or with --resource-type member, workspace, organization, api_key or directory_entry
also a name. --since and --until take a time (2026-05-31T08:00:00Z), a local date
(2026-05-31), which counts whole, or how long ago it was (2h, 7d).

Entries are those of the workspace. --organization shows what belongs to none of its
workspaces, such as settings and logins, to an owner; --mine what you did yourself
outside of workspaces.`

func (q *auditQuery) bind(r *remote, c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&q.actor, "actor", "", "only what this person or machine client did")
	flags.StringVar(&q.action, "action", "", "only this action, such as directory.entry.created")
	flags.StringVar(&q.resourceType, "resource-type", "", "only what is about this kind of thing, such as member")
	flags.StringVar(&q.resource, "resource", "", "only what is about this very thing")
	flags.StringVar(&q.outcome, "outcome", "", "only this outcome: success, denied or failure")
	flags.StringVar(&q.since, "since", "", "only from this time on")
	flags.StringVar(&q.until, "until", "", "only up to this time")
	flags.StringVar(&q.organization, "organization", "", "entries of this organization that belong to no workspace")
	flags.BoolVar(&q.mine, "mine", false, "what you did outside of workspaces")
	r.inWorkspace(c)
	c.MarkFlagsMutuallyExclusive("organization", "mine", "workspace")
	c.MarkFlagsMutuallyExclusive("actor", "mine")
	_ = c.RegisterFlagCompletionFunc("actor", r.completeMembers())
	_ = c.RegisterFlagCompletionFunc("organization", r.completeOrganizations())
	var actions, types []string
	for _, a := range audit.Actions() {
		actions, types = append(actions, string(a)), append(types, string(a.Resource()))
	}
	slices.Sort(types)
	types = slices.DeleteFunc(slices.Compact(types), func(kind string) bool { return kind == "" })
	_ = c.RegisterFlagCompletionFunc("action", cobra.FixedCompletions(actions, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("resource-type", cobra.FixedCompletions(types, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("outcome", cobra.FixedCompletions(outcomes(), cobra.ShellCompDirectiveNoFileComp))
}

func outcomes() []string {
	return []string{client.OutcomeSuccess, client.OutcomeDenied, client.OutcomeFailure}
}

// check reads what needs no server.
func (q *auditQuery) check(now time.Time) (client.AuditListParams, error) {
	p := client.AuditListParams{Action: q.action, ResourceType: q.resourceType, ResourceID: q.resource, Outcome: q.outcome}
	var wrong []error
	if q.outcome != "" && !slices.Contains(outcomes(), q.outcome) {
		wrong = append(wrong, fmt.Errorf("--outcome is one of %s, not %q", strings.Join(outcomes(), ", "), q.outcome))
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
		wrong = append(wrong, errors.New("--until lies before --since"))
	}
	if len(wrong) > 0 {
		return p, term.Usage(errors.Join(wrong...))
	}
	return p, nil
}

// auditSource reads the entries that are asked for.
type auditSource struct {
	r    *remote
	s    *session
	p    client.AuditListParams
	mine bool
}

// source connects and finds what names mean.
func (q *auditQuery) source(ctx context.Context, r *remote) (*auditSource, error) {
	p, err := q.check(time.Now())
	if err != nil {
		return nil, err
	}
	s, err := r.connect()
	if err != nil {
		return nil, err
	}
	a := &auditSource{r: r, s: s, p: p, mine: q.mine}
	switch {
	case q.mine:
	case q.organization != "":
		o, err := s.findOrganization(ctx, q.organization, "--organization")
		if err != nil {
			return nil, err
		}
		a.p.OrganizationID = o.ID
	default:
		w, err := r.currentWorkspace(ctx, s)
		if err != nil {
			return nil, err
		}
		a.p.WorkspaceID = w.ID
	}
	if a.p.Actor, err = a.findActor(ctx, q.actor); err != nil {
		return nil, err
	}
	a.p.ResourceID, err = a.findResource(ctx, q.resource)
	return a, err
}

// idShape is what ids look like: they are taken as they are, since what they name
// may be gone while the log still tells of it.
var idShape = regexp.MustCompile(`^[a-z]+_[0-9a-z]{26}$`)

// actorsSearched is how many entries are looked through for somebody who is no
// member: who has left, or a machine client.
const actorsSearched = 1000

func (a *auditSource) findActor(ctx context.Context, ref string) (string, error) {
	if ref == "" || idShape.MatchString(ref) {
		return ref, nil
	}
	if a.p.WorkspaceID != "" {
		all, err := a.s.members(ctx, a.p.WorkspaceID)
		if err != nil && !client.IsForbidden(err) {
			return "", err
		}
		known := func(m api.Member) bool { return strings.EqualFold(m.Email, ref) || strings.EqualFold(m.Name, ref) }
		if slices.ContainsFunc(all, known) {
			m, err := pick(a.s.terminal, "member", ref, memberCandidates(all))
			return m.ID, err
		}
	}
	var list []candidate[string]
	met, n := map[string]bool{}, 0
	for row, err := range a.s.Audit.All(ctx, client.AuditListParams{WorkspaceID: a.p.WorkspaceID, OrganizationID: a.p.OrganizationID}) {
		if err != nil {
			return "", fmt.Errorf("look for the actor in the log: %w", err)
		}
		if !met[row.ActorID] {
			list = append(list, candidate[string]{row.ActorID, row.ActorID, []string{row.ActorEmail, row.ActorName}, term.Printable(person(row.ActorName, row.ActorEmail)) + "  " + row.ActorID})
		}
		met[row.ActorID] = true
		if n++; n == actorsSearched {
			break
		}
	}
	id, err := pick(a.s.terminal, "actor", ref, list)
	if err == nil && id == "" {
		err = fmt.Errorf("%q has no id in the log by which it could be asked for", ref)
	}
	return id, err
}

func (a *auditSource) findResource(ctx context.Context, ref string) (string, error) {
	if ref == "" || idShape.MatchString(ref) {
		return ref, nil
	}
	switch kind := audit.ResourceType(a.p.ResourceType); kind {
	case audit.Member, audit.UserAccount:
		if a.p.WorkspaceID != "" {
			m, err := a.s.findMember(ctx, a.p.WorkspaceID, ref)
			return m.ID, err
		}
	case audit.DirectoryEntry:
		if a.p.WorkspaceID != "" {
			e, err := a.r.findEntry(ctx, a.s, ref)
			if err != nil {
				return "", err
			}
			return e.ID, nil
		}
	case audit.Workspace:
		w, err := a.s.findWorkspace(ctx, ref)
		return w.ID, err
	case audit.Organization:
		o, err := a.s.findOrganization(ctx, ref, "--resource")
		return o.ID, err
	case audit.Key:
		k, err := a.s.findKey(ctx, ref)
		return k.ID, err
	}
	return ref, nil
}

// rows walks over the entries from a time on, newest first.
func (a *auditSource) rows(ctx context.Context, from time.Time, page int) iter.Seq2[api.AuditEntry, error] {
	p := a.p
	p.Limit = page
	if from.After(p.From) {
		p.From = from
	}
	if !a.mine {
		return a.s.Audit.All(ctx, p)
	}
	// The API has no filters for one's own activity.
	return func(yield func(api.AuditEntry, error) bool) {
		for row, err := range a.s.Auth.AllActivity(ctx, client.ListParams{Limit: page}) {
			if err == nil && row.Timestamp < p.From.UnixMilli() && !p.From.IsZero() {
				return
			}
			if (err != nil || matches(p, row)) && !yield(row, err) {
				return
			}
		}
	}
}

func matches(p client.AuditListParams, row api.AuditEntry) bool {
	same := func(want, got string) bool { return want == "" || want == got }
	return same(p.Action, row.Action) && same(p.ResourceType, row.ResourceType) && same(p.ResourceID, row.ResourceID) &&
		same(p.Outcome, row.Outcome) && (p.To.IsZero() || row.Timestamp <= p.To.UnixMilli())
}

func newAuditList(r *remote) *cobra.Command {
	var f term.Format
	var q auditQuery
	var rows span
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List entries of the audit log, newest first",
		Long: "List entries of the audit log, newest first. Times are those of your zone; --csv\nwrites every field, as 'bursar audit export' does.\n" + auditFilters,
		Example: `  bursar audit list --since 24h
  bursar audit list --actor grace@example.com --outcome denied
  bursar audit list --resource-type member --resource "Grace Hopper" --all --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := rows.check(); err != nil {
				return err
			}
			a, err := q.source(c.Context(), r)
			if err != nil {
				return err
			}
			list, err := take(r.terminal, rows, a.rows(c.Context(), time.Time{}, rows.page()))
			if err != nil {
				return fmt.Errorf("list the audit log: %w", err)
			}
			shown := &term.Table{Columns: auditColumns(), Empty: "Nothing in the log is like that."}
			if f.CSV {
				shown.Columns = auditlog.Columns()
			}
			for _, row := range list {
				if f.CSV {
					shown.Add(auditlog.Record(row)...)
				} else {
					shown.Add(auditCells(row)...)
				}
			}
			return f.WriteTable(r.terminal, list, shown)
		},
	}
	q.bind(r, c)
	rows.bind(c)
	f.Bind(c, true)
	return c
}

func auditColumns() []string { return []string{"time", "actor", "action", "description", "outcome"} }

// auditOutcome is the index of the outcome in auditColumns.
const auditOutcome = 4

// auditCells is an entry as people read it.
func auditCells(row api.AuditEntry) []string {
	actor := cmp.Or(row.ActorName, row.ActorEmail, row.ActorID, row.ActorType)
	return []string{localTime(row.Timestamp), actor, row.Action, row.Description, row.Outcome}
}
