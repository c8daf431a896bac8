package dispatch_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/payout"
	"bursar/internal/rail"
)

// die runs a turn of a node that ends in the middle of it, as if it were killed there: whatever it
// would have stored after that is not.
func (b *bank) die() {
	b.t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _ = recover() }()
		_, _ = b.Turn(context.Background())
	}()
	<-ended
}

const lease = 8 * time.Second // after which another node asks about what a node was sending

func TestANodeThatDiesBeforeItSendsHasSentNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("0001"))[0]
		b.line.submit = func(context.Context, *rail.Rail, []rail.Payment) ([]rail.Outcome, error) { panic("killed") }
		b.die()
		b.is(id, "processing")
		equal(t, "attempts", b.attempts(id), []string{"1 sending"})
		b.sound()

		other := b.node()
		other.turn()
		equal(t, "attempts while the lease holds", other.attempts(id), []string{"1 sending"})
		other.clock.advance(lease)
		other.turn()
		other.is(id, "completed")
		equal(t, "attempts", other.attempts(id), []string{"1 completed, submission 2"})
		other.sound()
	})
}

func TestANodeThatDiesAfterItHasSentDoesNotSendAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		ids := b.pay(number("0001"), number("9001"), number("9011"))
		b.line.submit = func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
			if _, err := b.sim.Submit(ctx, r, list); err != nil {
				t.Error(err)
			}
			panic("killed")
		}
		b.die()
		b.node().settle(lease)
		b.is(ids[0], "completed")
		b.is(ids[1], "failed INVALID_ACCOUNT AC01")
		b.is(ids[2], "processing")
		for _, id := range ids {
			if n := len(b.attempts(id)); n != 1 {
				t.Errorf("%d attempts, want 1", n)
			}
		}
		b.sound()
	})
}

// A node that has lost the store and not the bank is taken for dead, and submits what it has claimed.
func TestANodeThatIsTakenForDeadSendsNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("0001"))[0]
		other := b.node()
		var states []rail.State
		b.line.submit = func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
			b.clock.advance(lease)
			other.turn() // which looks it up, and submits it again
			out, err := b.sim.Submit(ctx, r, list)
			for _, o := range out {
				states = append(states, o.State)
			}
			return out, err
		}
		b.turn()
		b.is(id, "completed")
		if !slices.Equal(states, []rail.State{rail.Completed}) {
			t.Errorf("the node that was taken for dead is answered %v, want the outcome of the later submission", states)
		}
		equal(t, "attempts", b.attempts(id), []string{"1 completed, submission 2"})
		b.sound()
	})
}

// A look-up that finds nothing is final, however long its answer takes.
func TestALookUpThatFindsNothingStopsASubmissionThatIsOnItsWay(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("0001"))[0]
		other := b.node()
		var late []rail.Outcome
		b.line.submit = func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
			b.clock.advance(lease)
			other.turn()
			return late, nil
		}
		other.line.lookUp = func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
			other.line.lookUp = nil
			missing, err := b.sim.LookUp(ctx, r, list)
			if err == nil {
				late, err = b.sim.Submit(ctx, r, list) // now it comes from the first node
			}
			return missing, err
		}
		b.turn()
		if len(late) != 1 || late[0].State != rail.Unknown {
			t.Errorf("the late submission is answered %v, want unknown", late)
		}
		b.is(id, "completed")
		equal(t, "attempts", b.attempts(id), []string{"1 completed, submission 2"})
		b.sound()
	})
}

// A node that was paused after its claim does not know whether others take it for dead.
func TestWhatWasClaimedTooLongAgoIsNotSubmitted(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		var b *bank
		paused := false
		store.Config.Trace = func(sql string, _ []any) {
			if strings.HasPrefix(sql, "INSERT INTO payout_attempt") && !paused {
				paused = true
				b.clock.advance(11 * time.Second)
			}
		}
		b = openBank(t, store)
		id := b.pay(number("0001"))[0]
		submitted := b.submissions()
		b.turn()
		b.is(id, "completed")
		equal(t, "submitted", *submitted, []string{payout.EndToEndID(id, 1) + ", 2"})
		b.sound()
	})
}

func TestAnAnswerThatIsLostIsAskedFor(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("0001"))[0]
		b.line.submit = func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
			out, err := b.sim.Submit(ctx, r, list)
			return out[:0], err
		}
		b.line.receive = func() []rail.Message { return nil } // otherwise the bank's statement tells it
		b.turn()
		b.is(id, "processing")
		b.settle(5 * time.Second)
		b.is(id, "completed")
		equal(t, "attempts", b.attempts(id), []string{"1 completed"})
		b.sound()
	})
}

