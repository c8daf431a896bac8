package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
)

func newPayoutApprove(r *remote) *cobra.Command {
	var in struct {
		Payout api.Payout

		Verification string `flag:"verification" usage:"how you checked it"`
		Digest       string `flag:"digest" usage:"digest of what you were shown"`
	}
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "approve PAYOUT", Short: "Approve a payout",
		Long: `Approve a payout that another person asked for. The command shows it and asks,
unless you pass the --digest that 'bursar approvals show' printed: then it
approves exactly that, or fails if it is something else by now. A payout of a
batch is approved with its batch: see 'bursar approvals'.

You must have logged in with 'bursar login' within the last 15 minutes, by a
device code that you approved at a browser. API keys cannot approve, unless a
rule says so.`,
		Example: `  bursar payouts approve wages-2026-11-ada --verification "checked the time sheet"`,
	}, func(c *call) error {
		digest, err := in.Digest, error(nil)
		if digest == "" {
			digest, err = confirmApproval(c, in.Payout)
		}
		if err != nil {
			return fmt.Errorf("approve the payout: %w", err)
		}
		done, err := c.Payouts.Approve(c, in.Payout.ID, client.PayoutApproveParams{Verification: in.Verification, Digest: digest})
		return c.payoutChanged(done, err, "approve")
	})
}

// confirmApproval shows the approval of a payout and asks. It returns the digest of what it showed.
func confirmApproval(c *call, p api.Payout) (string, error) {
	if p.ApprovalID == "" {
		return "", fmt.Errorf("%s waits for no approval: it is %s", p.ID, p.Status)
	}
	a, err := c.Approvals.Get(c, p.ApprovalID)
	if err != nil {
		return "", err
	}
	if err := c.r.writeApproval(c.terminal.Err, a); err != nil {
		return "", err
	}
	return a.Digest, c.confirm(confirmation{}, "Approve this?")
}

func newPayoutReject(r *remote) *cobra.Command {
	var in struct {
		Payout api.Payout
		Reason string `flag:"reason" usage:"why you reject it" required:"true"`
	}
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "reject PAYOUT --reason WHY", Short: "Reject a payout that waits for approval",
		Long:    `Reject a payout for good. Nothing is paid then.`,
		Example: `  bursar payouts reject wages-2026-11-ada --reason "she left in October"`,
	}, func(c *call) error {
		done, err := c.Payouts.Reject(c, in.Payout.ID, client.PayoutRejectParams{Reason: in.Reason})
		return c.payoutChanged(done, err, "reject")
	})
}

func newPayoutCancel(r *remote) *cobra.Command {
	var in struct {
		Payout api.Payout
		Reason string `flag:"reason" usage:"why you cancel it"`
	}
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "cancel PAYOUT", Short: "Take a payout back that no rail has yet",
		Long: `Cancel a payout that is a draft, initiated or pending. Money that was reserved
for it is available again. What a rail has cannot be cancelled.`,
		Example: `  bursar payouts cancel wages-2026-11-ada --reason "paid in cash"`,
	}, func(c *call) error {
		done, err := c.Payouts.Cancel(c, in.Payout.ID, client.PayoutCancelParams{Reason: in.Reason})
		return c.payoutChanged(done, err, "cancel")
	})
}

func newPayoutRetry(r *remote) *cobra.Command {
	var in struct{ Payout api.Payout }
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "retry PAYOUT", Short: "Send a failed payout again",
		Long: `Send a failed payout again, as it is: its money is reserved, and it is sent
under a new end-to-end id. One that you have resolved as not paid keeps its
end-to-end id, so that the bank can recognize a duplicate.`,
		Example: `  bursar payouts retry wages-2026-11-ada`,
	}, func(c *call) error {
		done, err := c.Payouts.Retry(c, in.Payout.ID)
		return c.payoutChanged(done, err, "retry")
	})
}

func newPayoutResolve(r *remote) *cobra.Command {
	var in struct {
		Payout   api.Payout
		Paid     bool   `flag:"paid" usage:"the payee has the money"`
		NotPaid  bool   `flag:"not-paid" usage:"the payee does not have the money and will not get it"`
		Evidence string `flag:"evidence" usage:"how you found out, such as a reference of the bank's statement (required)" required:"true"`
	}
	c := newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "resolve PAYOUT --paid|--not-paid --evidence TEXT", Short: "Record whether a payout was paid",
		Long: `Record whether a payout that needs attention was paid, after you have asked
the bank. --paid completes it. --not-paid makes it fail, and its money is
available again. A retry then keeps the end-to-end id, so that the bank can
recognize a duplicate. For a live payout another person has to approve, if the
workspace has one who could.`,
		Example: `  bursar payouts resolve wages-2026-11-ada --paid --evidence "BPI statement of 16 November, line 12"
  bursar payouts resolve wages-2026-11-ada --not-paid --evidence "BPI case 4711: never received"`,
	}, func(c *call) error {
		p := client.PayoutResolveParams{As: api.ResolveNotPaid, Evidence: in.Evidence}
		if in.Paid {
			p.As = api.ResolvePaid
		}
		done, err := c.Payouts.Resolve(c, in.Payout.ID, p)
		return c.payoutChanged(done, err, "resolve")
	})
	c.MarkFlagsOneRequired("paid", "not-paid")
	c.MarkFlagsMutuallyExclusive("paid", "not-paid")
	return c
}

func newPayoutPublish(r *remote) *cobra.Command {
	var in struct{ Payout api.Payout }
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "publish PAYOUT", Short: "Have a draft paid",
		Long:    `Check a draft, and have it paid as soon as it may be.`,
		Example: `  bursar payouts publish wages-2026-11-ada`,
	}, func(c *call) error {
		done, err := c.Payouts.Publish(c, in.Payout.ID)
		return c.payoutChanged(done, err, "publish")
	})
}

