package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func newApprovals(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:     "approvals",
		Aliases: []string{"approval"},
		Short:   "Decide payouts and changes of where money goes",
		Long: `Where a workspace has two people who could, a payout and a change of a
receiving method take both: one asks, and another one approves, who must have
logged in within the last 15 minutes and has no part in the request. An
approval is for exactly what was shown. Some take several people.`,
		Example: `  bursar approvals list --state pending
  bursar approvals show apr_01jd2s1t3v5w7x9y1z3a5b7c9d
  bursar approvals approve apr_01jd2s1t3v5w7x9y1z3a5b7c9d --verification "called Ada"
  bursar approvals lines apr_01jd2s1t3v5w7x9y1z3a5b7c9d --flag shared_account`,
	}, newApprovalsList(r), newApprovalsShow(r), newApprovalsLines(r), newApprovalsApprove(r), newApprovalsReject(r), newApprovalsWithdraw(r), newApprovalsPolicy(r), newApprovalsExtend(r))
}

func newApprovalsList(r *remote) *cobra.Command {
	var state string
	c := listCommand(r.terminal, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List what waits for approval, or was decided",
		Example: `  bursar approvals list
  bursar approvals list --state pending --jq '.[].id'`,
	}, list[api.Approval]{
		noun: "approvals",
		rows: func(ctx context.Context, limit int) (iter.Seq2[api.Approval, error], error) {
			if err := oneOf("state", state, api.ApprovalStates()); err != nil {
				return nil, err
			}
			s, w, err := r.connectWorkspace(ctx)
			if err != nil {
				return nil, err
			}
			return s.Approvals.All(ctx, client.ApprovalListParams{WorkspaceID: w.ID, State: state, Limit: limit}), nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"change", "state", "requested by", "expires", "id"}, Empty: "There are no approvals."}
		},
		cells: func(f term.Format, a api.Approval) []string {
			expires := localTime(a.ExpiresAt)
			if f.CSV {
				expires = exactTime(a.ExpiresAt)
			}
			return []string{a.Summary, a.State, a.RequestedBy.Name, expires, a.ID}
		},
	})
	c.Flags().StringVar(&state, "state", "", "only those in this state: "+strings.Join(api.ApprovalStates(), ", "))
	completeWords(c, "state", api.ApprovalStates())
	return r.inWorkspace(c)
}

func newApprovalsShow(r *remote) *cobra.Command {
	var f term.Format
	c := &cobra.Command{
		Use: "show APPROVAL", Aliases: []string{"get"}, Short: "Show old beside new, who asked, and what else changed",
		Long: `Show all that one needs to decide: the present values beside the new ones, who
asked and from where, how to reach the payee, and what else about them changed
in the last 30 days. Account numbers are in full, which the audit log tells.`,
		Example: `  bursar approvals show apr_01jd2s1t3v5w7x9y1z3a5b7c9d
  bursar approvals show apr_01jd2s1t3v5w7x9y1z3a5b7c9d --jq .digest`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			a, err := s.Approvals.Get(c.Context(), args[0])
			if err != nil {
				return fmt.Errorf("read the approval: %w", err)
			}
			return f.Write(r.terminal, a, func(w io.Writer) error { return r.writeApproval(w, a) })
		},
	}
	f.Bind(c, false)
	return c
}

func orNone(text string) string { return cmp.Or(text, "none") }

// contactText returns how to reach a payee. After a recent change, it recommends the earlier value.
func contactText(c api.ApprovalContact) string {
	if c.Earlier == "" {
		return c.Now
	}
	return c.Earlier + " until lately: ask by this one. Now it is " + orNone(c.Now)
}

