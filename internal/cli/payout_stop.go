package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func newPayoutStop(r *remote) *cobra.Command {
	var p client.PayoutStopParams
	c := r.newSendingChange(&cobra.Command{
		Use: "stop --reason WHY", Short: "Stop sending the payouts of a workspace",
		Long: `Stop sending the payouts of the workspace, live ones and those of the sandbox
unless --mode says which. Nothing more is handed to a rail until you run
'bursar payouts resume'. Payouts can still be created and approved. What a
rail already has goes on.

Everyone who may create or approve payouts can stop, without a second person.`,
		Example: `  bursar payouts stop --reason "wrong amounts in the payroll file"
  bursar payouts stop --reason "the bank called" --mode live`,
	}, func(ctx context.Context, s *session, workspaceID string, mode *string) (*api.PayoutSending, error) {
		p.Mode = mode
		return s.Payouts.Stop(ctx, workspaceID, p)
	}, "reason")
	c.Flags().StringVar(&p.Reason, "reason", "", "why you stop it")
	completeFlag(c, "reason", cobra.NoFileCompletions)
	return c
}

func newPayoutResume(r *remote) *cobra.Command {
	return r.newSendingChange(&cobra.Command{
		Use: "resume", Short: "Resume sending the payouts of a workspace",
		Long: `Send the payouts of the workspace again, live ones and those of the sandbox
unless --mode says which. Payouts that were due meanwhile are sent in the next
window of their rail.

Live payouts take a second person where there is one: 'bursar approvals' shows
what waits for them. Another stop voids that.`,
		Example: `  bursar payouts resume
  bursar payouts resume --mode sandbox`,
	}, func(ctx context.Context, s *session, workspaceID string, mode *string) (*api.PayoutSending, error) {
		return s.Payouts.Resume(ctx, workspaceID, client.PayoutResumeParams{Mode: mode})
	})
}

// newSendingChange completes a command that stops or resumes sending. The flags that are named last are required.
func (r *remote) newSendingChange(c *cobra.Command, do func(ctx context.Context, s *session, workspaceID string, mode *string) (*api.PayoutSending, error),
	required ...string) *cobra.Command {
	var f term.Format
	var mode string
	modes := []string{api.ModeLive, api.ModeSandbox}
	name := c.Name()
	c.Args = cobra.NoArgs
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := require(c, required...); err != nil {
			return err
		}
		if err := oneOf("mode", mode, modes); err != nil {
			return err
		}
		s, w, err := r.connectWorkspace(c.Context())
		if err != nil {
			return err
		}
		var only *string
		if mode != "" {
			only = &mode
		}
		got, err := do(c.Context(), s, w.ID, only)
		if err != nil {
			return fmt.Errorf("%s sending: %w", name, err)
		}
		return f.Write(r.terminal, got, func(out io.Writer) error {
			return term.WritePairs(r.terminal, out, "Live", stopText(got.Live), "Sandbox", stopText(got.Sandbox))
		})
	}
	c.Flags().StringVar(&mode, "mode", "", "live or sandbox; both unless given")
	completeWords(c, "mode", modes)
	f.Bind(c, false)
	return r.inWorkspace(c)
}

// stopText is whether payouts of a mode are sent, for people.
func stopText(s api.PayoutStop) string {
	if !s.Stopped {
		return "sending"
	}
	return "stopped since " + localTime(s.StoppedAt) + " by " + s.StoppedBy.Name + ": " + s.Reason
}

// stoppedText says that a payout waits because sending is stopped.
func stoppedText(stopped bool) string {
	if !stopped {
		return ""
	}
	return "waits: sending is stopped in this workspace"
}
