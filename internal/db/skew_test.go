package db_test

import (
	"testing"
	"time"

	"bursar/internal/db/dbtest"
)

func TestTheSkewOfANodeIsThatOfItsClock(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		if skew, err := store.Open(t).Skew(t.Context()); err != nil || skew.Abs() > time.Minute {
			t.Errorf("on one machine the clocks are %s apart, %v", skew, err)
		}
		ahead := store.OpenAt(t, func() time.Time { return time.Now().Add(time.Hour) })
		if skew, err := ahead.Skew(t.Context()); err != nil || skew != 0 {
			t.Errorf("a store with a clock of its own is %s ahead, %v", skew, err)
		}
		for _, off := range []time.Duration{time.Hour, -time.Hour} {
			want := off
			if store.Engine == "sqlite" {
				want = 0 // no other clock is there to compare with
			}
			node := store.Open(t)
			node.SetClock(func() time.Time { return time.Now().Add(off) })
			if skew, err := node.Skew(t.Context()); err != nil || (skew-want).Abs() > time.Minute {
				t.Errorf("a node that is %s ahead is %s ahead, want %s, %v", off, skew, want, err)
			}
		}
	})
}
