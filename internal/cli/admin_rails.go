package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"bursar/internal/db"
	"bursar/internal/payout"
)

func newRailsStatus(t Terminal) *cobra.Command {
	return adminCommand{
		use: "status", short: "Show whether the rails are stopped",
		long: `Show whether the rails are stopped, as they are after a restore, which
payouts their rails have not answered for yet, and how many attempts have not
ended.`,
		example: `  bursar admin rails status`,
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			var status payout.Stopped
			err := s.db.Read(c.Context(), func(q db.Q) (err error) {
				status, err = payout.ReadStopped(q)
				return err
			})
			text := "Rails     running"
			if status.Stopped {
				text = fmt.Sprintf("Rails     stopped: %s\nLeft      %d payouts to look up", status.Why, status.Left)
			}
			text += fmt.Sprintf("\nAttempts  %d open", status.Open)
			for _, p := range status.First {
				text += fmt.Sprintf("\n  %s  %s  %s", p.ID, p.Status, p.Rail)
			}
			if more := status.Left - int64(len(status.First)); more > 0 {
				text += fmt.Sprintf("\n  and %d more", more)
			}
			return status, text, err
		},
	}.command(t)
}

func newRailsResume(t Terminal) *cobra.Command {
	var force bool
	var checked []string
	c := adminCommand{
		use: "resume", short: "Let the rails send again after a restore",
		long: `Let the rails send again after a restore. It is refused until a server has
looked up at its rail every payout that is not final, or has failed: one that
was sent after the moment of the archive would be paid twice.

If a rail cannot answer, compare with the bank's statements, cancel the
payouts that they have, and name all that you have compared with --checked.
--force waits for none.`,
		example: `  bursar admin rails resume
  bursar admin rails resume --checked po_01jd2m8k3vq7w5x9y0z1a2b3c4`,
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			was, err := payout.ResumeRails(c.Context(), s.db, operator(), checked, force)
			switch {
			case errors.Is(err, payout.ErrNotLookedUp):
				return nil, "", withHint(err, "A running server looks them up: see 'bursar admin rails status'. If a rail cannot answer, compare with the bank's statements, and name what you have compared with --checked.")
			case err == nil && !was.Stopped:
				return was, "The rails were not stopped.", nil
			}
			return was, "The rails send again.", err
		},
	}.command(t)
	c.Flags().StringSliceVar(&checked, "checked", nil, "id of a payout that you have compared with the bank's statements; repeatable")
	c.Flags().BoolVar(&force, "force", false, "also if payouts were not looked up")
	return c
}
