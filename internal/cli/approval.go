package cli

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
  bursar approvals approve apr_01jd2s1t3v5w7x9y1z3a5b7c9d --verification "called Ada"`,
	}, newApprovalsList(r), newApprovalsShow(r), newApprovalsApprove(r), newApprovalsReject(r), newApprovalsWithdraw(r), newApprovalsPolicy(r))
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

func (r *remote) writeApproval(w io.Writer, a *api.Approval) error {
	orNone := func(text string) string {
		if text == "" {
			return "none"
		}
		return text
	}
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
	pairs = append(pairs, "Requested by", strings.TrimSpace(a.RequestedBy.Name+" "+a.RequestedBy.Email))
	if from != "" {
		pairs = append(pairs, "From", from)
	}
	pairs = append(pairs, "Requested", localTime(a.CreatedAt), "Expires", localTime(a.ExpiresAt))
	for _, contact := range a.Contacts {
		text := contact.Now
		if contact.Earlier != "" {
			text = contact.Earlier + " until lately: ask by this one. Now it is " + orNone(contact.Now)
		}
		pairs = append(pairs, "Payee's "+contact.Field, text)
	}
	for _, change := range a.RecentChanges {
		pairs = append(pairs, "Changed lately", localTime(change.Timestamp)+" "+change.Description+" ("+change.ActorName+")")
	}
	if a.ApprovalsNeeded > 1 {
		pairs = append(pairs, "Approvals", fmt.Sprintf("%d of %d", len(a.Approvals), a.ApprovalsNeeded))
		for _, vote := range a.Approvals {
			pairs = append(pairs, "  "+vote.Name, localTime(vote.At)+", "+vote.Verification)
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

func newApprovalsApprove(r *remote) *cobra.Command {
	var p client.ApprovalApproveParams
	return r.newApprovalAnswer(&cobra.Command{
		Use: "approve APPROVAL --verification HOW", Short: "Approve a change",
		Long: `Approve a change, and record how you checked it. The command shows the change
and asks, unless you pass the --digest that 'bursar approvals show' printed:
then it approves exactly that, or fails if it is something else by now.

You must have logged in with 'bursar login' within the last 15 minutes, by a
device code that you approved at a browser. API keys cannot approve, unless a
rule of payouts says so.`,
		Example: `  bursar approvals approve apr_01jd2s1t3v5w7x9y1z3a5b7c9d --verification "called Ada at the number of her contract"`,
	}, func(c *cobra.Command) {
		c.Flags().StringVar(&p.Verification, "verification", "", "how you checked, such as whom you called")
		c.Flags().StringVar(&p.Digest, "digest", "", "digest of what you were shown")
	}, func(c *cobra.Command, s *session, id string) (*api.Approval, error) {
		if err := require(c, "verification"); err != nil {
			return nil, err
		}
		if p.Digest == "" {
			a, err := s.Approvals.Get(c.Context(), id)
			if err != nil {
				return nil, err
			}
			if err := r.writeApproval(r.terminal.Err, a); err != nil {
				return nil, err
			}
			if err := r.terminal.Confirm(c.Context(), "Approve this?", false); err != nil {
				return nil, err
			}
			p.Digest = a.Digest
		}
		return s.Approvals.Approve(c.Context(), id, p)
	})
}

func newApprovalsReject(r *remote) *cobra.Command {
	var p client.ApprovalRejectParams
	return r.newApprovalAnswer(&cobra.Command{
		Use: "reject APPROVAL --reason WHY", Short: "Reject a change",
		Long:    `Reject a change for good. What it was to replace stays as it is.`,
		Example: `  bursar approvals reject apr_01jd2s1t3v5w7x9y1z3a5b7c9d --reason "Ada knows nothing of it"`,
	}, func(c *cobra.Command) {
		c.Flags().StringVar(&p.Reason, "reason", "", "why you reject it")
	}, func(c *cobra.Command, s *session, id string) (*api.Approval, error) {
		if err := require(c, "reason"); err != nil {
			return nil, err
		}
		return s.Approvals.Reject(c.Context(), id, p)
	})
}

func newApprovalsWithdraw(r *remote) *cobra.Command {
	return r.newApprovalAnswer(&cobra.Command{
		Use: "withdraw APPROVAL", Short: "Take a request back",
		Long:    `Take a request back, of your own or of a colleague who may ask for the same.`,
		Example: `  bursar approvals withdraw apr_01jd2s1t3v5w7x9y1z3a5b7c9d`,
	}, func(*cobra.Command) {}, func(c *cobra.Command, s *session, id string) (*api.Approval, error) {
		return s.Approvals.Withdraw(c.Context(), id)
	})
}

// newApprovalAnswer completes a command that decides an approval.
func (r *remote) newApprovalAnswer(c *cobra.Command, bind func(*cobra.Command), answer func(c *cobra.Command, s *session, id string) (*api.Approval, error)) *cobra.Command {
	var f term.Format
	c.Args, c.ValidArgsFunction = cobra.ExactArgs(1), cobra.NoFileCompletions
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := r.connect()
		if err != nil {
			return err
		}
		done, err := answer(c, s, args[0])
		if err != nil {
			return fmt.Errorf("decide the approval: %w", err)
		}
		if err := r.say("%s is %s.", done.Summary, done.State); err != nil {
			return err
		}
		return f.Write(r.terminal, done, nothing)
	}
	bind(c)
	c.Flags().VisitAll(func(flag *pflag.Flag) { _ = c.RegisterFlagCompletionFunc(flag.Name, cobra.NoFileCompletions) })
	f.Bind(c, false)
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
