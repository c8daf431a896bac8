package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/payout"
)

func newRailsStatus(t Terminal) *cobra.Command {
	return adminCommand{
		use: "status", short: "Show whether the rails are stopped",
		long: `Show whether the rails are stopped, as they are after a restore, which
payouts their rails have not answered for yet, which payments rails have sent
that the store does not know, how many attempts have not ended, and which
connectors send nothing because of their folder.`,
		example: `  bursar admin rails status`,
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			var status struct {
				payout.Stopped
				Conflicts []payout.RecordConflict `json:"record_conflicts,omitempty"`
			}
			err := s.db.Read(c.Context(), func(q db.Q) (err error) {
				if status.Stopped, err = payout.ReadStopped(q); err == nil {
					status.Conflicts, err = payout.ReadConflicts(q, "")
				}
				return err
			})
			text := "Rails     running"
			if status.Stopped.Stopped {
				text = fmt.Sprintf("Rails     stopped: %s\nLeft      %s to look up", status.Why, counted(int(status.Left), "payout", "payouts"))
			}
			text += fmt.Sprintf("\nAttempts  %d open", status.Open)
			if status.Stopped.Stopped && !status.Read {
				text += "\nFolders   not read yet"
			}
			for _, p := range status.First {
				text += fmt.Sprintf("\n  %s  %s  %s", p.ID, p.Status, p.Rail)
			}
			if more := status.Left - int64(len(status.First)); more > 0 {
				text += fmt.Sprintf("\n  and %d more", more)
			}
			text += describeUnknown(status.Unknown)
			for _, found := range status.Conflicts {
				text += "\n" + describeConflict(found)
			}
			return status, text, err
		},
	}.command(t)
}

func newRailsResume(t Terminal) *cobra.Command {
	var force, acknowledgeAll bool
	var checked, acknowledged []string
	c := adminCommand{
		use: "resume", short: "Let the rails send again after a restore",
		long: `Let the rails send again after a restore. It is refused until a server has
looked up at its rail every payout that is not final, or has failed: one that
was sent after the moment of the archive would be paid twice.

If a rail cannot answer, compare with the bank's statements, cancel the
payouts that they have, and name all that you have compared with --checked.
--force waits for none.

It is also refused while a file rail has sent payments that the store does not
know, because their payouts were made after the moment of the archive. Look at
the list, and acknowledge each payout with --acknowledge, or all of them with
--acknowledge-all. An acknowledged payout is stored under its own id, as
processing and with an unknown outcome and payee, and is not sent again. Its
money is reserved if its account has it; otherwise its debit goes to suspense.`,
		example: `  bursar admin rails resume
  bursar admin rails resume --checked po_01jd2m8k3vq7w5x9y0z1a2b3c4
  bursar admin rails resume --acknowledge po_01jd2m8k3vq7w5x9y0z1a2b3c4`,
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			var unknown []payout.UnknownPayment
			if err := s.db.Read(c.Context(), func(q db.Q) (err error) {
				unknown, err = payout.ReadUnknown(q)
				return err
			}); err != nil {
				return nil, "", err
			}
			for _, u := range unknown {
				if acknowledgeAll {
					acknowledged = append(acknowledged, u.PayoutID)
				}
			}
			if len(acknowledged) > 0 { // their money is reserved
				if err := payout.LoadIntegrity(c.Context(), s.db, s.vault, false); err != nil {
					return nil, "", err
				}
			}
			if _, err := payout.Acknowledge(c.Context(), s.db, operator(), acknowledged); err != nil {
				return nil, "", err
			}
			status, err := payout.ResumeRails(c.Context(), s.db, operator(), checked, force)
			switch {
			case errors.Is(err, payout.ErrNotLookedUp):
				return nil, "", withHint(err, "A running server looks them up: see 'bursar admin rails status'. If a rail cannot answer, compare with the bank's statements, and name what you have compared with --checked.")
			case errors.Is(err, payout.ErrNotRead):
				return nil, "", withHint(err, "A running server reads the folders of all file rails: see 'bursar admin rails status'. If a folder is lost, resume with --force.")
			case errors.Is(err, payout.ErrNotAcknowledged):
				return nil, "", withHint(fmt.Errorf("%w%s", err, describeUnknown(slices.DeleteFunc(unknown, func(u payout.UnknownPayment) bool {
					return slices.Contains(acknowledged, u.PayoutID)
				}))),
					"Compare them with the bank's statements, and name each with --acknowledge, or pass --acknowledge-all.")
			case err == nil && !status.Stopped:
				return status, "The rails were not stopped.", nil
			}
			status.Stopped = false
			return status, "The rails send again.", err
		},
	}.command(t)
	c.Flags().StringSliceVar(&checked, "checked", nil, "id of a payout that you have compared with the bank's statements; repeatable")
	c.Flags().StringSliceVar(&acknowledged, "acknowledge", nil, "id of a payout that was sent and that the store does not know; repeatable")
	c.Flags().BoolVar(&acknowledgeAll, "acknowledge-all", false, "acknowledge all payouts that were sent and that the store does not know")
	c.Flags().BoolVar(&force, "force", false, "also if payouts were not looked up")
	return c
}

