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
			t.Errorf("a store with the clock of its node is %s ahead, %v", skew, err)
		}
	})
}
