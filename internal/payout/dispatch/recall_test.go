package dispatch_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/payout"
	"bursar/internal/rail"
)

// restore does what a restore from an archive does to payouts, and lets the bank remember attempts that the
// store does not know. It returns how many payments are submitted from then on.
func (b *bank) restore(remembered map[string]rail.State) (submitted *int) {
	b.t.Helper()
	b.write(func(tx *db.Tx) error {
		_, err := payout.StopRails(tx, "a test")
		return err
	})
	submitted = new(int)
	b.line.submit = func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
		*submitted += len(list)
		return b.sim.Submit(ctx, r, list)
	}
	b.line.lookUp = func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
		out, err := b.sim.LookUp(ctx, r, list)
		for i, p := range list {
			if state, found := remembered[p.EndToEndID]; found && err == nil {
				out[i] = rail.Outcome{State: state}
			}
		}
		return out, err
	}
	return submitted
}

func (b *bank) resume(force bool, checked ...string) error {
	_, err := payout.ResumeRails(context.Background(), b.db, db.Caller{}, checked, force)
	return err
}

func TestARestoredStoreAsksItsRailsBeforeItSends(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		ids := b.pay(number("0001"), number("0001"), number("0001"), number("0001"))
		submitted := b.restore(map[string]rail.State{
			payout.EndToEndID(ids[0], 1): rail.Completed, // sent after the moment of the archive
			payout.EndToEndID(ids[1], 2): rail.Accepted,  // as well, after an attempt that was rejected
			payout.EndToEndID(ids[2], 1): rail.Rejected,
		})
		if err := b.resume(false); !errors.Is(err, payout.ErrNotLookedUp) {
			t.Errorf("resumed before anything was looked up: %v", err)
		}
		b.turn()
		b.is(ids[0], "completed")
		b.is(ids[1], "processing")
		equal(t, "attempts", b.attempts(ids[1]), []string{"2 accepted"})
		b.is(ids[2], "failed PROCESSING_FAILED")
		b.is(ids[3], "pending")
		if *submitted != 0 {
			t.Errorf("%d payments were sent while the rails were stopped", *submitted)
		}

		if err := b.resume(false); err != nil {
			t.Fatal(err)
		}
		b.turn()
		b.is(ids[3], "completed")
		if *submitted != 1 {
			t.Errorf("%d payments were sent, want the one that no rail knew", *submitted)
		}
	})
}

func TestRailsStayStoppedUntilEveryPayoutIsAnsweredFor(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("0001"))[0]
		submitted := b.restore(nil)
		b.line.lookUp = func(context.Context, *rail.Rail, []rail.Payment) ([]rail.Outcome, error) {
			return nil, errors.New("the bank is closed")
		}
		b.turn()
		if err := b.resume(false); !errors.Is(err, payout.ErrNotLookedUp) {
			t.Errorf("resumed while the bank could not be asked: %v", err)
		}
		b.is(id, "pending")
		if err := b.resume(true); err != nil {
			t.Errorf("with force: %v", err)
		}
		b.turn()
		if b.is(id, "completed"); *submitted != 1 {
			t.Errorf("sent %d times", *submitted)
		}
	})
}

func TestRailsGoOnIfAnOperatorHasComparedEveryPayoutThatIsLeft(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		ids := b.pay(number("0001"), number("0001"))
		b.restore(nil)
		b.line.lookUp = func(context.Context, *rail.Rail, []rail.Payment) ([]rail.Outcome, error) {
			return nil, errors.New("the bank is closed")
		}
		if err := b.resume(false, ids[0]); !errors.Is(err, payout.ErrNotLookedUp) {
			t.Errorf("resumed with one payout left: %v", err)
		}
		if err := b.resume(false, ids[0], ids[1], ids[1]); !errors.Is(err, payout.ErrNotWaiting) {
			t.Errorf("resumed with a payout that does not wait: %v", err)
		}
		b.turn()
		b.is(ids[0], "pending")
		if err := b.resume(false, ids...); err != nil {
			t.Error(err)
		}
		b.turn()
		b.is(ids[0], "completed")
		b.is(ids[1], "completed")
	})
}

func TestAProcessingPayoutIsAnsweredForByItsAttempt(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("0001"))[0]
		b.line.submit = func(context.Context, *rail.Rail, []rail.Payment) ([]rail.Outcome, error) {
			return nil, errors.New("no answer")
		}
		if _, err := b.Turn(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, "attempts", b.attempts(id), []string{"1 unknown"})
		submitted := b.restore(map[string]rail.State{
			payout.EndToEndID(id, 1): rail.NotReceived, // and was followed by another
			payout.EndToEndID(id, 2): rail.Completed,
		})
		b.turn()
		b.is(id, "completed")
		equal(t, "attempts", b.attempts(id), []string{"1 not_received", "2 completed"})
		if err := b.resume(false); err != nil || *submitted != 0 {
			t.Errorf("%v, and %d were sent", err, *submitted)
		}
	})
}

func TestAPayoutThatWaitedForApprovalAndWasSentCannotBeSentAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		id := o.pay("usr_a", 1)
		o.is(id, "initiated")
		submitted := o.restore(map[string]rail.State{payout.EndToEndID(id, 1): rail.Completed})
		o.turn()
		o.is(id, "initiated contradicted")
		if err := o.resume(false); err != nil {
			t.Fatal(err)
		}
		if err := o.approve("usr_b", id); err == nil {
			t.Error("it was approved")
		}
		o.turn()
		if *submitted != 0 {
			t.Errorf("%d were sent", *submitted)
		}
	})
}

