package cli

import (
	"context"
	"errors"
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
		Long: `Stop sending the payouts of the workspace: live and sandbox payouts, or only
those of --mode. Nothing more is handed to a rail until 'bursar payouts
resume'. Payouts can still be created and approved. Payouts that a rail
already has are not affected.

Anyone who may create or approve payouts can stop them, without a second
person.`,
		Example: `  bursar payouts stop --reason "wrong amounts in the payroll file"
  bursar payouts stop --reason "the bank called" --mode live`,
	}, func(ctx context.Context, s *session, workspaceID string, mode *string) (*api.PayoutSending, error) {
		p.Mode = mode
		return s.Payouts.Stop(ctx, workspaceID, p)
	}, "reason")
	c.Flags().StringVar(&p.Reason, "reason", "", "why you stop them (required)")
	completeFlag(c, "reason", cobra.NoFileCompletions)
	return c
}

func newPayoutResume(r *remote) *cobra.Command {
	return r.newSendingChange(&cobra.Command{
		Use: "resume", Short: "Resume sending the payouts of a workspace",
		Long: `Resume sending the payouts of the workspace: live and sandbox payouts, or only
those of --mode. Payouts that were due meanwhile are sent in the next window
of their rail.

Live payouts resume once a second person approves, if the workspace has one:
'bursar approvals list' shows the request. Another stop voids it.`,
		Example: `  bursar payouts resume
  bursar payouts resume --mode sandbox`,
	}, func(ctx context.Context, s *session, workspaceID string, mode *string) (*api.PayoutSending, error) {
		got, err := s.Payouts.Resume(ctx, workspaceID, client.PayoutResumeParams{Mode: mode})
		var refused *client.Error
		if mode == nil && errors.As(err, &refused) && refused.Code == api.CodeSecondPersonRequired {
			err = withHint(err, "Live payouts stay stopped until then: 'bursar approvals list' shows the request. Sandbox payouts are sent.")
		}
		return got, err
	})
}

// newSendingChange completes a command that stops or resumes sending. The flags in the last parameter are required.
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
	c.Flags().StringVar(&mode, "mode", "", "live or sandbox; default both")
	completeWords(c, "mode", modes)
	f.Bind(c, false)
	return r.inWorkspace(c)
}

// stopText describes whether payouts of a mode are sent.
func stopText(s api.PayoutStop) string {
	if !s.Stopped {
		return "sending"
	}
	return "stopped since " + localTime(s.StoppedAt) + " by " + s.StoppedBy.Name + ": " + s.Reason
}
