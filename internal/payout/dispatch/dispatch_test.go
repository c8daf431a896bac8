package dispatch_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"bursar/internal/db/dbtest"
	"bursar/internal/payout"
	"bursar/internal/wait"
)

// What the table of the sandbox promises, to the end.
func TestEveryNumberOfTheSandboxDoesWhatItSays(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		for _, c := range []struct {
			end, want string
			attempts  []string
			told      []string
		}{
			{"0001", "completed", []string{"1 completed"}, []string{"sent", "completed", "settled"}},
			{"9001", "failed INVALID_ACCOUNT AC01", []string{"1 rejected"}, []string{"sent", "failed"}},
			{"9002", "failed ACCOUNT_CLOSED AC04", []string{"1 rejected"}, []string{"sent", "failed"}},
			{"9003", "failed PROCESSING_FAILED AC06", []string{"1 rejected"}, []string{"sent", "failed"}},
			{"9004", "failed BANK_UNAVAILABLE AB08", []string{"1 rejected"}, []string{"sent", "failed"}},
			{"9005", "failed RAIL_UNAVAILABLE AB01", []string{"1 rejected"}, []string{"sent", "failed"}},
			{"9006", "failed PROCESSING_FAILED AM04", []string{"1 rejected"}, []string{"sent", "failed"}},
			{"9011", "processing", []string{"1 accepted"}, []string{"sent"}},
			{"9012", "completed", []string{"1 completed"}, []string{"sent", "outcome_unknown", "completed", "settled"}},
			{"9013", "completed", []string{"1 completed, submission 2"}, []string{"sent", "outcome_unknown", "not_received", "sent", "completed", "settled"}},
			{"9014", "reversed PROCESSING_FAILED MS03", []string{"1 completed"}, []string{"sent", "completed", "settled", "reversed"}},
		} {
			t.Run(c.end, func(t *testing.T) {
				b.t = t
				id := b.pay(number(c.end))[0]
				b.settle(10 * time.Second)
				b.is(id, c.want)
				equal(t, "attempts", b.attempts(id), c.attempts)
				equal(t, "the audit log", b.told(id), c.told)
				b.sound()
			})
		}
		b.t = t
		if n := b.FloatShort.Load(); n != 1 {
			t.Errorf("%d alarms about the float, want 1", n)
		}
	})
}

// The account is frozen, and its ledger does not hold the money of the payout: that is found at the claim.
func TestWhatTheClaimContradictsIsLoggedAndCounted(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("0001"))[0]
		b.exec(`UPDATE ledger_account SET reserved = 0, status = 'frozen' WHERE id = $1`, b.account.ID)
		if n, err := b.Claim(t.Context()); n != 0 || err != nil {
			t.Fatal(n, err)
		}
		b.isContradicted(id)
		if got := b.Contradicted.Load(); got != 1 || !strings.Contains(b.log.String(), id) {
			t.Errorf("counted %d times; the log has %s", got, b.log)
		}
	})
}

// The loops of two nodes run at once, and share the folder of a bank. Under the race detector, this finds what they share without a guard.
func TestTheLoopsOfTwoNodesSendEachPayoutOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l := openLive(t, store)
		nodes := []*live{l, l.at(l.folder)}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for _, n := range nodes {
			running.Go(func() { n.Run(ctx) })
		}
		defer running.Wait()
		defer stop()
		var ids []string
		for range 5 {
			ids = append(ids, l.pay(number("0001"), number("0001"))...)
			for _, n := range nodes {
				n.Wake()
				if skew := n.Skew(); n.Contradicted.Load() > 0 || skew > payout.MaxSkew { // what an operator sees meanwhile
					t.Error("a node contradicts a payout, or claims nothing")
				}
			}
			wait.Until(t, "the bank has all payouts", func() bool {
				return l.count(`SELECT count(*) FROM payout_attempt WHERE state = 'accepted'`) == int64(len(ids))
			})
			l.clock.advance(6 * time.Minute) // the folder is read again
		}
		stop()
		running.Wait()
		l.hasSent(ids...)
	})
}
