package dispatch_test

import (
	"slices"
	"testing"
	"time"

	"bursar/internal/db/dbtest"
	"bursar/internal/payout"
	"bursar/internal/rail"
)

// of renames a notice to another attempt of its payout.
func of(n rail.Notice, id string, attempt int64) rail.Notice {
	n.EndToEndID = payout.EndToEndID(id, attempt)
	return n
}

// The store has the payout as processing. After the moment of the archive the bank rejected it, and a retry sent attempt 2.
func TestAProcessingPayoutThatWasRetriedAfterTheArchiveGoesOnWithItsLastAttempt(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openLiveOffice(t, store)
		id := o.pay(o.account, "salary-1", amount)
		o.turn()
		o.is(id, "processing")
		restore := o.archive(t)
		o.hear("statuses", decided(id, rail.Rejected, "AB01"))
		if err := o.retry("usr_a", id); err != nil {
			t.Fatal(err)
		}
		o.turn()
		equal(t, "attempts before the restore", o.attempts(id), []string{"1 rejected", "2 accepted"})

		r := restore()
		r.turn()
		if err := r.resume(false); err != nil {
			t.Fatal(err)
		}
		r.turn()
		r.clock.advance(time.Hour)
		r.turn()
		r.is(id, "processing outcome_unknown")
		if err := r.approveIt("usr_b", r.asked("usr_a", id, "not_paid")); err != nil {
			t.Fatal(err)
		}
		if err := r.retry("usr_a", id); err != nil {
			t.Fatal(err)
		}
		r.turn()
		if first, second := r.messages(payout.EndToEndID(id, 1)), r.messages(payout.EndToEndID(id, 2)); len(first) != 1 || len(second) != 2 {
			t.Errorf("the bank has %d messages of attempt 1, which it rejected, and %d of attempt 2", len(first), len(second))
		}
		r.hear("statement", settled(id), of(settled(id), id, 2))
		if p := r.payout(id); p.Attention != payout.Contradicted {
			t.Errorf("both attempts are debited, and the payout is %s %q", p.Status, p.Attention)
		}
	})
}

// The store has the payout as failed. What people find out is about the attempt that a retry sent after the moment of the archive.
func TestAFailedPayoutThatWasRetriedAfterTheArchiveIsResolvedByItsLastAttempt(t *testing.T) {
	for _, as := range []string{"not_paid", "paid"} {
		t.Run(as, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				o := openLiveOffice(t, store)
				id := o.pay(o.account, "salary-1", amount)
				o.turn()
				o.hear("statuses", decided(id, rail.Rejected, "AB01"))
				restore := o.archive(t)
				if err := o.retry("usr_a", id); err != nil {
					t.Fatal(err)
				}
				o.turn()
				equal(t, "attempts before the restore", o.attempts(id), []string{"1 rejected", "2 accepted"})

				r := restore()
				r.turn()
				if p := r.payout(id); p.Status != payout.Failed || p.Attention != payout.Contradicted {
					t.Fatalf("it is %s %q", p.Status, p.Attention)
				}
				if err := r.resume(false); err != nil {
					t.Fatal(err)
				}
				if err := r.approveIt("usr_b", r.asked("usr_a", id, as)); err != nil {
					t.Fatal(err)
				}
				if as == "paid" {
					r.is(id, "completed")
					r.hear("statement", of(settled(id), id, 2))
					r.booksAre(o.account, "99987655 0", 0)
					if !slices.Contains(r.told(id), "settled") {
						t.Errorf("the audit log has %q", r.told(id))
					}
					return
				}
				if err := r.retry("usr_a", id); err != nil {
					t.Fatal(err)
				}
				r.turn()
				if first, second := r.messages(payout.EndToEndID(id, 1)), r.messages(payout.EndToEndID(id, 2)); len(first) != 1 || len(second) != 2 {
					t.Errorf("the bank has %d messages of attempt 1, which it rejected, and %d of attempt 2", len(first), len(second))
				}
			})
		})
	}
}
