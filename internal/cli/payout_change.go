package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func newPayoutApprove(r *remote) *cobra.Command {
	var p client.PayoutApproveParams
	c := r.newPayoutChange(&cobra.Command{
		Use: "approve PAYOUT", Short: "Approve a payout",
		Long: `Approve a payout that another person asked for. The command shows it and asks,
unless you pass the --digest that 'bursar approvals show' printed: then it
approves exactly that, or fails if it is something else by now. A payout of a
batch is approved with its batch: see 'bursar approvals'.

You must have logged in with 'bursar login' within the last 15 minutes, by a
device code that you approved at a browser. API keys cannot approve, unless a
rule says so.`,
		Example: `  bursar payouts approve wages-2026-11-ada --verification "checked the time sheet"`,
	}, func(ctx context.Context, s *session, of *api.Payout) (*api.Payout, error) {
		if p.Digest == "" {
			if of.ApprovalID == "" {
				return nil, fmt.Errorf("%s waits for no approval: it is %s", of.ID, of.Status)
			}
			a, err := s.Approvals.Get(ctx, of.ApprovalID)
			if err != nil {
				return nil, err
			}
			if err := r.writeApproval(r.terminal.Err, a); err != nil {
				return nil, err
			}
			if err := r.terminal.Confirm(ctx, "Approve this?", false); err != nil {
				return nil, err
			}
			p.Digest = a.Digest
		}
		return s.Payouts.Approve(ctx, of.ID, p)
	})
	c.Flags().StringVar(&p.Verification, "verification", "", "how you checked it")
	c.Flags().StringVar(&p.Digest, "digest", "", "digest of what you were shown")
	completeFlag(c, "verification", cobra.NoFileCompletions)
	completeFlag(c, "digest", cobra.NoFileCompletions)
	return c
}

func newPayoutReject(r *remote) *cobra.Command {
	var p client.PayoutRejectParams
	c := r.newPayoutChange(&cobra.Command{
		Use: "reject PAYOUT --reason WHY", Short: "Reject a payout that waits for approval",
		Long:    `Reject a payout for good. Nothing is paid then.`,
		Example: `  bursar payouts reject wages-2026-11-ada --reason "she left in October"`,
	}, func(ctx context.Context, s *session, of *api.Payout) (*api.Payout, error) {
		return s.Payouts.Reject(ctx, of.ID, p)
	}, "reason")
	c.Flags().StringVar(&p.Reason, "reason", "", "why you reject it")
	completeFlag(c, "reason", cobra.NoFileCompletions)
	return c
}

func newPayoutCancel(r *remote) *cobra.Command {
	var p client.PayoutCancelParams
	c := r.newPayoutChange(&cobra.Command{
		Use: "cancel PAYOUT", Short: "Take a payout back that no rail has yet",
		Long: `Cancel a payout that is a draft, initiated or pending. Money that was reserved
for it is available again. What a rail has cannot be cancelled.`,
		Example: `  bursar payouts cancel wages-2026-11-ada --reason "paid in cash"`,
	}, func(ctx context.Context, s *session, of *api.Payout) (*api.Payout, error) {
		return s.Payouts.Cancel(ctx, of.ID, p)
	})
	c.Flags().StringVar(&p.Reason, "reason", "", "why you cancel it")
	completeFlag(c, "reason", cobra.NoFileCompletions)
	return c
}

func newPayoutRetry(r *remote) *cobra.Command {
	return r.newPayoutChange(&cobra.Command{
		Use: "retry PAYOUT", Short: "Send a failed payout again",
		Long: `Send a failed payout again, as it is: its money is reserved, and it is sent
under a new end-to-end id. One that you have resolved as not paid keeps its
end-to-end id, so that the bank can recognize a duplicate.`,
		Example: `  bursar payouts retry wages-2026-11-ada`,
	}, func(ctx context.Context, s *session, of *api.Payout) (*api.Payout, error) {
		return s.Payouts.Retry(ctx, of.ID)
	})
}

func newPayoutResolve(r *remote) *cobra.Command {
	var p client.PayoutResolveParams
	var paid, notPaid bool
	c := r.newPayoutChange(&cobra.Command{
		Use: "resolve PAYOUT --paid|--not-paid --evidence TEXT", Short: "Record whether a payout was paid",
		Long: `Record whether a payout that needs attention was paid, after you have asked
the bank. --paid completes it. --not-paid makes it fail, and its money is
available again. A retry then keeps the end-to-end id, so that the bank can
recognize a duplicate. For a live payout another person has to approve, if the
workspace has one who could.`,
		Example: `  bursar payouts resolve wages-2026-11-ada --paid --evidence "BPI statement of 16 November, line 12"
  bursar payouts resolve wages-2026-11-ada --not-paid --evidence "BPI case 4711: never received"`,
	}, func(ctx context.Context, s *session, of *api.Payout) (*api.Payout, error) {
		if p.As = api.ResolveNotPaid; paid {
			p.As = api.ResolvePaid
		}
		return s.Payouts.Resolve(ctx, of.ID, p)
	}, "evidence")
	c.Flags().BoolVar(&paid, "paid", false, "the payee has the money")
	c.Flags().BoolVar(&notPaid, "not-paid", false, "the payee does not have the money and will not get it")
	c.Flags().StringVar(&p.Evidence, "evidence", "", "how you found out, such as a reference of the bank's statement (required)")
	c.MarkFlagsOneRequired("paid", "not-paid")
	c.MarkFlagsMutuallyExclusive("paid", "not-paid")
	completeFlag(c, "evidence", cobra.NoFileCompletions)
	return c
}

