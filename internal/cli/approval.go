package cli

import (
	"cmp"
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

// approvalState is a state of approvals.
type approvalState string

func (*approvalState) words() []string { return api.ApprovalStates() }

// approvalFlag is what an approver should know of a line.
type approvalFlag string

func (*approvalFlag) words() []string { return api.ApprovalFlags() }

func newApprovalsList(r *remote) *cobra.Command {
	var in struct {
		State approvalState `flag:"state" usage:"only those in this state: %s"`
	}
	return newList(r, inWorkspace, &in, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List what waits for approval, or was decided",
		Example: `  bursar approvals list
  bursar approvals list --state pending --jq '.[].id'`,
	}, list[api.Approval]{
		noun: "approvals",
		rows: func(c *call, limit int) (iter.Seq2[api.Approval, error], error) {
			return c.Approvals.All(c, client.ApprovalListParams{WorkspaceID: c.workspace.ID, State: string(in.State), Limit: limit}), nil
		},
		table: &term.Table{Columns: []string{"change", "state", "requested by", "expires", "id"}, Empty: "There are no approvals."},
		cells: func(c *call, a api.Approval) []string {
			return []string{a.Summary, a.State, a.RequestedBy.Name, c.time(a.ExpiresAt), a.ID}
		},
	})
}

func newApprovalsShow(r *remote) *cobra.Command {
	var in struct{ Approval string }
	return newCommand(r, anywhere, &in, &cobra.Command{
		Use: "show APPROVAL", Aliases: []string{"get"}, Short: "Show old beside new, who asked, and what else changed",
		Long: `Show all that one needs to decide: the present values beside the new ones, who
asked and from where, how to reach the payee, and what else about them changed
in the last 30 days. Account numbers are in full, which the audit log tells.`,
		Example: `  bursar approvals show apr_01jd2s1t3v5w7x9y1z3a5b7c9d
  bursar approvals show apr_01jd2s1t3v5w7x9y1z3a5b7c9d --jq .digest`,
	}, func(c *call) error {
		a, err := c.Approvals.Get(c, in.Approval)
		if err != nil {
			return fmt.Errorf("read the approval: %w", err)
		}
		return c.write(a, func(w io.Writer) error { return r.writeApproval(w, a) })
	})
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
	pairs = append(pairs, filled("From", from)...)
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
	pairs = append(pairs, filled("Must have the role", a.Role)...)
	if a.DecidedBy != nil {
		pairs = append(pairs, "Decided by", a.DecidedBy.Name+", "+localTime(a.DecidedAt))
	}
	pairs = append(pairs, filled("Checked", a.Verification, "Reason", a.Reason, "You cannot approve", a.CannotBecause)...)
	return term.WritePairs(r.terminal, w, append(pairs, "Digest", a.Digest)...)
}

func newApprovalsLines(r *remote) *cobra.Command {
	var in struct {
		Approval string
		Flag     approvalFlag `flag:"flag" usage:"only those with this flag: %s"`
	}
	return newList(r, anywhere, &in, &cobra.Command{
		Use: "lines APPROVAL", Short: "List what the approval of an import is for",
		Long: `List the lines of an import or a bulk that wait for approval, with account
numbers in full, which the audit log tells, how to reach each payee, and what
changed about it in the last 30 days.`,
		Example: `  bursar approvals lines apr_01jd2s1t3v5w7x9y1z3a5b7c9d
  bursar approvals lines apr_01jd2s1t3v5w7x9y1z3a5b7c9d --flag shared_account --csv`,
	}, list[api.ApprovalLine]{
		noun: "lines",
		rows: func(c *call, limit int) (iter.Seq2[api.ApprovalLine, error], error) {
			return c.Approvals.AllLines(c, in.Approval, client.ApprovalLinesParams{Flag: string(in.Flag), Limit: limit}), nil
		},
		table: &term.Table{Columns: []string{"line", "payee", "change", "flags", "state", "contacts", "changed lately"},
			Empty: "There are no lines."},
		cells: func(_ *call, l api.ApprovalLine) []string {
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
}

func newApprovalsPolicy(r *remote) *cobra.Command {
	var in struct {
		Approval *receivingPolicy `flag:"approval" usage:"automatic (two people as soon as there are two who could), two_persons or one_person"`
		Hours    *int64           `flag:"cooling-hours" usage:"hours until an approved change can be paid"`
		Demand   *int64           `flag:"second-person-hours" usage:"hours that changes need a second person after the last one has gone"`
	}
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use: "policy", Short: "Show or set how many people a change takes",
		Long: `Show how many people a change of a receiving method takes in the workspace,
and for how many hours an approved one cannot be paid yet; with flags, set it.
What protects less waits for a second person, where there is one.`,
		Example: `  bursar approvals policy
  bursar approvals policy --approval two_persons --cooling-hours 48`,
	}, func(c *call) error {
		change := client.ReceivingPolicyParams{ReceivingApproval: (*string)(in.Approval), ReceivingCoolingHours: in.Hours,
			SecondPersonHours: in.Demand}
		var p *api.ReceivingPolicy
		var err error
		if change == (client.ReceivingPolicyParams{}) {
			p, err = c.Approvals.Policy(c, c.workspace.ID)
		} else {
			p, err = c.Approvals.UpdatePolicy(c, c.workspace.ID, change)
		}
		if err != nil {
			return fmt.Errorf("read or set the policy: %w", err)
		}
		return c.writePairs(p, policyPairs(p)...)
	})
}

// receivingPolicy is how many people a change of a receiving method takes.
type receivingPolicy string

func (*receivingPolicy) words() []string {
	return []string{api.ReceivingAutomatic, api.ReceivingTwoPersons, api.ReceivingOnePerson}
}

// policyPairs returns the lines that show how many people a change takes.
func policyPairs(p *api.ReceivingPolicy) []string {
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
	pairs = append(pairs, filled("Second person needed until", localTime(p.DemandedUntil))...)
	if p.Suspended != nil {
		pairs = append(pairs, "Suspended", "what one person decided alone: set it again to have it confirmed")
	}
	return append(pairs, filled("Waits for approval", p.ApprovalID)...)
}

func newApprovalsExtend(r *remote) *cobra.Command {
	var in struct{ WorkspaceID string }
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "extend [WORKSPACE-ID]", Short: "Extend by 72 hours how long changes need a second person",
		Long: `Extend by 72 hours how long changes need a second person after the last one
has gone, or how long an approver does not count whom one person has added
because no one else could agree. Approvers and owners of the organization can
do that, once. An owner who is not a member gives the id of the workspace.`,
		Example: `  bursar approvals extend
  bursar approvals extend ws_01jd2m8k3vq7w5x9y0z1a2b3c4`,
	}, func(c *call) error {
		id := in.WorkspaceID
		if id == "" {
			w, err := c.here()
			if err != nil {
				return err
			}
			id = w.ID
		}
		done, err := c.Approvals.ExtendSecondPerson(c, id)
		if err != nil {
			return fmt.Errorf("extend how long changes need a second person: %w", err)
		}
		if done.Extended {
			c.say("Extended by 72 hours, until %s.", localTime(done.DemandedUntil))
		} else {
			c.say("There is nothing to extend.")
		}
		return c.done(done)
	})
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
