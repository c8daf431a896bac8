package dispatch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/payout"
	"bursar/internal/rail"
)

// submissions records what is submitted, as "end-to-end id, submission".
func (b *bank) submissions() *[]string {
	list := &[]string{}
	b.line.submit = func(ctx context.Context, r *rail.Rail, payments []rail.Payment) ([]rail.Outcome, error) {
		for _, p := range payments {
			*list = append(*list, fmt.Sprint(p.EndToEndID, ", ", p.Submission))
		}
		return b.sim.Submit(ctx, r, payments)
	}
	return list
}

// forgets lets the rail answer every look-up that it has not received the payment.
func (b *bank) forgets() {
	b.line.lookUp = func(_ context.Context, _ *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
		out := make([]rail.Outcome, len(list))
		for i, p := range list {
			out[i] = rail.Outcome{State: rail.NotReceived, Submission: p.Submission}
		}
		return out, nil
	}
}

// about is the answer of a rail about one submission of the first attempt.
func about(id string, state rail.State, code string, submission int) rail.Notice {
	n := decided(id, state, code)
	n.EntryID = fmt.Sprint(state, code, submission)
	n.Outcome.Submission = submission
	return n
}

func TestAPaymentThatWasNotReceivedIsSubmittedAgainUnderTheSameID(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		submitted := b.submissions()
		id := b.pay(number("9013"))[0]
		b.settle(time.Minute)
		b.is(id, "completed")
		name := payout.EndToEndID(id, 1)
		equal(t, "submitted", *submitted, []string{name + ", 1", name + ", 2"})
		b.sound()
	})
}

func TestAPaymentThatTheRailHadAndNoLongerFindsIsNotSentAgain(t *testing.T) {
	for name, acknowledge := range map[string]func(b *bank, id string){
		"accepted when it was sent": func(*bank, string) {},
		"acknowledged by a message": func(b *bank, id string) { b.hear("status", about(id, rail.Accepted, "ACSP", 1)) },
		"refused as a duplicate":    func(b *bank, id string) { b.hear("status", about(id, rail.Rejected, "AM05", 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				b := openBank(t, store)
				id := b.pay(number("9011"))[0]
				submitted := b.submissions()
				if name != "accepted when it was sent" {
					b.line.submit = func(context.Context, *rail.Rail, []rail.Payment) ([]rail.Outcome, error) {
						*submitted = append(*submitted, "without an answer")
						return nil, nil
					}
				}
				b.turn()
				acknowledge(b, id)
				b.forgets()
				b.settle(time.Hour)
				b.is(id, "processing contradicted")
				if len(*submitted) != 1 {
					t.Errorf("submitted %q", *submitted)
				}
				if n := b.Contradicted.Load(); n != 1 || strings.Count(b.log.String(), "conflicts with the record") != 1 {
					t.Errorf("the alarm was raised %d times; the log: %s", n, b.log)
				}
				b.sound()
			})
		})
	}
}

// A rejection decides if it is about the newest submission and no other was received.
func TestARejectionOfOneSubmissionDoesNotDecideAboutAnother(t *testing.T) {
	for name, c := range map[string]struct {
		answers []rail.Notice
		want    string
	}{
		"the newest":                          {[]rail.Notice{about("", rail.Rejected, "AC04", 2)}, "failed ACCOUNT_CLOSED AC04"},
		"the newest, accepted before":         {[]rail.Notice{about("", rail.Accepted, "ACSP", 2), about("", rail.Rejected, "AC04", 2)}, "failed ACCOUNT_CLOSED AC04"},
		"an older one":                        {[]rail.Notice{about("", rail.Rejected, "AC04", 1)}, "processing contradicted"},
		"the newest, an older one accepted":   {[]rail.Notice{about("", rail.Accepted, "ACSP", 1), about("", rail.Rejected, "AC04", 2)}, "processing contradicted"},
		"the newest, both accepted":           {[]rail.Notice{about("", rail.Accepted, "ACSP", 2), about("", rail.Accepted, "ACSP", 1), about("", rail.Rejected, "AC04", 2)}, "processing contradicted"},
		"the newest, after it is a duplicate": {[]rail.Notice{about("", rail.Rejected, "DUPL", 2), about("", rail.Rejected, "AC04", 2)}, "processing contradicted"},
		"an older one that was paid":          {[]rail.Notice{about("", rail.Completed, "", 1)}, "completed contradicted"},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				b := openBank(t, store)
				id := b.pay(number("9011"))[0]
				b.line.submit = func(context.Context, *rail.Rail, []rail.Payment) ([]rail.Outcome, error) { return nil, nil }
				b.turn()
				b.clock.advance(3 * time.Second)
				b.turn() // looked up, not found, and submitted again
				equal(t, "attempts", b.attempts(id), []string{"1 unknown, submission 2"})
				for _, n := range c.answers {
					n.EndToEndID = payout.EndToEndID(id, 1)
					b.hear("status", n)
				}
				b.is(id, c.want)
			})
		})
	}
}

