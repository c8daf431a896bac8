package dispatch_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/fault"
	"bursar/internal/ledger"
	"bursar/internal/payout"
)

// leavePair leaves usr_a, an admin, and usr_b, who creates payouts and approves none.
func (o *office) leavePair() {
	o.t.Helper()
	o.write(func(tx *db.Tx) error {
		if err := tx.Exec(`DELETE FROM member_role WHERE account_id NOT IN ('usr_a', 'usr_b')`); err != nil {
			return err
		}
		return tx.Exec(`UPDATE member_role SET role = 'disbursement_manager' WHERE account_id = 'usr_b'`)
	})
	o.clock.advance(30 * 24 * time.Hour) // those who left no longer count
}

// Where one person decides payouts and the others only create them, each request takes both, whoever was the first to ask.
func TestWhoCreatesPayoutsRequestsWhatTheOnlyApproverApproves(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(o *liveOffice) (id string)
		ask     func(o *liveOffice, who, id string) error
		done    func(o *liveOffice, id string) bool
	}{
		"a resolution": {
			func(o *liveOffice) string { return o.overdue() },
			func(o *liveOffice, who, id string) error {
				_, err := o.resolve(who, id, "not_paid")
				return err
			},
			func(o *liveOffice, id string) bool { return o.payout(id).Status == payout.Failed },
		},
		"an unfrozen account": {
			func(o *liveOffice) string {
				o.must(o.setStatus("usr_a", api.AccountFrozen))
				return o.account.ID
			},
			func(o *liveOffice, who, _ string) error { return o.setStatus(who, api.AccountActive) },
			func(o *liveOffice, id string) bool {
				return o.count(`SELECT count(*) FROM ledger_account WHERE id = $1 AND status = 'active'`, id) == 1
			},
		},
		"resuming": {
			func(o *liveOffice) string {
				o.stopSending("usr_a")
				o.sendAgain("usr_a")
				return "ws_1"
			},
			func(o *liveOffice, who, id string) error {
				_, err := o.payouts.Resume(context.Background(), o.caller(who), payout.ResumeInput{ID: id})
				return err
			},
			func(o *liveOffice, _ string) bool {
				return o.count(`SELECT count(*) FROM payout_stop WHERE stopped_at > 0`) == 0
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				o := openLiveOffice(t, store)
				id := c.prepare(o)
				o.leavePair()
				waits := func(who string) (approvalID string) {
					t.Helper()
					err := c.ask(o, who, id)
					var f *fault.Fault
					if !errors.As(err, &f) || f.Code != api.CodeSecondPersonRequired {
						t.Fatalf("%s asks: %v", who, err)
					}
					return f.Details.(api.SecondPersonDetails).ApprovalID
				}
				first := waits("usr_a")
				if again := waits("usr_a"); name != "a resolution" && again != first {
					t.Errorf("the same request names %s, want %s", again, first)
				}
				second := waits("usr_b")
				if err := o.approveIt("usr_a", first); codeOf(err) != api.CodeApprovalDecided {
					t.Errorf("approve the request of usr_a: %v", err)
				}
				if c.done(o, id) {
					t.Error("one person has done it")
				}
				if err := o.approveIt("usr_a", second); err != nil {
					t.Fatal(err)
				}
				if !c.done(o, id) {
					t.Error("it was approved, and not done")
				}
			})
		})
	}
}

// Without an approval nothing is done for who only creates payouts.
func TestWhoOnlyCreatesPayoutsDoesNothingAlone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openLiveOffice(t, store)
		id := o.overdue()
		sandbox := o.newAccountIn(api.ModeSandbox, amount)
		o.must(o.setStatus("usr_a", api.AccountFrozen))
		o.stopSending("usr_a")
		o.leavePair()
		change := func(account string, status string) error {
			_, err := o.books.Update(t.Context(), o.caller("usr_b"), ledger.UpdateInput{ID: account, AccountUpdate: api.AccountUpdate{Status: &status}})
			return err
		}
		refused := func(what string, err error) {
			t.Helper()
			if codeOf(err) != api.CodeForbidden {
				t.Errorf("%s: %v", what, err)
			}
		}
		refused("close an account", change(o.account.ID, api.AccountClosed))
		refused("freeze an account of the sandbox", change(sandbox.ID, api.AccountFrozen))
		o.exec(`UPDATE ledger_account SET status = 'frozen' WHERE id = $1`, sandbox.ID)
		refused("unfreeze an account of the sandbox", change(sandbox.ID, api.AccountActive))
		o.exec(`DELETE FROM member_role WHERE account_id = 'usr_a'`)
		o.clock.advance(30 * 24 * time.Hour)
		refused("unfreeze where no one approves", change(o.account.ID, api.AccountActive))
		_, err := o.resolve("usr_b", id, "not_paid")
		refused("resolve where no one approves", err)
		_, err = o.payouts.Resume(t.Context(), o.caller("usr_b"), payout.ResumeInput{ID: "ws_1"})
		refused("resume where no one approves", err)
		o.is(id, "processing outcome_unknown")
	})
}

// setStatus changes the status of the account that pays by files.
func (o *liveOffice) setStatus(who, status string) error {
	_, err := o.books.Update(context.Background(), o.caller(who), ledger.UpdateInput{ID: o.account.ID, AccountUpdate: api.AccountUpdate{Status: &status}})
	return err
}
