package dispatch_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/db/dbtest"
	"bursar/internal/directory"
	"bursar/internal/payout"
	"bursar/internal/payout/control"
	"bursar/internal/rail"
	"bursar/internal/web"
)

// The code of a reservation after "not paid" is for the same attempt once more, and for no other one: a row that says that the
// payout waits again does not send it under another end-to-end id.
func TestAPayoutThatWasRetriedAfterNotPaidIsNotSentUnderAnotherIDByARow(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		both := openLiveOffice(t, store)
		l, o := both.live, both.office
		id := l.overdue()
		if err := o.approveIt("usr_b", o.asked("usr_a", id, "not_paid")); err != nil {
			t.Fatal(err)
		}
		if err := o.retry("usr_a", id); err != nil {
			t.Fatal(err)
		}
		l.turn()
		l.is(id, "processing") // the bank has submission 2 of attempt 1
		l.exec(`UPDATE payout SET status = 'pending', send_at = 1 WHERE id = $1`, id)
		l.turn()
		if sent := l.messages(payout.EndToEndID(id, 2)); len(sent) > 0 {
			t.Errorf("it was sent once more as attempt 2, in the messages %q", sent)
		}
		l.isContradicted(id)
	})
}

// A release gives the payout a new code, for the attempt that the rail has not received.
func TestAPayoutThatWasReleasedIsNotSentUnderAnotherIDByARow(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		id := o.pay("usr_a", 0)
		if n, err := o.Claim(t.Context()); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		o.tell(payout.EndToEndID(id, 1), rail.Outcome{State: rail.NotReceived, Submission: 1})
		o.limit()
		if n, err := o.Claim(t.Context()); n != 0 || err != nil {
			t.Fatal(n, err)
		}
		o.is(id, "pending recheck")
		if err := o.approveIt("usr_b", o.payout(id).RecheckID); err != nil {
			t.Fatal(err)
		}
		if n, err := o.Claim(t.Context()); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		o.tell(payout.EndToEndID(id, 1), rail.Outcome{State: rail.Accepted, Submission: 2})
		sent := o.watched()
		o.exec(`UPDATE payout SET status = 'pending', send_at = 1 WHERE id = $1`, id)
		o.turn()
		if len(*sent) > 0 {
			t.Errorf("the rail has it, and it was sent as %q", *sent)
		}
	})
}

// The folder knows that a payment went out. Neither what the row of the attempt says people have found, nor when it says that
// the payment was made, sends it again.
func TestAnAttemptThatWasChangedInTheStoreIsNotSubmittedAgain(t *testing.T) {
	for name, change := range map[string][]string{
		"found not to be paid": {`UPDATE payout_attempt SET state = 'not_received', resolved = 'not_paid', not_paid = 1 WHERE payout_id = $1`},
		"made later": {`UPDATE payout_attempt SET state = 'not_received', accepted = 0, created_at = created_at + 3600000 WHERE payout_id = $1`,
			`UPDATE payout SET created_at = created_at + 3600000 WHERE id = $1`},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				l := openLive(t, store)
				l.turn()
				id := l.pay(number("0001"))[0]
				l.turn()
				l.is(id, "processing")
				l.clock.advance(2 * time.Minute)
				for _, sql := range append(change, `UPDATE payout SET status = 'pending', send_at = 1 WHERE id = $1`) {
					l.exec(sql, id)
				}
				l.turn()
				if sent := l.messages(payout.EndToEndID(id, 1)); len(sent) != 1 {
					t.Errorf("it is in the messages %q", sent)
				}
			})
		})
	}
}

// The rail calls a held payout a duplicate, so it may have been paid, and never says more.
func TestAHeldPayoutThatTheRailMayHaveIsResolved(t *testing.T) {
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
		waits := o.payout(id).RecheckID
		o.tell(name, rail.Outcome{State: rail.Rejected, Code: "AM05", Submission: 1})
		o.clock.advance(24 * time.Hour)
		o.tell(name, rail.Outcome{State: rail.Unknown, Submission: 1})
		o.is(id, "processing outcome_unknown")
		if _, err := o.resolve("usr_a", id, "not_paid"); err != nil {
			t.Errorf("it cannot be resolved: %v", err)
		}
		if n := o.count(`SELECT count(*) FROM approval WHERE id = $1 AND state = 'pending'`, waits); n != 0 {
			t.Error("the approval of its release still waits")
		}
	})
}

// After a restore the rail has a payout that was held at the moment of the archive, and was released and sent then.
func TestAHeldPayoutThatWasSentAfterTheArchiveNeedsAttention(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		both := openLiveOffice(t, store)
		l := both.live
		id := l.pay(number("0001"))[0]
		l.exec(`UPDATE payout SET attention = 'recheck' WHERE id = $1`, id) // a limit holds it
		restore := both.archive(t)
		l.exec(`UPDATE payout SET attention = '' WHERE id = $1`, id) // and somebody releases it
		l.turn()
		l.is(id, "processing")
		l.clock.advance(24 * time.Hour)
		after := restore()
		after.turn()
		after.settle(time.Hour)
		after.is(id, "processing outcome_unknown")
		if _, err := after.office.resolve("usr_a", id, "paid"); codeOf(err) != "SECOND_PERSON_REQUIRED" {
			t.Errorf("resolve it: %v", err)
		}
	})
}

