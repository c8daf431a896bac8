package dispatch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bursar/internal/db/dbtest"
	"bursar/internal/rail"
)

// A bank announces a debit, a return and a deposit, and books only the deposit, after which it
// announces that once more.
func TestWhatABankOnlyAnnouncesMovesNoMoney(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		sent, done := b.pay(number("9011"))[0], b.pay(number("9011"))[0]
		b.turn()
		b.hear("statuses", decided(done, rail.Completed, ""))
		before := b.balances(b.account)
		deposit := rail.Notice{Kind: rail.Deposited, AccountID: b.account.ID, Amount: 700, Outcome: rail.Outcome{Reference: "R1"}}
		announce := func(message string, notices ...rail.Notice) {
			t.Helper()
			b.tell(message, false, notices...)
		}
		pending := func(want int64) {
			t.Helper()
			if got := b.count(`SELECT pending FROM ledger_account WHERE id = $1`, b.account.ID); got != want {
				t.Errorf("%d are pending, want %d", got, want)
			}
		}
		announce("notification 1", settled(sent), returned(done), deposit, rail.Notice{Kind: rail.Unmatched, EntryID: "x", Amount: -5})
		b.is(sent, "processing")
		b.is(done, "completed")
		pending(700)
		announce("notification 2", deposit) // in another file, under another name
		pending(700)
		if got := b.balances(b.account); got != before {
			t.Errorf("the account has %s, want %s", got, before)
		}
		b.hear("statement 1", deposit)
		pending(0)
		announce("notification 3", deposit)
		pending(0)
		if n := b.count(`SELECT count(*) FROM ledger_deposit WHERE source = 'bank'`); n != 1 {
			t.Errorf("there are %d deposits", n)
		}
		if n := b.count(`SELECT count(*) FROM ledger_transaction WHERE kind IN ('suspend', 'settle', 'return')`); n != 0 {
			t.Errorf("%d transactions for what is not booked", n)
		}
	})
}

// A notice that can never be taken stands between two that can, in one message.
func TestANoticeThatCannotBeTakenKeepsNoOtherWaiting(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		first, second := b.pay(number("9011"))[0], b.pay(number("9011"))[0]
		b.turn()
		poison := rail.Notice{Kind: rail.Deposited, EntryID: "poison", AccountID: b.account.ID, Amount: 1 << 60, Outcome: rail.Outcome{Reference: "R1"}}
		notices := []rail.Notice{decided(first, rail.Completed, ""), poison, decided(second, rail.Completed, "")}
		for i := range notices {
			n := &notices[i]
			n.MessageID, n.Currency, n.Booked = "file", "PHP", true
			if n.EntryID == "" {
				n.EntryID = n.EndToEndID
			}
		}
		b.line.receive = func() []rail.Message { return []rail.Message{{ID: "file", Notices: notices}} }
		for try := range uint64(2) {
			_, err := b.Turn(t.Context())
			if text := fmt.Sprint(err); !strings.Contains(text, "message file of simulator") || !strings.Contains(text, "leave it where it is") || !strings.Contains(text, "entry poison") {
				t.Fatalf("it is told as %v", err)
			}
			b.is(first, "completed")
			b.is(second, "completed")
			if n := b.Untaken.Load(); n != try+1 {
				t.Errorf("%d tries were counted, want %d", n, try+1)
			}
		}
	})
}

// A bank that has a payment has to say in time what became of it.
func TestAPayoutThatIsNotDecidedInTimeNeedsAttention(t *testing.T) {
	for name, c := range map[string]struct {
		rail string
		time time.Duration // until it has to be decided
	}{
		"a rail that always sends": {"instapay", 15 * time.Minute},
		"a rail with cycles":       {"pesonet", 6*time.Hour + 59*time.Minute}, // until 23:59; it is sent at 17:00 in Manila
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				b := openBank(t, store)
				id := b.payBy(c.rail, number("9011"))[0]
				b.turn()
				b.clock.advance(c.time - time.Second)
				b.turn()
				b.is(id, "processing")
				b.clock.advance(time.Second)
				b.turn()
				b.is(id, "processing outcome_unknown")
				b.clock.advance(time.Hour)
				b.turn()
				equal(t, "the audit log", b.told(id), []string{"sent", "needs_attention"})
				b.hear("at last", decided(id, rail.Completed, ""))
				b.is(id, "completed")
			})
		})
	}
}

// The bank sends back more than was paid, less, and twice what was paid.
func TestAPayoutIsRefundedOnceAndWithWhatWasPaid(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		before := b.balances(b.account)
		id := b.pay(number("9011"))[0]
		b.turn()
		b.hear("statement 1", decided(id, rail.Completed, ""), settled(id))
		paid := b.balances(b.account)
		more, less := returned(id), returned(id)
		more.Amount++
		less.Amount--
		b.hear("statement 2", more)
		b.hear("statement 3", less)
		b.is(id, "completed contradicted")
		if got := b.balances(b.account); got != paid {
			t.Errorf("after other sums the account has %s, want %s", got, paid)
		}
		b.hear("statement 4", returned(id))
		b.hear("statement 5", returned(id))
		b.is(id, "reversed ACCOUNT_CLOSED AC04 contradicted")
		if got := b.balances(b.account); got != before {
			t.Errorf("the account has %s, want %s", got, before)
		}
		if n := b.count(`SELECT available FROM ledger_account WHERE kind = 'suspense'`); n != 2*amount {
			t.Errorf("%d in suspense, want %d", n, 2*amount)
		}
	})
}