func (r *remote) writeApproval(w io.Writer, a *api.Approval) error {
	pairs := []string{"Change", a.Summary, "State", a.State, "Id", a.ID}
	anew := !slices.ContainsFunc(a.Fields, func(f api.ApprovalField) bool { return f.Before != "" })
	for _, f := range a.Fields {
		switch {
		case anew && f.After != "":
			pairs = append(pairs, "  "+f.Field, f.After)
		case f.Before != "" || f.After != "":
			pairs = append(pairs, "  "+f.Field, orNone(f.Before)+" → "+orNone(f.After))
		}
	}
	from := a.RequestedBy.IP
	if a.RequestedBy.Program != "" {
		from += ", " + a.RequestedBy.Program
	}
	if a.RequestedBy.KeyName != "" {
		from += ", with the API key " + a.RequestedBy.KeyName
	}
	requester := strings.TrimSpace(a.RequestedBy.Name + " " + a.RequestedBy.Email)
	if proved := a.RequestedBy.EmailProved; proved != nil && !*proved {
		requester += " (address not verified)"
	}
	pairs = append(pairs, "Requested by", requester)
	if from != "" {
		pairs = append(pairs, "From", from)
	}
	pairs = append(pairs, "Requested", localTime(a.CreatedAt), "Expires", localTime(a.ExpiresAt))
	for _, contact := range a.Contacts {
		pairs = append(pairs, "Payee's "+contact.Field, contactText(contact))
	}
	for _, f := range a.ChangedFields {
		pairs = append(pairs, "Payee's "+f.Field+" lately", orNone(f.Before)+" → "+orNone(f.After))
	}
	for _, change := range a.RoleChanges {
		pairs = append(pairs, "Role changed lately", localTime(change.Timestamp)+" "+change.Description+" ("+change.ActorName+")"+permissionsOf(change))
	}
	for _, change := range a.RecentChanges {
		pairs = append(pairs, "Changed lately", localTime(change.Timestamp)+" "+change.Description+" ("+change.ActorName+")")
	}
	if a.ApprovalsNeeded > 1 {
		pairs = append(pairs, "Approvals", fmt.Sprintf("%d of %d", len(a.Approvals), a.ApprovalsNeeded))
		for _, vote := range a.Approvals {
			name := vote.Name
			if !vote.EmailProved {
				name += " (address not verified)"
			}
			pairs = append(pairs, "  "+name, localTime(vote.At)+", "+vote.Verification)
		}
	}
	if l := a.Lines; l != nil {
		pairs = append(pairs, "Waiting lines", fmt.Sprint(l.Pending))
		for _, flag := range api.ApprovalFlags() {
			pairs = append(pairs, "  "+strings.ReplaceAll(flag, "_", " "), fmt.Sprint(l.Flags[flag]))
		}
		for _, one := range []struct {
			name  string
			count int64
		}{{"Approved lines", l.Approved}, {"Left out", l.LeftOut}, {"Changed since", l.Void}} {
			if one.count > 0 {
				pairs = append(pairs, one.name, fmt.Sprint(one.count))
			}
		}
	}
	if a.Role != "" {
		pairs = append(pairs, "Must have the role", a.Role)
	}
	if a.DecidedBy != nil {
		pairs = append(pairs, "Decided by", a.DecidedBy.Name+", "+localTime(a.DecidedAt))
	}
	for _, more := range [][2]string{{"Checked", a.Verification}, {"Reason", a.Reason}, {"You cannot approve", a.CannotBecause}} {
		if more[1] != "" {
			pairs = append(pairs, more[0], more[1])
		}
	}
	return term.WritePairs(r.terminal, w, append(pairs, "Digest", a.Digest)...)
}

func newApprovalsLines(r *remote) *cobra.Command {
	var flag, approval string
	c := listCommand(r.terminal, &cobra.Command{
		Use: "lines APPROVAL", Short: "List what the approval of an import is for",
		Long: `List the lines of an import or a bulk that wait for approval, with account
numbers in full, which the audit log tells, how to reach each payee, and what
changed about it in the last 30 days.`,
		Example: `  bursar approvals lines apr_01jd2s1t3v5w7x9y1z3a5b7c9d
  bursar approvals lines apr_01jd2s1t3v5w7x9y1z3a5b7c9d --flag shared_account --csv`,
	}, list[api.ApprovalLine]{
		noun: "lines",
		rows: func(ctx context.Context, limit int) (iter.Seq2[api.ApprovalLine, error], error) {
			if err := oneOf("flag", flag, api.ApprovalFlags()); err != nil {
				return nil, err
			}
			s, err := r.connect()
			if err != nil {
				return nil, err
			}
			return s.Approvals.AllLines(ctx, approval, client.ApprovalLinesParams{Flag: flag, Limit: limit}), nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"line", "payee", "change", "flags", "state", "contacts", "changed lately"},
				Empty: "There are no lines."}
		},
		cells: func(_ term.Format, l api.ApprovalLine) []string {
			var changes []string
			for _, f := range l.Fields {
				if f.Before != f.After {
					changes = append(changes, f.Field+": "+orNone(f.Before)+" → "+orNone(f.After))
				}
			}
			var contacts []string
			for _, one := range l.Contacts {
				contacts = append(contacts, one.Field+": "+contactText(one))
			}
			var lately []string
			for _, f := range l.ChangedFields {
				lately = append(lately, f.Field+": "+orNone(f.Before)+" → "+orNone(f.After))
			}
			return []string{fmt.Sprint(l.Line), l.EntryLabel, strings.Join(changes, ", "), strings.Join(l.Flags, ", "), l.State,
				strings.Join(contacts, ", "), strings.Join(lately, ", ")}
		},
	})
	run := c.RunE
	c.Args, c.ValidArgsFunction = cobra.ExactArgs(1), cobra.NoFileCompletions
	c.RunE = func(c *cobra.Command, args []string) error {
		approval = args[0]
		return run(c, nil)
	}
	c.Flags().StringVar(&flag, "flag", "", "only those with this flag: "+strings.Join(api.ApprovalFlags(), ", "))
	completeWords(c, "flag", api.ApprovalFlags())
	return c
}