// describeUnknown lists the payments that are missing from a restored store.
func describeUnknown(list []payout.UnknownPayment) (text string) {
	if len(list) > 0 {
		text = "\nUnknown   " + counted(len(list), "payout was", "payouts were") + " sent after the moment of the archive:"
	}
	for _, u := range list {
		text += fmt.Sprintf("\n  %s  %s  %s  %s  %s", u.PayoutID, api.FormatAmount(u.Amount, u.Currency), localTime(u.SentAt), u.Rail, cmp.Or(u.AccountID, "account not recorded"))
		if !u.Recognizable {
			text += "  (no external id, or one that cannot be recognized)"
		}
	}
	return text
}

// describeConflict returns why a connector sends nothing, with the first affected payments.
func describeConflict(found payout.RecordConflict) string {
	text := fmt.Sprintf("Folder    %s sends nothing: %s\n          (identity %s)", found.Connector, found.Reason, found.Identity)
	add := func(list []string, what string) {
		for _, id := range list[:min(len(list), maxListed)] {
			text += fmt.Sprintf("\n  %s  %s", id, what)
		}
		if more := len(list) - maxListed; more > 0 {
			text += fmt.Sprintf("\n  and %d more", more)
		}
	}
	add(found.Missing, "not in the folder")
	add(found.Open, "not in the folder, and the outcome is unknown")
	add(found.Unknown, "not in the store")
	return text
}

// maxListed is the maximum number of payments of a kind that describeConflict lists.
const maxListed = 20

func newRailsAdopt(t Terminal) *cobra.Command {
	var connector, identity string
	var yes bool
	c := adminCommand{
		use: "adopt CONNECTOR", short: "Let a connector send with the folder that it has now",
		long: `Let a connector send with the folder that it has now. Bursar remembers the
folder of each file rail. If the folder was replaced, is not shared by all
nodes, or has lost the notes of payments that the bank has accepted, the
connector sends nothing: those payments would be sent again. The same goes for
a folder that lists payments which the store does not know, because the
database was set back: run 'bursar restore --recovered' then.

First restore the right folder, if you can: the connector then resumes within
seconds. Otherwise compare the payments that adopt lists with the bank's
statements, and adopt the folder with --yes. Open payments that it does not
list may have been paid: they need attention (contradicted), and are never
sent again.

Without --yes, adopt only shows what running servers have found.`,
		example: `  bursar admin rails adopt ourbank
  bursar admin rails adopt ourbank --yes`,
		required: []string{"connector"}, argument: "connector",
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			found, contradicted, err := payout.AdoptRecord(c.Context(), s.db, operator(), connector, identity, yes)
			switch {
			case errors.Is(err, payout.ErrNoConflict):
				return nil, "", withHint(err, "See 'bursar admin rails status'. A running server compares folders every second.")
			case errors.Is(err, payout.ErrSeveralFolders):
				return nil, "", withHint(err, "Let all nodes share one folder, or choose one with --identity.")
			}
			result := struct {
				payout.RecordConflict
				Adopted      bool `json:"adopted"`
				Contradicted int  `json:"contradicted"`
			}{found, yes, contradicted}
			if err == nil && !yes {
				return result, describeConflict(found) + "\nNothing was changed. To adopt the folder, pass --yes.", nil
			}
			return result, fmt.Sprintf("Adopted the folder of %s. Payouts that need attention now: %d.", connector, contradicted), err
		},
	}.command(t)
	c.Flags().StringVar(&connector, "connector", "", "name of the connector in the rails file")
	c.Flags().StringVar(&identity, "identity", "", "the folder to adopt, if servers have found several")
	c.Flags().BoolVar(&yes, "yes", false, "adopt the folder")
	return c
}
