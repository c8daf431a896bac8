package payout_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/fault"
	"bursar/internal/payout"
	"bursar/internal/rail"
)

// watched returns what leaves from now on: end-to-end ids with payees.
func (b *bank) watched() *[]string {
	var sent []string
	b.line.submit = func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
		for _, p := range list {
			sent = append(sent, p.EndToEndID+" "+p.To.AccountName)
		}
		return b.sim.Submit(ctx, r, list)
	}
	return &sent
}

func (b *bank) exec(sql string, args ...any) {
	b.t.Helper()
	b.write(func(tx *db.Tx) error { return tx.Exec(sql, args...) })
}

func (o *office) tell(name string, outcome rail.Outcome) {
	o.t.Helper()
	if err := o.Store(context.Background(), name, outcome); err != nil {
		o.t.Fatal(err)
	}
}

// limit makes payouts above 0.05 exceed a limit, and dispatches with the rules of a node that knows it.
func (o *office) limit() {
	o.t.Helper()
	rules := o.serve()
	in := payout.SetLimitInput{PayoutLimitSet: api.PayoutLimitSet{WorkspaceID: new("ws_1"), Per: "payout", AmountCents: new(int64(5))}}
	if _, err := rules.SetLimit(context.Background(), o.caller("usr_a"), in); err != nil {
		o.t.Fatal(err)
	}
	o.Dispatcher = payout.NewDispatcher(o.db, o.vault, o.rails, rules, slog.New(slog.NewTextHandler(o.log, nil)))
}

func TestAnApprovalWhoseDemandWasChangedInTheStoreDecidesNothing(t *testing.T) {
	for name, change := range map[string]string{
		"fewer approvals": `UPDATE approval SET needed = 1 WHERE state = 'pending'`,
		"another maker":   `UPDATE approval SET involved = ' ', maker_id = 'usr_c', maker = replace(maker, 'usr_a', 'usr_c') WHERE state = 'pending'`,
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				o := openOffice(openBank(t, store))
				sent := o.watched()
				id := o.pay("usr_a", 2) // which takes two others
				o.exec(change)
				for _, who := range []string{"usr_a", "usr_b"} {
					if err := o.approve(who, id); err == nil && who == "usr_a" {
						t.Error("the maker approved")
					}
				}
				o.turn()
				if len(*sent) > 0 {
					t.Errorf("sent: %q", *sent)
				}
			})
		})
	}
}

// The rail has accepted it; a row that says otherwise does not send it under another end-to-end id.
func TestAnAcceptedPayoutIsNotSentAgainByARow(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		sent := b.watched()
		id := b.pay(number("9011"))[0]
		b.turn()
		b.is(id, "processing")
		b.exec(`UPDATE payout SET status = 'pending', send_at = 1`)
		b.turn()
		if len(*sent) != 1 {
			t.Errorf("it was sent as %q", *sent)
		}
		b.isContradicted(id)
	})
}

func TestAPayoutWithADamagedNumberCanBeSeenAndResolved(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		ids := o.bank.pay(number("0001"), number("9011"))
		o.exec(`UPDATE payout SET account_sealed = (SELECT account_sealed FROM payout p WHERE p.id = $2) WHERE id = $1`, ids[0], ids[1])
		o.turn()
		o.isContradicted(ids[0])
		if _, err := o.payouts.Get(t.Context(), o.caller("usr_a"), payout.GetInput{ID: ids[0]}); err != nil {
			t.Errorf("get: %v", err)
		}
		if err := o.approveIt("usr_b", o.asked("usr_a", ids[0], "not_paid")); err != nil { // its mode is as uncertain as its number
			t.Error(err)
		}
		o.is(ids[0], "failed PROCESSING_FAILED")
	})
}

// What the rail tells about a held payout ends the hold, and the approval that would have ended it.
func TestAHeldPayoutThatTheRailHasAfterAllIsNoLongerHeld(t *testing.T) {
	for _, state := range []rail.State{rail.Completed, rail.Rejected} {
		t.Run(string(state), func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				o := openOffice(openBank(t, store))
				id := o.pay("usr_a", 0)
				if n, err := o.Claim(t.Context()); n != 1 || err != nil {
					t.Fatal(n, err)
				}
				name := payout.EndToEndID(id, 1)
				o.tell(name, rail.Outcome{State: rail.NotReceived, Submission: 1})
				o.limit()
				if n, err := o.Claim(t.Context()); n != 0 || err != nil {
					t.Fatal(n, err)
				}
				o.is(id, "pending recheck")
				o.tell(name, rail.Outcome{State: state, Submission: 1, Code: "AB08"})
				if now := o.payout(id); now.Attention == payout.Recheck {
					t.Errorf("it is %s, and still held", now.Status)
				}
				if n := o.count(`SELECT count(*) FROM approval WHERE kind = 'payout_recheck' AND state = 'pending'`); n != 0 {
					t.Errorf("%d approvals still wait", n)
				}
			})
		})
	}
}