// Whatever people do while the rails are stopped, a payout that a bank has is not sent again.
func TestWhatPeopleChangeWhileRailsAreStoppedIsStillLookedUp(t *testing.T) {
	for name, change := range map[string]func(o *office, id string) error{
		"approved":   func(o *office, id string) error { return o.approve("usr_b", id) },
		"rejected":   func(o *office, id string) error { return o.reject("usr_b", id) },
		"left as is": func(*office, string) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				o := openOffice(openBank(t, store))
				id := o.pay("usr_a", 1)
				submitted := o.restore(map[string]rail.State{payout.EndToEndID(id, 1): rail.Completed})
				if err := change(o, id); err != nil {
					t.Fatal(err)
				}
				o.turn()
				if err := o.resume(false); err != nil {
					t.Fatal(err)
				}
				o.turn()
				if *submitted != 0 {
					t.Errorf("%d were sent", *submitted)
				}
				want := map[string]string{"approved": "completed", "rejected": "cancelled contradicted", "left as is": "initiated contradicted"}[name]
				o.is(id, want)
			})
		})
	}
}

// After the moment of the archive the bank reported the rejected payment as paid, people found otherwise, and it was sent again as the
// same attempt.
func TestARejectedPayoutThatWasSubmittedAgainAfterTheArchiveIsNotRetriedAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openLiveOffice(t, store)
		id := o.pay(o.account, "salary-1", amount)
		o.turn()
		o.hear("statuses", decided(id, rail.Rejected, "AB01"))
		restore := o.archive(t)
		o.hear("late", decided(id, rail.Completed, ""))
		o.is(id, "failed RAIL_UNAVAILABLE AB01 contradicted")
		if err := o.approveIt("usr_b", o.asked("usr_a", id, "not_paid")); err != nil {
			t.Fatal(err)
		}
		if err := o.retry("usr_a", id); err != nil {
			t.Fatal(err)
		}
		o.turn()
		equal(t, "attempts", o.attempts(id), []string{"1 accepted, submission 2"})

		r := restore()
		r.turn()
		r.is(id, "failed RAIL_UNAVAILABLE AB01 contradicted")
		if err := r.resume(false); err != nil {
			t.Fatal(err)
		}
		if err := r.retry("usr_a", id); err == nil {
			t.Error("it was retried")
		}
		r.turn()
		if sent := r.messages(payout.EndToEndID(id, 2)); len(sent) > 0 {
			t.Errorf("it was sent once more, in %q", sent)
		}
	})
}

// The same, and the payout was retried before the moment of the archive and waited.
func TestARetriedPayoutWhoseRejectedAttemptWasSubmittedAgainWaitsForPeople(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("9001"))[0]
		b.turn()
		b.write(func(tx *db.Tx) error {
			b.logs(audit.PayoutRetried, id)
			_, err := retryFailed(tx, b.vault, id)
			return err
		})
		submitted := b.restore(nil)
		b.line.lookUp = func(_ context.Context, _ *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
			out := make([]rail.Outcome, len(list))
			for i, p := range list {
				if out[i].State = rail.NotReceived; p.EndToEndID == payout.EndToEndID(id, 1) {
					if p.NotPaid != 1 || p.Submission != 0 {
						t.Errorf("asked about %+v", p)
					}
					out[i] = rail.Outcome{State: rail.Accepted, Submission: 2}
				}
			}
			return out, nil
		}
		b.turn()
		b.is(id, "pending contradicted")
		if err := b.resume(false); err != nil {
			t.Fatal(err)
		}
		b.turn()
		if *submitted != 0 {
			t.Errorf("%d were sent", *submitted)
		}
	})
}

// A folder answers "accepted" for whatever was sent by it, what the bank rejected included.
func TestARejectedPayoutIsRetriedAfterARestore(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openLiveOffice(t, store)
		id := o.pay(o.account, "salary-1", amount)
		o.turn()
		o.hear("statuses", decided(id, rail.Rejected, "AB01"))
		r := o.archive(t)()
		r.turn()
		r.is(id, "failed RAIL_UNAVAILABLE AB01")
		if err := r.resume(false); err != nil {
			t.Fatal(err)
		}
		if err := r.retry("usr_a", id); err != nil {
			t.Fatal(err)
		}
		r.turn()
		equal(t, "attempts", r.attempts(id), []string{"1 rejected", "2 accepted"})
	})
}

func TestAFailedPayoutThatWasRetriedAfterTheArchiveIsNotRetriedAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("9001"))[0]
		b.turn()
		submitted := b.restore(map[string]rail.State{payout.EndToEndID(id, 2): rail.Completed})
		b.turn()
		if err := b.resume(false); err != nil {
			t.Fatal(err)
		}
		b.write(func(tx *db.Tx) error {
			b.logs(audit.PayoutRetried, id)
			_, _ = retryFailed(tx, b.vault, id) // whether it is refused now or not sent later
			return nil
		})
		b.turn()
		if *submitted != 0 {
			t.Errorf("%d were sent", *submitted)
		}
	})
}

// What waits since an earlier restore is asked for as well, whatever it has become since.
func TestAPayoutThatIsCancelledBetweenTwoRestoresIsAskedFor(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		id := o.pay("usr_a", 0)
		sent := map[string]rail.State{payout.EndToEndID(id, 1): rail.Completed}
		o.restore(sent)
		if _, err := o.payouts.Cancel(t.Context(), o.caller("usr_a"), payout.CancelInput{ID: id}); err != nil {
			t.Fatal(err)
		}
		o.restore(sent)
		o.settle(time.Minute)
		o.is(id, "cancelled contradicted")
	})
}