// The reserved money of one account was changed in the store, and the account is frozen: its payout cannot be ended. Those of others
// are sent.
func TestADamagedAccountKeepsNoOtherPayoutFromBeingSent(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		good := b.account
		b.account = b.newAccount(100_000)
		b.pay(number("0001"))
		b.exec(`UPDATE ledger_account SET reserved = 0, status = 'frozen' WHERE id = $1`, b.account.ID)
		b.account = good
		other := b.pay(number("0002"))[0]
		for range 10 {
			_, _ = b.Turn(t.Context()) // the log has the error
			b.clock.advance(2 * time.Minute)
		}
		b.is(other, "completed")
	})
}

// The answers about payouts of several accounts come together, and the money of one account was changed in the store.
func TestADamagedAccountKeepsNoOtherAnswerFromBeingStored(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		good := b.account
		b.account = b.newAccount(100_000)
		b.pay(number("0001"))
		b.exec(`UPDATE ledger_account SET reserved = 0 WHERE id = $1`, b.account.ID)
		b.account = good
		other := b.pay(number("0002"))[0]
		b.deaf()
		decide := func(_ context.Context, _ *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
			out := make([]rail.Outcome, len(list))
			for i, p := range list {
				out[i] = rail.Outcome{State: rail.Completed, Submission: p.Submission}
			}
			return out, nil
		}
		b.line.submit, b.line.lookUp = decide, decide
		for range 10 {
			_, _ = b.Turn(t.Context()) // the log has the error
			b.clock.advance(2 * time.Minute)
		}
		b.is(other, "completed")
	})
}

// The rule was made while the payout was screened: its money was reserved after that, on what was needed before.
func TestARuleThatWasMadeWhileAPayoutWasScreenedHoldsIt(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		rules := o.serve()
		screening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, err := rules.CreateRule(context.Background(), o.caller("usr_c"), control.RuleInput{ApprovalRuleCreate: api.ApprovalRuleCreate{
				WorkspaceID: new("ws_1"), Approvals: new(int64(2)), AboveCents: new(int64(1))}})
			if err != nil {
				t.Error(err)
			}
			o.clock.advance(time.Second)
			_, _ = io.WriteString(w, `{"decision": "allow"}`)
		}))
		defer screening.Close()
		authority, cursors := access.NewAuthority(o.db), web.NewCursors(nil)
		screened := control.New(o.db, o.vault, authority, cursors, o.approvals, o.rails, control.Screening{URL: screening.URL})
		o.payouts = payout.New(o.db, o.vault, authority, cursors, o.approvals, directory.New(o.db, o.vault, authority, cursors, o.approvals), o.rails, screened, func() {})
		id := o.pay("usr_a", 0)
		o.clock.advance(time.Hour)
		o.dispatch(o.serve())
		if n, err := o.Claim(t.Context()); n != 0 || err != nil {
			t.Errorf("%d sent without the approvals of a rule that is an hour old: %v", n, err)
		}
		o.is(id, "pending recheck")
	})
}

// Someone has changed the kind of an approval in the store, or a later version has made it.
func TestAnApprovalOfAnUnknownKindKeepsNoOtherFromExpiring(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		bad, good := o.pay("usr_a", 1), o.pay("usr_a", 1)
		o.exec(`UPDATE approval SET kind = 'unheard_of' WHERE subject_id = $1`, bad)
		o.clock.advance(31 * 24 * time.Hour)
		func() {
			defer func() {
				if why := recover(); why != nil {
					t.Errorf("the node dies: %v", why)
				}
			}()
			_ = o.approvals.Expire(t.Context()) // the log has the error
		}()
		o.is(good, "cancelled")
	})
}

// A transaction of the ledger was changed in the store. Who cancels the payout does not leave its money reserved forever.
func TestTheMoneyOfAForgedReservationIsReleased(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		id := o.pay("usr_a", 0)
		o.unguard(store.Engine)
		o.exec(`UPDATE ledger_transaction SET description = 'x', mac = (SELECT mac FROM ledger_transaction t WHERE t.reference <> $1 LIMIT 1) WHERE reference = $1`, id)
		_, err := o.payouts.Cancel(t.Context(), o.caller("usr_a"), payout.CancelInput{ID: id, PayoutCancel: api.PayoutCancel{Reason: "a mistake"}})
		if reserved := o.now(0).Reserved; err == nil && reserved != 0 {
			t.Errorf("it is cancelled, and %d stay reserved", reserved)
		}
	})
}

// Two approvals are needed. Anyone who can write to the store and may approve adds the vote of a colleague, who never signed in.
func TestAVoteThatWasWrittenIntoTheStoreDoesNotCount(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		sent := o.watched()
		id := o.pay("usr_a", 2)
		o.exec(`INSERT INTO approval_vote (approval_id, account_id, at, verification, session_id, key_id) VALUES ($1, 'usr_c', 1, 'none', '', '')`, o.payout(id).ApprovalID)
		if err := o.approve("usr_b", id); err != nil {
			t.Logf("approve: %v", err)
		}
		o.turn()
		if len(*sent) > 0 {
			t.Errorf("one person has approved, and it was sent: %q", *sent)
		}
	})
}
