package dispatch_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"bursar/internal/db/dbtest"
	"bursar/internal/rail"
)

// fast is a node whose clock is ahead of the database's, or behind it.
func (b *bank) fast(skew time.Duration) *bank {
	b.t.Helper()
	second := b.node()
	second.SetSkew(skew)
	return second
}

func TestANodeWhoseClockIsFarOffClaimsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		skew time.Duration
		want string
		logs string
	}{
		"ahead":            {4001 * time.Millisecond, "pending", "claims no payouts"},
		"behind":           {-4001 * time.Millisecond, "pending", "claims no payouts"},
		"a little ahead":   {4 * time.Second, "completed", "synchronize it"},
		"as good as right": {time.Second, "completed", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				b := openBank(t, store).fast(c.skew)
				id := b.pay(number("0001"))[0]
				b.clock.advance(5 * time.Second) // a node that is ahead knows that the payout is not due yet
				b.turn()
				b.is(id, c.want)
				if held := b.rails.Held(); (held != "") != (c.want == "pending") {
					t.Errorf("its rails are held for %q", held)
				}
				if log := b.log.String(); !strings.Contains(log, c.logs) || c.logs == "" && log != "" {
					t.Errorf("the log is %s", log)
				}
			})
		})
	}
}

func TestANodeSendsAgainOnceItsClockIsRight(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store).fast(time.Minute)
		id := b.pay(number("0001"))[0]
		b.turn()
		b.is(id, "pending")
		b.SetSkew(0)
		b.turn()
		b.is(id, "completed")
	})
}

// Leases are compared by the clock of the database, not by that of a node.
func TestANodeWhoseClockIsAheadLeavesTheLeasesOfOthersAlone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("0001"))[0]
		b.line.submit = func(context.Context, *rail.Rail, []rail.Payment) ([]rail.Outcome, error) { panic("killed") }
		b.die()
		ahead := b.fast(4 * time.Second)
		ahead.clock.advance(lease + 4*time.Second - time.Millisecond) // its own clock; the database's lacks a millisecond
		ahead.turn()
		equal(t, "attempts while the lease holds", ahead.attempts(id), []string{"1 sending"})
		ahead.clock.advance(time.Millisecond)
		ahead.turn()
		ahead.is(id, "completed")
	})
}