func newApprovalsPolicy(r *remote) *cobra.Command {
	var f term.Format
	var approval string
	var hours, demand int64
	policies := []string{api.ReceivingAutomatic, api.ReceivingTwoPersons, api.ReceivingOnePerson}
	c := &cobra.Command{
		Use: "policy", Short: "Show or set how many people a change takes",
		Long: `Show how many people a change of a receiving method takes in the workspace,
and for how many hours an approved one cannot be paid yet; with flags, set it.
What protects less waits for a second person, where there is one.`,
		Example: `  bursar approvals policy
  bursar approvals policy --approval two_persons --cooling-hours 48`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := oneOf("approval", approval, policies); err != nil {
				return err
			}
			s, w, err := r.connectWorkspace(c.Context())
			if err != nil {
				return err
			}
			var change client.ReceivingPolicyParams
			if c.Flags().Changed("approval") {
				change.ReceivingApproval = &approval
			}
			if c.Flags().Changed("cooling-hours") {
				change.ReceivingCoolingHours = &hours
			}
			var p *api.ReceivingPolicy
			if c.Flags().Changed("second-person-hours") {
				change.SecondPersonHours = &demand
			}
			if change == (client.ReceivingPolicyParams{}) {
				p, err = s.Approvals.Policy(c.Context(), w.ID)
			} else {
				p, err = s.Approvals.UpdatePolicy(c.Context(), w.ID, change)
			}
			if err != nil {
				return fmt.Errorf("read or set the policy: %w", err)
			}
			return f.Write(r.terminal, p, func(out io.Writer) error {
				pairs := []string{"Approval", p.ReceivingApproval, "People", fmt.Sprint(p.Persons), "Cooling hours", fmt.Sprint(p.CoolingHours)}
				for _, a := range p.Approvers {
					text := a.Email
					if a.CountsFrom != 0 {
						text += ", counts from " + localTime(a.CountsFrom)
					}
					if !a.EmailProved {
						text += ", address not verified"
					}
					pairs = append(pairs, "May approve", text)
				}
				if p.DemandedUntil != 0 {
					pairs = append(pairs, "Second person needed until", localTime(p.DemandedUntil))
				}
				if p.Suspended != nil {
					pairs = append(pairs, "Suspended", "what one person decided alone: set it again to have it confirmed")
				}
				if p.ApprovalID != "" {
					pairs = append(pairs, "Waits for approval", p.ApprovalID)
				}
				return term.WritePairs(r.terminal, out, pairs...)
			})
		},
	}
	c.Flags().StringVar(&approval, "approval", "", "automatic (two people as soon as there are two who could), two_persons or one_person")
	c.Flags().Int64Var(&hours, "cooling-hours", 0, "hours until an approved change can be paid")
	c.Flags().Int64Var(&demand, "second-person-hours", 0, "hours that changes need a second person after the last one has gone")
	completeWords(c, "approval", policies)
	_ = c.RegisterFlagCompletionFunc("second-person-hours", cobra.NoFileCompletions)
	_ = c.RegisterFlagCompletionFunc("cooling-hours", cobra.NoFileCompletions)
	f.Bind(c, false)
	return r.inWorkspace(c)
}

func newApprovalsExtend(r *remote) *cobra.Command {
	var f term.Format
	c := &cobra.Command{
		Use: "extend [WORKSPACE-ID]", Short: "Extend by 72 hours how long changes need a second person",
		Long: `Extend by 72 hours how long changes need a second person after the last one
has gone, or how long an approver does not count whom one person has added
because no one else could agree. Approvers and owners of the organization can
do that, once. An owner who is not a member gives the id of the workspace.`,
		Example: `  bursar approvals extend
  bursar approvals extend ws_01jd2m8k3vq7w5x9y0z1a2b3c4`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				w, err := r.currentWorkspace(c.Context(), s)
				if err != nil {
					return err
				}
				args = []string{w.ID}
			}
			done, err := s.Approvals.ExtendSecondPerson(c.Context(), args[0])
			if err != nil {
				return fmt.Errorf("extend how long changes need a second person: %w", err)
			}
			text := "There is nothing to extend."
			if done.Extended {
				text = "Extended by 72 hours, until " + localTime(done.DemandedUntil) + "."
			}
			if err := r.say("%s", text); err != nil {
				return err
			}
			return f.Write(r.terminal, done, nothing)
		},
	}
	f.Bind(c, false)
	return r.inWorkspace(c)
}

// permissionsOf lists the permissions that a change of roles has added and removed.
func permissionsOf(change api.ApprovalChange) (text string) {
	for _, c := range change.Changes {
		switch {
		case c.Field != "permissions":
		case string(c.Before) == "null":
			text += " +" + strings.Trim(string(c.After), `"`)
		default:
			text += " -" + strings.Trim(string(c.Before), `"`)
		}
	}
	return text
}
