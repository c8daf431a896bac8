package wait

import (
	"testing"
	"time"
)

func TestTheLimitIsNeverShorterThanOnAnIdleMachine(t *testing.T) {
	if got := Limit(); got < idle || got > longest {
		t.Errorf("%s", got)
	}
}

func TestTheLimitOnlyGrows(t *testing.T) {
	before := measured.Swap(int64(longest))
	defer measured.Store(before)
	if got := measure(); got != longest {
		t.Errorf("%s", got)
	}
}

func TestUntilReturnsWhenTheConditionHolds(t *testing.T) {
	began := time.Now()
	Until(t, "some time has passed", func() bool { return time.Since(began) > 2*shortestPause })
}