// The approval of a held payout is sealed, for which a node that has just started has no key yet. It is not read within the
// transaction of the claim, where SQLite would wait for itself.
func TestANodeThatHasJustStartedHoldsAPayout(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		id := o.pay("usr_a", 0)
		o.exec(`UPDATE vault_key SET retired_at = 1 WHERE workspace_number = 1`)
		o.limit()
		o.vault = store.Vault(o.db)
		startVault(t, o.db, o.vault)
		o.Dispatcher = payout.NewDispatcher(o.db, o.vault, o.rails, o.serve(), slog.New(slog.NewTextHandler(o.log, nil)))
		if _, err := o.Claim(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.is(id, "pending recheck")
	})
}

// The rail has accepted the payment. Its row says that it was not sent, or that it failed.
func TestAPayoutThatItsRailHasIsNotEndedByARow(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openLiveOffice(t, store)
		id := o.pay(o.account, "salary-1", amount)
		o.turn()
		o.is(id, "processing")
		before := o.balances(o.account)
		o.exec(`UPDATE payout SET status = 'pending' WHERE id = $1`, id)
		if _, err := o.payouts.Cancel(t.Context(), o.caller("usr_a"), payout.CancelInput{ID: id}); codeOf(err) != fault.PayoutState {
			t.Errorf("cancel: %v", err)
		}
		o.exec(`UPDATE ledger_account SET status = 'frozen' WHERE id = $1`, o.account.ID)
		o.turn()
		o.isContradicted(id)
		if events := o.lastStep(id); !strings.Contains(events, "needs_attention") {
			t.Errorf("the audit log has %s", events)
		}
		o.exec(`UPDATE ledger_account SET status = 'active' WHERE id = $1`, o.account.ID)
		o.exec(`UPDATE payout SET status = 'failed', attention = '' WHERE id = $1`, id)
		if err := o.retry("usr_a", id); codeOf(err) != fault.PayoutState {
			t.Errorf("retry: %v", err)
		}
		o.turn()
		if now := o.balances(o.account); now != before {
			t.Errorf("the account has %s, had %s", now, before)
		}
		if sent := o.messages(payout.EndToEndID(id, 2)); len(sent) > 0 {
			t.Error("it was sent again, under another end-to-end id")
		}
	})
}

// A live payout takes two, whatever mode its row has.
func TestALivePayoutIsNotResolvedByOneBecauseOfItsRow(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openLiveOffice(t, store)
		id := o.overdue()
		o.exec(`UPDATE payout SET mode = 'sandbox' WHERE id = $1`, id)
		if _, err := o.resolve("usr_a", id, "not_paid"); codeOf(err) != fault.SecondPersonRequired {
			t.Errorf("resolved by one: %v", err)
		}
		o.is(id, "processing outcome_unknown")
	})
}

// The rail says that it has paid an earlier attempt of a payout that is held.
func TestAHeldPayoutThatIsContradictedIsNoLongerHeld(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		id := o.pay("usr_a", 0)
		if n, err := o.Claim(t.Context()); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		o.tell(payout.EndToEndID(id, 1), rail.Outcome{State: rail.Rejected, Code: "AB08", Submission: 1})
		if err := o.retry("usr_a", id); err != nil {
			t.Fatal(err)
		}
		o.limit()
		if n, err := o.Claim(t.Context()); n != 0 || err != nil {
			t.Fatal(n, err)
		}
		o.is(id, "pending recheck")
		o.answers(id, rail.Outcome{State: rail.Completed})
		o.is(id, "pending contradicted")
		if n := o.count(`SELECT count(*) FROM approval WHERE kind = 'payout_recheck' AND state = 'pending'`); n != 0 {
			t.Errorf("%d approvals wait to release it", n)
		}
	})
}
