package dispatch_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/payout"
	"bursar/internal/payout/control"
	"bursar/internal/rail"
)

func TestAResolutionThatWouldBeWrongIsRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		o := openOffice(b)
		refused := func(what, id, as string, want api.Code) {
			t.Helper()
			before := b.payout(id)
			if _, err := o.resolve("usr_a", id, as); codeOf(err) != want {
				t.Errorf("%s: %v, want %s", what, err, want)
			}
			if after := b.payout(id); after.Status != before.Status || after.Attention != before.Attention {
				t.Errorf("%s: it is %s %s", what, after.Status, after.Attention)
			}
			b.booked()
		}
		plain := b.pay(number("9011"))[0]
		b.turn()
		refused("nothing is unclear", plain, "paid", api.CodePayoutState)
		b.hear("statement", decided(plain, rail.Completed, ""), settled(plain))
		b.answers(plain, rail.Outcome{State: rail.Rejected, Code: "AC04"})
		b.is(plain, "completed contradicted")
		refused("the statement shows it", plain, "not_paid", api.CodePayoutState)

		b.line.receive = nil
		failed := stuck["failed INVALID_ACCOUNT AC01 contradicted"](b)
		o.leave(amount - 1)
		refused("the account is short", failed, "paid", api.CodeInsufficientFunds)

		draft, err := o.create("usr_a", 1, o.terms("0001", 100))
		if err != nil || draft.Status != payout.Initiated {
			t.Fatal(draft.Status, err)
		}
		b.write(func(tx *db.Tx) error {
			return tx.Exec(`UPDATE payout SET attention = 'contradicted' WHERE id = $1`, draft.ID)
		})
		refused("it could be paid once more", draft.ID, "paid", api.CodePayoutState)
		o.resolved(draft.ID, "not_paid")
		b.is(draft.ID, "initiated")
		if err := o.approve("usr_b", draft.ID); err != nil {
			t.Error(err)
		}
	})
}

// What is resolved as paid counts for the limits of the day, though it may be above them.
func TestWhatIsResolvedAsPaidCountsForLimits(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		o := openOffice(b)
		id := stuck["failed INVALID_ACCOUNT AC01 contradicted"](b)
		rules := o.serve()
		if _, err := rules.SetLimit(t.Context(), o.caller("usr_a"), control.LimitInput{PayoutLimitSet: api.PayoutLimitSet{
			WorkspaceID: new("ws_1"), Per: api.LimitPerDay, AmountCents: new(int64(1))}}); err != nil {
			t.Fatal(err)
		}
		b.clock.advance(time.Second)
		used := func(want int64) {
			t.Helper()
			if got := b.count(`SELECT CAST(coalesce(sum(amount), 0) AS BIGINT) FROM payout_counted`); got != want {
				t.Errorf("%d are used, want %d", got, want)
			}
		}
		o.resolved(id, "paid")
		used(amount)
		b.answers(id, rail.Outcome{State: rail.Rejected, Code: "AC04"})
		o.resolved(id, "not_paid")
		used(0)
	})
}

// The account of a completed payout was closed: what was not paid waits in suspense, as a return would.
func TestAReopenedPayoutOfAClosedAccountGoesToSuspense(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		o := openOffice(b)
		id := stuck["completed contradicted"](b)
		o.leave(0)
		b.write(func(tx *db.Tx) error {
			return tx.Exec(`UPDATE ledger_account SET status = 'closed' WHERE id = $1`, b.account.ID)
		})
		o.resolved(id, "not_paid")
		if n := b.count(`SELECT available FROM ledger_account WHERE kind = 'suspense'`); n != amount {
			t.Errorf("%d in suspense", n)
		}
		b.booked()
	})
}

// Of two who resolve at once, or of one and the bank, one is first.
func TestAResolutionRacesWithAnotherAndWithTheBank(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		o := openOffice(b)
		second := o.second()
		ids := b.pay(slices.Repeat([]string{number("9011")}, 12)...)
		b.turn()
		b.clock.advance(15 * time.Minute)
		b.turn()
		for i, id := range ids {
			var both sync.WaitGroup
			errs := make([]error, 2)
			both.Go(func() { _, errs[0] = o.resolve("usr_a", id, api.ResolvePaid) })
			both.Go(func() {
				if i%2 == 0 {
					_, errs[1] = second.resolve("usr_b", id, api.ResolveNotPaid)
					return
				}
				debit := settled(id)
				debit.MessageID, debit.EntryID, debit.Currency, debit.Booked = "statement", id, "PHP", true
				errs[1] = b.Take(context.Background(), b.line, debit)
			})
			both.Wait()
			switch one, other := codeOf(errs[0]), codeOf(errs[1]); {
			case i%2 == 0 && (one == "" && other == api.CodePayoutState) != (one != api.CodePayoutState || other != ""):
				t.Errorf("resolved twice: %v, %v", errs[0], errs[1])
			case i%2 == 1:
				b.is(id, "completed")
				settled := b.count(`SELECT count(*) FROM ledger_transaction WHERE reference = $1 AND kind = 'settle'`, id)
				if other != "" || one != "" && one != api.CodePayoutState || settled != 1 {
					t.Errorf("beside the bank: %v, %v", errs[0], errs[1])
				}
			}
		}
		b.booked()
	})
}

// A node that was paused before it wrote the file may still write it.
func TestAPaymentThatMayStillBeSentIsNotResolvedAsNotPaid(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openLiveOffice(t, store)
		id := o.live.pay(number("0001"))[0]
		o.line.submit = func(context.Context, *rail.Rail, []rail.Payment) ([]rail.Outcome, error) {
			return nil, context.DeadlineExceeded
		}
		_, _ = o.Turn(t.Context())
		o.line.submit = nil
		debit := settled(id)
		debit.Amount-- // the bank has booked another amount under its id
		debit.MessageID, debit.EntryID, debit.Currency, debit.Booked = "statement", "debit", "PHP", true
		if err := o.Take(t.Context(), o.files, debit); err != nil {
			t.Fatal(err)
		}
		o.is(id, "processing contradicted")
		if _, err := o.resolve("usr_a", id, "not_paid"); codeOf(err) != api.CodePayoutState {
			t.Errorf("resolved while it may still be sent: %v", err)
		}
		o.clock.advance(time.Minute)
		if err := o.approveIt("usr_b", o.asked("usr_a", id, "not_paid")); err != nil {
			t.Error(err)
		}
		o.is(id, "failed PROCESSING_FAILED")
	})
}