func newPayoutConfirm(r *remote) *cobra.Command {
	var in struct{ Payout api.Payout }
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "confirm PAYOUT", Short: "Release a payout that a stricter limit or rule holds",
		Long: `Release a payout that is held because a limit or a rule became stricter after
it was approved, or because its request or approval came through a compromised
API key. The other payouts of its batch are released with it. If another
person could approve that, the payout waits for them instead. Otherwise its
requester releases it, within 15 minutes of 'bursar login' by a device code.
API keys cannot. Once nothing holds it any more, anyone who may create payouts
releases it.`,
		Example: `  bursar payouts confirm wages-2026-11-ada`,
	}, func(c *call) error {
		done, err := c.Payouts.Confirm(c, in.Payout.ID)
		return c.payoutChanged(done, err, "confirm")
	})
}

// payoutChanged ends a command that has changed a payout.
func (c *call) payoutChanged(p *api.Payout, err error, verb string) error {
	if err != nil {
		return fmt.Errorf("%s the payout: %w", verb, err)
	}
	c.sayPayout(p)
	return c.done(p)
}

func newPayoutWatch(r *remote) *cobra.Command {
	var in struct{ Payout api.Payout }
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "watch PAYOUT", Short: "Follow a payout until it has ended",
		Long: `Tell of every change of a payout until it has ended. The exit code is 0 if it
was completed, and 1 if it failed, was cancelled or came back. A payout that
waits for somebody's approval is waited for, too.`,
		Example: `  bursar payouts watch wages-2026-11-ada
  bursar payouts watch po_01jd3a1b2c3d4e5f6g7h8j9k0m --jq .status`,
	}, func(c *call) error {
		p, err := followPayout(c, &in.Payout)
		if err != nil {
			return err
		}
		if err := c.writeLine(p, p.Status); err != nil {
			return err
		}
		if p.Status != api.PayoutCompleted {
			return fmt.Errorf("%s is %s", p.ID, payoutStatus(p))
		}
		return nil
	})
}

// followPayout prints the changes of a payout until it has ended.
func followPayout(c *call, p *api.Payout) (*api.Payout, error) {
	retries := &retrier{wait: 2 * time.Minute, note: func(text string) { c.say("%s", text) }}
	for told := ""; ; {
		if now := p.Status + p.Attention; now != told {
			told = now
			c.sayPayout(p)
		}
		switch p.Status {
		case api.PayoutCompleted, api.PayoutFailed, api.PayoutCancelled, api.PayoutReversed:
			return p, nil
		}
		select {
		case <-time.After(watchInterval):
		case <-c.Done():
			return nil, errors.New("interrupted, and the payout goes on: run the same command again to watch it")
		}
		err := retries.call(c, func() error {
			now, err := c.Payouts.Get(c, p.ID)
			if err == nil {
				p = now
			}
			return err
		})
		if err != nil && c.Err() == nil {
			return nil, fmt.Errorf("read the payout: %w", err)
		}
	}
}

func newPayoutStop(r *remote) *cobra.Command {
	var in struct {
		Reason string  `flag:"reason" usage:"why you stop them (required)" required:"true"`
		Mode   *string `flag:"mode" usage:"live or sandbox; default both" words:"live,sandbox"`
	}
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use: "stop --reason WHY", Short: "Stop sending the payouts of a workspace",
		Long: `Stop sending the payouts of the workspace: live and sandbox payouts, or only
those of --mode. Nothing more is handed to a rail until 'bursar payouts
resume'. Payouts can still be created and approved. Payouts that a rail
already has are not affected.

Anyone who may create or approve payouts can stop them, without a second
person.`,
		Example: `  bursar payouts stop --reason "wrong amounts in the payroll file"
  bursar payouts stop --reason "the bank called" --mode live`,
	}, func(c *call) error {
		got, err := c.Payouts.Stop(c, c.workspace.ID, client.PayoutStopParams{Reason: in.Reason, Mode: in.Mode})
		if err != nil {
			return fmt.Errorf("stop sending: %w", err)
		}
		return writeSending(c, got)
	})
}

func newPayoutResume(r *remote) *cobra.Command {
	var in struct {
		Mode *string `flag:"mode" usage:"live or sandbox; default both" words:"live,sandbox"`
	}
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use: "resume", Short: "Resume sending the payouts of a workspace",
		Long: `Resume sending the payouts of the workspace: live and sandbox payouts, or only
those of --mode. Payouts that were due meanwhile are sent in the next window
of their rail.

Live payouts resume once a second person approves, if the workspace has one:
'bursar approvals list' shows the request. Another stop voids it.`,
		Example: `  bursar payouts resume
  bursar payouts resume --mode sandbox`,
	}, func(c *call) error {
		got, err := c.Payouts.Resume(c, c.workspace.ID, client.PayoutResumeParams{Mode: in.Mode})
		var refused *client.Error
		if in.Mode == nil && errors.As(err, &refused) && refused.Code == api.CodeSecondPersonRequired {
			err = withHint(err, "Live payouts stay stopped until then: 'bursar approvals list' shows the request. Sandbox payouts are sent.")
		}
		if err != nil {
			return fmt.Errorf("resume sending: %w", err)
		}
		return writeSending(c, got)
	})
}

func writeSending(c *call, s *api.PayoutSending) error {
	return c.writePairs(s, "Live", stopText(s.Live), "Sandbox", stopText(s.Sandbox))
}

// stopText describes whether payouts of a mode are sent.
func stopText(s api.PayoutStop) string {
	if !s.Stopped {
		return "sending"
	}
	return "stopped since " + localTime(s.StoppedAt) + " by " + s.StoppedBy.Name + ": " + s.Reason
}