func newPayoutPublish(r *remote) *cobra.Command {
	return r.newPayoutChange(&cobra.Command{
		Use: "publish PAYOUT", Short: "Have a draft paid",
		Long:    `Check a draft, and have it paid as soon as it may be.`,
		Example: `  bursar payouts publish wages-2026-11-ada`,
	}, func(ctx context.Context, s *session, of *api.Payout) (*api.Payout, error) {
		return s.Payouts.Publish(ctx, of.ID)
	})
}

func newPayoutConfirm(r *remote) *cobra.Command {
	return r.newPayoutChange(&cobra.Command{
		Use: "confirm PAYOUT", Short: "Release a payout that a stricter limit or rule holds",
		Long: `Release a payout that is held because a limit or a rule became stricter after
it was approved, or because its request or approval came through a compromised
API key. The other payouts of its batch are released with it. If another person could
approve that, the payout waits for them instead. Otherwise its requester
releases it, within 15 minutes of 'bursar login' by a device code. API keys
cannot. Once nothing holds it any more, anyone who may create payouts releases
it.`,
		Example: `  bursar payouts confirm wages-2026-11-ada`,
	}, func(ctx context.Context, s *session, of *api.Payout) (*api.Payout, error) {
		return s.Payouts.Confirm(ctx, of.ID)
	})
}

// newPayoutChange completes a command that changes a payout. The flags in the last parameter are required.
func (r *remote) newPayoutChange(c *cobra.Command, do func(ctx context.Context, s *session, of *api.Payout) (*api.Payout, error), required ...string) *cobra.Command {
	var f term.Format
	c.Args, c.ValidArgsFunction = cobra.ExactArgs(1), byPosition(r.completePayouts())
	name := c.Name()
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := require(c, required...); err != nil {
			return err
		}
		s, err := r.connect()
		if err != nil {
			return err
		}
		p, err := r.findPayout(c.Context(), s, args[0])
		if err != nil {
			return err
		}
		done, err := do(c.Context(), s, p)
		if err != nil {
			return fmt.Errorf("%s the payout: %w", name, err)
		}
		if err := r.sayPayout(done); err != nil {
			return err
		}
		return f.Write(r.terminal, done, nothing)
	}
	f.Bind(c, false)
	return r.inWorkspace(c)
}

func newPayoutWatch(r *remote) *cobra.Command {
	var f term.Format
	c := &cobra.Command{
		Use: "watch PAYOUT", Short: "Follow a payout until it has ended",
		Long: `Tell of every change of a payout until it has ended. The exit code is 0 if it
was completed, and 1 if it failed, was cancelled or came back. A payout that
waits for somebody's approval is waited for, too.`,
		Example: `  bursar payouts watch wages-2026-11-ada
  bursar payouts watch po_01jd3a1b2c3d4e5f6g7h8j9k0m --jq .status`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: byPosition(r.completePayouts()),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			p, err := r.findPayout(c.Context(), s, args[0])
			if err == nil {
				p, err = r.follow(c.Context(), s, p)
			}
			if err != nil {
				return err
			}
			if err := f.Write(r.terminal, p, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, p.Status)
				return err
			}); err != nil {
				return err
			}
			if p.Status != api.PayoutCompleted {
				return fmt.Errorf("%s is %s", p.ID, payoutStatus(p))
			}
			return nil
		},
	}
	f.Bind(c, false)
	return r.inWorkspace(c)
}

// follow prints the changes of a payout until it has ended.
func (r *remote) follow(ctx context.Context, s *session, p *api.Payout) (*api.Payout, error) {
	retries := &retrier{wait: 2 * time.Minute, note: func(text string) { _ = r.say("%s", text) }}
	for told := ""; ; {
		if now := p.Status + p.Attention; now != told {
			told = now
			if err := r.sayPayout(p); err != nil {
				return nil, err
			}
		}
		switch p.Status {
		case api.PayoutCompleted, api.PayoutFailed, api.PayoutCancelled, api.PayoutReversed:
			return p, nil
		}
		select {
		case <-time.After(watchInterval):
		case <-ctx.Done():
			return nil, errors.New("interrupted, and the payout goes on: run the same command again to watch it")
		}
		err := retries.call(ctx, func() error {
			now, err := s.Payouts.Get(ctx, p.ID)
			if err == nil {
				p = now
			}
			return err
		})
		if err != nil && ctx.Err() == nil {
			return nil, fmt.Errorf("read the payout: %w", err)
		}
	}
}
