package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
)

func newApprovalsApprove(r *remote) *cobra.Command {
	var in struct {
		Approvals    []string
		Verification string  `flag:"verification" usage:"how you checked, such as whom you called" required:"true"`
		Digest       string  `flag:"digest" usage:"digest of what you were shown"`
		LeaveOut     []int64 `flag:"leave-out" usage:"lines of an import that you do not approve"`
	}
	return newCommand(r, anywhere, &in, &cobra.Command{
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
	}, func(c *call) error {
		p := client.ApprovalApproveParams{Verification: in.Verification, Digest: in.Digest, LeaveOut: in.LeaveOut}
		return c.approvalsDecided(approve(c, in.Approvals, p))
	})
}

// approve approves what was shown: before, as the digest says, or now.
func approve(c *call, ids []string, p client.ApprovalApproveParams) ([]api.Approval, error) {
	if len(ids) > 1 && (p.Digest != "" || len(p.LeaveOut) > 0) {
		return nil, errors.New("--digest and --leave-out are for one approval: name one")
	}
	if p.Digest != "" {
		return one(c.Approvals.Approve(c, ids[0], p))
	}
	shown, err := showApprovals(c, ids)
	if err != nil {
		return nil, err
	}
	question := "Approve this?"
	if len(ids) > 1 {
		question = fmt.Sprintf("Approve these %d?", len(ids))
	}
	if err := c.confirm(confirmation{}, "%s", question); err != nil {
		return nil, err
	}
	if len(ids) == 1 {
		p.Digest = shown[0].Digest
		return one(c.Approvals.Approve(c, ids[0], p))
	}
	return decideMany(c, shown, client.ApprovalDecideParams{Decision: api.DecideApprove, Verification: p.Verification})
}

// showApprovals reads approvals and shows them to the person who is about to decide them.
func showApprovals(c *call, ids []string) ([]api.Approval, error) {
	var shown []api.Approval
	for i, id := range ids {
		a, err := c.Approvals.Get(c, id)
		if err == nil && i > 0 {
			_, err = fmt.Fprintln(c.terminal.Err)
		}
		if err == nil {
			err = c.r.writeApproval(c.terminal.Err, a)
		}
		if err != nil {
			return nil, err
		}
		shown = append(shown, *a)
	}
	return shown, nil
}

// decideMany decides approvals in one request, and returns those that were decided. The others are in an error that names each.
func decideMany(c *call, shown []api.Approval, p client.ApprovalDecideParams) ([]api.Approval, error) {
	byID := map[string]api.Approval{}
	for _, a := range shown {
		byID[a.ID], p.WorkspaceID = a, a.WorkspaceID
		p.Approvals = append(p.Approvals, client.ApprovalShown{ID: a.ID, Digest: a.Digest})
	}
	decided, err := c.Approvals.Decide(c, p)
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
	var in struct {
		Approvals []string
		Reason    string `flag:"reason" usage:"why you reject it" required:"true"`
	}
	return newCommand(r, anywhere, &in, &cobra.Command{
		Use: "reject APPROVAL... --reason WHY", Short: "Reject changes",
		Long: `Reject changes for good. What they were to replace stays as it is. Several
approvals of one kind are decided in one request.`,
		Example: `  bursar approvals reject apr_01jd2s1t3v5w7x9y1z3a5b7c9d --reason "Ada knows nothing of it"`,
	}, func(c *call) error {
		if len(in.Approvals) == 1 {
			return c.approvalsDecided(one(c.Approvals.Reject(c, in.Approvals[0], client.ApprovalRejectParams{Reason: in.Reason})))
		}
		var shown []api.Approval
		for _, id := range in.Approvals {
			a, err := c.Approvals.Get(c, id)
			if err != nil {
				return c.approvalsDecided(nil, err)
			}
			shown = append(shown, *a)
		}
		return c.approvalsDecided(decideMany(c, shown, client.ApprovalDecideParams{Decision: api.DecideReject, Reason: in.Reason}))
	})
}

func newApprovalsWithdraw(r *remote) *cobra.Command {
	var in struct{ Approval string }
	return newCommand(r, anywhere, &in, &cobra.Command{
		Use: "withdraw APPROVAL", Short: "Take a request back",
		Long:    `Take a request back, of your own or of a colleague who may ask for the same.`,
		Example: `  bursar approvals withdraw apr_01jd2s1t3v5w7x9y1z3a5b7c9d`,
	}, func(c *call) error {
		return c.approvalsDecided(one(c.Approvals.Withdraw(c, in.Approval)))
	})
}

// approvalsDecided ends a command that has decided approvals, some of which may be refused.
func (c *call) approvalsDecided(done []api.Approval, refused error) (err error) {
	for _, a := range done {
		c.say("%s is %s.", a.Summary, a.State)
	}
	switch {
	case len(done) == 1 && len(c.args) == 1:
		err = c.done(done[0])
	case len(done) > 0:
		err = c.done(done)
	}
	if refused != nil {
		return fmt.Errorf("decide the approval: %w", refused)
	}
	return err
}