// The answers of a node that was slow concern a submission that was followed by another.
func TestALateAnswerAboutAnOlderSubmissionLeavesTheNewestAlone(t *testing.T) {
	for _, state := range []rail.State{rail.Unknown, rail.NotReceived} {
		t.Run(string(state), func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				b := openBank(t, store)
				id := b.pay(number("9013"))[0]
				b.turn()
				b.clock.advance(3 * time.Second)
				b.line.submit = func(ctx context.Context, _ *rail.Rail, _ []rail.Payment) ([]rail.Outcome, error) {
					if err := b.Store(ctx, payout.EndToEndID(id, 1), rail.Outcome{State: state, Submission: 1}); err != nil {
						t.Error(err)
					}
					equal(t, "attempts", b.attempts(id), []string{"1 sending, submission 2"})
					return []rail.Outcome{{State: rail.Accepted, Submission: 2}}, nil
				}
				b.turn()
				equal(t, "attempts", b.attempts(id), []string{"1 accepted, submission 2"})
			})
		})
	}
}

// A store forgets, by a restore, that a payment was submitted again.
func TestARestoredStoreFindsAPaymentThatWasSubmittedAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("9013"))[0]
		b.turn()
		b.clock.advance(3 * time.Second)
		if _, err := b.Turn(t.Context()); err != nil { // it asks last, so that nothing is sent in this turn
			t.Fatal(err)
		}
		b.is(id, "pending")
		submitted := b.restore(nil)
		b.line.lookUp = func(_ context.Context, _ *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
			out := make([]rail.Outcome, len(list))
			for i, p := range list {
				if out[i].State = rail.NotReceived; p.EndToEndID == payout.EndToEndID(id, 1) {
					out[i] = rail.Outcome{State: rail.Accepted, Submission: 2}
				}
				if p.Attempt > 1 && p.Submission != 0 {
					t.Errorf("the look-up of %s would leave a tombstone", p.EndToEndID)
				}
			}
			return out, nil
		}
		b.turn()
		if err := b.resume(false); err != nil {
			t.Fatal(err)
		}
		b.turn()
		b.is(id, "processing")
		equal(t, "attempts", b.attempts(id), []string{"1 accepted, submission 2"})
		if *submitted != 0 {
			t.Errorf("%d were sent", *submitted)
		}
		b.sound()
	})
}

// A frozen account stops a payout that would have been submitted again.
func TestAFrozenAccountDoesNotSubmitAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("9013"))[0]
		b.turn()
		b.write(func(tx *db.Tx) error {
			return tx.Exec(`UPDATE ledger_account SET status = 'frozen' WHERE id = $1`, b.account.ID)
		})
		b.settle(time.Minute)
		b.is(id, "failed ACCOUNT_FROZEN")
		equal(t, "attempts", b.attempts(id), []string{"1 not_received"})
		if n := b.payout(id).Attempts; n != 1 {
			t.Errorf("the payout counts %d attempts", n)
		}
		b.sound()
	})
}

func TestADuplicateOfAPaymentThatWasNotReceivedIsNotSubmittedAgain(t *testing.T) {
	for name, cancelled := range map[string]bool{"pending": false, "cancelled": true} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				b := openBank(t, store)
				submitted := b.submissions()
				id := b.pay(number("9013"))[0]
				b.turn()
				b.clock.advance(3 * time.Second)
				if _, err := b.Turn(t.Context()); err != nil { // it asks last, so that nothing is sent in this turn
					t.Fatal(err)
				}
				b.is(id, "pending")
				want := "processing contradicted"
				if cancelled {
					want = "cancelled contradicted"
					b.write(func(tx *db.Tx) error {
						b.logs(audit.PayoutCancelled, id)
						_, err := cancelPending(tx, id)
						return err
					})
				}
				if err := b.Store(t.Context(), payout.EndToEndID(id, 1), rail.Outcome{State: rail.Rejected, Code: "AM05", Submission: 1}); err != nil {
					t.Fatal(err)
				}
				b.settle(time.Minute)
				b.is(id, want)
				equal(t, "submitted", *submitted, []string{payout.EndToEndID(id, 1) + ", 1"})
			})
		})
	}
}

// A rail that gets a payment again has all of its time.
func TestAPaymentThatIsSubmittedAgainLateIsNotOverdueAtOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("9011"))[0]
		b.line.submit = func(context.Context, *rail.Rail, []rail.Payment) ([]rail.Outcome, error) { return nil, nil }
		b.turn()
		b.clock.advance(3 * time.Second)
		if _, err := b.Turn(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.clock.advance(24 * time.Hour)
		b.line.submit = nil
		b.turn()
		b.is(id, "processing")
		equal(t, "attempts", b.attempts(id), []string{"1 accepted, submission 2"})
	})
}
