package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func newApprovalsApprove(r *remote) *cobra.Command {
	var p client.ApprovalApproveParams
	return r.newApprovalAnswer(&cobra.Command{
		Use: "approve APPROVAL... --verification HOW", Short: "Approve changes",
		Long: `Approve changes, and record how you checked them. The command shows them and
asks, unless you pass the --digest that 'bursar approvals show' printed for
one: then it approves exactly that, or fails if it is something else by now.

Several approvals of one kind are decided with one statement. An import is one
approval, and is approved alone: 'bursar approvals lines' lists what it is
for, and --leave-out rejects some of its lines.

You must have logged in with 'bursar login' within the last 15 minutes, by a
device code that you approved at a browser. API keys cannot approve, unless a
rule of payouts says so.`,
		Example: `  bursar approvals approve apr_01jd2s1t3v5w7x9y1z3a5b7c9d --verification "called Ada at the number of her contract"
  bursar approvals approve apr_01jd2s1t3v5w7x9y1z3a5b7c9d --leave-out 17,23 --verification "compared it with the contracts"`,
		Args: cobra.MinimumNArgs(1),
	}, func(c *cobra.Command) {
		c.Flags().StringVar(&p.Verification, "verification", "", "how you checked, such as whom you called")
		c.Flags().StringVar(&p.Digest, "digest", "", "digest of what you were shown")
		c.Flags().Int64SliceVar(&p.LeaveOut, "leave-out", nil, "lines of an import that you do not approve")
	}, func(c *cobra.Command, s *session, ids []string) ([]api.Approval, error) {
		if err := require(c, "verification"); err != nil {
			return nil, err
		}
		if len(ids) > 1 && (p.Digest != "" || len(p.LeaveOut) > 0) {
			return nil, errors.New("--digest and --leave-out are for one approval: name one")
		}
		if p.Digest != "" {
			return one(s.Approvals.Approve(c.Context(), ids[0], p))
		}
		shown, err := r.showApprovals(c.Context(), s, ids)
		if err != nil {
			return nil, err
		}
		question := "Approve this?"
		if len(ids) > 1 {
			question = fmt.Sprintf("Approve these %d?", len(ids))
		}
		if err := r.terminal.Confirm(c.Context(), question, false); err != nil {
			return nil, err
		}
		if len(ids) == 1 {
			p.Digest = shown[0].Digest
			return one(s.Approvals.Approve(c.Context(), ids[0], p))
		}
		return r.decideMany(c.Context(), s, shown, client.ApprovalDecideParams{Decision: api.DecideApprove, Verification: p.Verification})
	})
}

// showApprovals reads approvals and shows them to the person who is about to decide them.
func (r *remote) showApprovals(ctx context.Context, s *session, ids []string) ([]api.Approval, error) {
	var shown []api.Approval
	for i, id := range ids {
		a, err := s.Approvals.Get(ctx, id)
		if err == nil && i > 0 {
			_, err = fmt.Fprintln(r.terminal.Err)
		}
		if err == nil {
			err = r.writeApproval(r.terminal.Err, a)
		}
		if err != nil {
			return nil, err
		}
		shown = append(shown, *a)
	}
	return shown, nil
}

// decideMany decides approvals in one request, and returns those that were decided. The others are in an error that names each.
func (r *remote) decideMany(ctx context.Context, s *session, shown []api.Approval, p client.ApprovalDecideParams) ([]api.Approval, error) {
	byID := map[string]api.Approval{}
	for _, a := range shown {
		byID[a.ID], p.WorkspaceID = a, a.WorkspaceID
		p.Approvals = append(p.Approvals, client.ApprovalShown{ID: a.ID, Digest: a.Digest})
	}
	decided, err := s.Approvals.Decide(ctx, p)
	if err != nil {
		return nil, err
	}
	var done []api.Approval
	var refused []error
	for _, result := range decided.Results {
		if !result.OK {
			refused = append(refused, fmt.Errorf("%s: %s", result.ID, result.Error.Message))
			continue
		}
		a := byID[result.ID]
		a.State = result.State
		done = append(done, a)
	}
	return done, errors.Join(refused...)
}

func one(a *api.Approval, err error) ([]api.Approval, error) {
	if err != nil {
		return nil, err
	}
	return []api.Approval{*a}, nil
}

func newApprovalsReject(r *remote) *cobra.Command {
	var p client.ApprovalRejectParams
	return r.newApprovalAnswer(&cobra.Command{
		Use: "reject APPROVAL... --reason WHY", Short: "Reject changes",
		Long: `Reject changes for good. What they were to replace stays as it is. Several
approvals of one kind are decided in one request.`,
		Example: `  bursar approvals reject apr_01jd2s1t3v5w7x9y1z3a5b7c9d --reason "Ada knows nothing of it"`,
		Args:    cobra.MinimumNArgs(1),
	}, func(c *cobra.Command) {
		c.Flags().StringVar(&p.Reason, "reason", "", "why you reject it")
	}, func(c *cobra.Command, s *session, ids []string) ([]api.Approval, error) {
		if err := require(c, "reason"); err != nil {
			return nil, err
		}
		if len(ids) == 1 {
			return one(s.Approvals.Reject(c.Context(), ids[0], p))
		}
		var shown []api.Approval
		for _, id := range ids {
			a, err := s.Approvals.Get(c.Context(), id)
			if err != nil {
				return nil, err
			}
			shown = append(shown, *a)
		}
		return r.decideMany(c.Context(), s, shown, client.ApprovalDecideParams{Decision: api.DecideReject, Reason: p.Reason})
	})
}

func newApprovalsWithdraw(r *remote) *cobra.Command {
	return r.newApprovalAnswer(&cobra.Command{
		Use: "withdraw APPROVAL", Short: "Take a request back",
		Long:    `Take a request back, of your own or of a colleague who may ask for the same.`,
		Example: `  bursar approvals withdraw apr_01jd2s1t3v5w7x9y1z3a5b7c9d`,
		Args:    cobra.ExactArgs(1),
	}, func(*cobra.Command) {}, func(c *cobra.Command, s *session, ids []string) ([]api.Approval, error) {
		return one(s.Approvals.Withdraw(c.Context(), ids[0]))
	})
}

// newApprovalAnswer completes a command that decides an approval.
func (r *remote) newApprovalAnswer(c *cobra.Command, bind func(*cobra.Command), answer func(c *cobra.Command, s *session, ids []string) ([]api.Approval, error)) *cobra.Command {
	var f term.Format
	c.ValidArgsFunction = cobra.NoFileCompletions
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := r.connect()
		if err != nil {
			return err
		}
		done, refused := answer(c, s, args)
		for _, a := range done {
			if err := r.say("%s is %s.", a.Summary, a.State); err != nil {
				return err
			}
		}
		var answers any = done
		if len(args) == 1 && len(done) == 1 {
			answers = done[0]
		}
		if len(done) > 0 {
			err = f.Write(r.terminal, answers, nothing)
		}
		if refused != nil {
			return fmt.Errorf("decide the approval: %w", refused)
		}
		return err
	}
	bind(c)
	c.Flags().VisitAll(func(flag *pflag.Flag) { _ = c.RegisterFlagCompletionFunc(flag.Name, cobra.NoFileCompletions) })
	f.Bind(c, false)
	return c
}
