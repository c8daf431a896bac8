package graceful_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"bursar/internal/graceful"
)

func TestTheContextEndsAGracePeriodAfterItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, stop := context.WithCancel(t.Context())
		longer, cancel := graceful.Context(parent, time.Minute)
		defer cancel()
		time.Sleep(time.Hour)
		if longer.Err() != nil {
			t.Error("it ends although its parent has not")
		}
		stop()
		time.Sleep(time.Minute - time.Nanosecond)
		synctest.Wait()
		if longer.Err() != nil {
			t.Error("it ends before the grace period is over")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if longer.Err() == nil {
			t.Error("it does not end after the grace period")
		}
	})
}

func TestWorkIsRepeatedUntilItIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		end := graceful.Repeat(t.Context(), time.Minute, func(context.Context) { calls++ })
		time.Sleep(3*time.Minute + time.Second)
		end()
		time.Sleep(time.Hour)
		if calls != 3 {
			t.Errorf("it was called %d times", calls)
		}
	})
}
