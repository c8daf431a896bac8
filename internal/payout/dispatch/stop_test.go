package dispatch_test

import (
	"context"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/payout"
	"bursar/internal/rail"
	"bursar/internal/server/servertest"
)

// stopSending stops sending in the sandbox.
func (o *office) stopSending(who string) {
	o.t.Helper()
	if _, err := o.payouts.Stop(context.Background(), o.caller(who), payout.StopInput{ID: "ws_1", PayoutStopRequest: api.PayoutStopRequest{Reason: "wrong file"}}); err != nil {
		o.t.Fatal(err)
	}
}

// sendAgain resumes it, which takes one person in the sandbox.
func (o *office) sendAgain(who string) {
	o.t.Helper()
	in := payout.ResumeInput{ID: "ws_1", PayoutResumeRequest: api.PayoutResumeRequest{Mode: new(api.ModeSandbox)}}
	if _, err := o.payouts.Resume(context.Background(), o.caller(who), in); err != nil {
		o.t.Fatal(err)
	}
}

func TestNothingIsClaimedWhileSendingIsStopped(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		nodes := []*bank{o.bank, o.node()}
		sent := o.bank.pay(number("9011"))[0] // which the rail keeps
		o.turn()
		o.is(sent, "processing")
		o.stopSending("usr_a")
		ids := o.bank.pay(number("0001"), number("0002"))
		created := o.pay("usr_a", 0)
		approved := o.pay("usr_a", 1)
		if err := o.approve("usr_b", approved); err != nil {
			t.Errorf("approve while sending is stopped: %v", err)
		}
		waiting := append(ids, created, approved)
		for _, node := range nodes {
			node.settle(10 * time.Minute)
		}
		if n := nodes[1].Stops.Load(); n != 2 {
			t.Errorf("the operator sees %d stops", n)
		}
		for _, id := range waiting {
			o.is(id, "pending")
			if p, err := o.payouts.Get(t.Context(), o.caller("usr_a"), payout.GetInput{ID: id}); err != nil || !p.SendingStopped {
				t.Errorf("%s does not show that sending is stopped: %v", id, err)
			}
		}
		// What the rail has goes on.
		o.write(func(tx *db.Tx) error {
			_, err := o.sim.Settle(tx, payout.EndToEndID(sent, 1))
			return err
		})
		o.settle(10 * time.Minute)
		o.is(sent, "completed")
		o.sendAgain("usr_b")
		nodes[1].settle(time.Minute)
		for _, id := range waiting {
			o.is(id, "completed")
		}
	})
}

// Whatever claims are running while a stop is stored, none begins to claim after it.
func TestAStopHoldsAgainstClaimsThatRun(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		var numbers []string
		for range 40 {
			numbers = append(numbers, number("0001"))
		}
		nodes := []*bank{o.bank, o.node()}
		claimed := `SELECT count(*) FROM payout_attempt`
		for range 5 {
			for range 4 {
				o.bank.pay(numbers...)
			}
			servertest.SideBySide(3, func(i int) error {
				if i == 2 {
					o.stopSending("usr_a")
					return nil
				}
				_, err := nodes[i].Claim(context.Background())
				if err != nil {
					t.Error(err)
				}
				return err
			})
			before := o.count(claimed)
			o.bank.pay(numbers...)
			for _, node := range nodes {
				if n, err := node.Claim(context.Background()); n != 0 || err != nil {
					t.Errorf("%d payouts were claimed after the stop, %v", n, err)
				}
			}
			if after := o.count(claimed); after != before {
				t.Errorf("there are %d attempts after the stop, and were %d", after, before)
			}
			o.sendAgain("usr_a")
		}
	})
}

// A payout that was claimed just before stays unsent, and goes out once after sending has resumed.
func TestAPayoutThatIsClaimedWhenSendingStopsIsNotSent(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		id := o.bank.pay(number("0001"))[0]
		submitted := 0
		o.line.submit = func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
			submitted += len(list)
			return o.sim.Submit(ctx, r, list)
		}
		stopped, reading := false, false
		o.clock.read = func() {
			if reading || stopped {
				return
			}
			reading = true
			if o.payout(id).Status == payout.Processing {
				stopped = true
				o.stopSending("usr_a")
			}
			reading = false
		}
		o.turn()
		o.clock.read = nil
		if !stopped || submitted != 0 {
			t.Fatalf("stopped after the claim: %v, %d payments were submitted", stopped, submitted)
		}
		o.settle(10 * time.Minute)
		o.is(id, "pending")
		equal(t, "attempts", o.attempts(id), []string{"1 not_received"})
		o.sendAgain("usr_a")
		o.settle(time.Minute)
		o.is(id, "completed")
		if equal(t, "attempts", o.attempts(id), []string{"1 completed, submission 2"}); submitted != 1 {
			t.Errorf("%d payments were submitted", submitted)
		}
	})
}

func TestWhatWasDueIsSentInTheNextWindow(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		due := o.bank.payBy("pesonet", number("0001"), number("0002"))
		always := o.bank.pay(number("0003"))[0]
		o.write(func(tx *db.Tx) error {
			return tx.Exec(`UPDATE payout SET send_at = $2 WHERE id = $1`, due[1], tx.Now()+100*time.Hour.Milliseconds())
		})
		later := o.payout(due[1]).SendAt
		o.stopSending("usr_a")
		o.clock.advance(3 * time.Hour)
		now := o.clock.Now()
		send, arrive := o.rails.Named("pesonet", true).Next(now)
		if !send.After(now) {
			t.Fatalf("%s is within a window", now)
		}
		o.sendAgain("usr_a")
		if p := o.payout(due[0]); p.SendAt != send.UnixMilli() || p.ExpectedAt != arrive.UnixMilli() {
			t.Errorf("it is sent at %s and expected at %s, want %s and %s", time.UnixMilli(p.SendAt), time.UnixMilli(p.ExpectedAt), send, arrive)
		}
		if p := o.payout(due[1]); p.SendAt != later {
			t.Errorf("one that is not due yet was moved to %s", time.UnixMilli(p.SendAt))
		}
		o.turn()
		o.is(due[0], "pending")
		o.is(always, "completed")
		o.clock.advance(send.Sub(o.clock.Now()))
		o.turn()
		o.is(due[0], "completed")
		o.is(due[1], "pending")
	})
}
