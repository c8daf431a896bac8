package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
)

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