func TestAnErrorOfTheRailIsNoFailureOfThePayout(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("0001"))[0]
		b.line.submit = func(context.Context, *rail.Rail, []rail.Payment) ([]rail.Outcome, error) {
			return nil, errors.New("the line is cut")
		}
		b.line.lookUp = b.line.submit
		before := b.balances(b.account)
		b.settle(14 * time.Minute)
		b.is(id, "processing")
		b.settle(6 * time.Minute)
		b.is(id, "processing outcome_unknown")
		if after := b.balances(b.account); after != before {
			t.Errorf("the account has %s, want %s", after, before)
		}
		equal(t, "the audit log", b.told(id), []string{"sent", "outcome_unknown", "needs_attention"})

		b.line.submit, b.line.lookUp = nil, nil
		b.settle(6 * time.Minute)
		b.is(id, "completed")
		equal(t, "attempts", b.attempts(id), []string{"1 completed, submission 2"})
		b.sound()
	})
}

// A rail that refuses a payment as a duplicate has it.
func TestADuplicateWasSentAlready(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("0001"))[0]
		b.line.submit = func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
			out, err := b.sim.Submit(ctx, r, list)
			out[0] = rail.Outcome{State: rail.Rejected, Code: "AM05", Text: "duplicate"}
			return out, err
		}
		b.line.receive = func() []rail.Message { return nil }
		b.turn()
		b.is(id, "processing")
		b.settle(5 * time.Second)
		b.is(id, "completed")
		b.sound()
	})
}

// The node is stopped while the rail has the payments, and stores what it answers.
func TestANodeThatIsStoppedKeepsWhatTheRailAnswers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("0001"))[0]
		ctx, stop := context.WithCancel(t.Context())
		b.line.submit = func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
			out, err := b.sim.Submit(ctx, r, list)
			stop()
			return out, err
		}
		_, _ = b.Turn(ctx)
		b.is(id, "completed")
		b.sound()
	})
}

func TestTwoNodesSendEachPayoutOnce(t *testing.T) {
	dbtest.TakesSeconds(t)
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		numbers := make([]string, 1200)
		for i := range numbers {
			numbers[i] = number([]string{"0001", "9001", "9012", "9013", "9014"}[i%5])
		}
		b.pay(numbers...)
		nodes := []*bank{b, b.node()}
		for range 8 {
			done := make(chan struct{})
			for _, n := range nodes {
				go func() {
					defer func() { done <- struct{}{} }()
					for range 6 {
						if _, err := n.Turn(t.Context()); err != nil {
							t.Error(err)
						}
					}
				}()
			}
			for range nodes {
				<-done
			}
			b.clock.advance(2 * time.Second)
		}
		b.settle(time.Minute)
		b.sound()
		equal(t, "states", b.lines(`SELECT status, CAST(count(*) AS TEXT) FROM payout GROUP BY status ORDER BY status`), []string{"completed 720", "failed 240", "reversed 240"})
		if n := b.count(`SELECT count(*) FROM simulated_payment`); n != 1200 {
			t.Errorf("the bank was sent %d payments, want 1200", n)
		}
	})
}

func TestAPayoutThatWasNotReceivedCanBeCancelled(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("9013"))[0]
		b.turn()
		b.clock.advance(3 * time.Second)
		b.line.submit = func(context.Context, *rail.Rail, []rail.Payment) ([]rail.Outcome, error) {
			t.Error("sent again although it was cancelled")
			return nil, nil
		}
		lookUp := b.sim.LookUp
		b.line.lookUp = func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
			b.write(func(tx *db.Tx) error { // while it is processing, no one can
				done, err := cancelPending(tx, id)
				if done {
					t.Error("cancelled while nobody knew what became of it")
				}
				return err
			})
			return lookUp(ctx, r, list)
		}
		if _, err := b.Turn(t.Context()); err != nil { // it asks last, so that nothing is sent in this turn
			t.Fatal(err)
		}
		b.is(id, "pending")
		b.write(func(tx *db.Tx) error {
			b.logs(audit.PayoutCancelled, id)
			_, err := cancelPending(tx, id)
			return err
		})
		b.settle(time.Minute)
		b.is(id, "cancelled")
		b.sound()
	})
}
