package torture_test

import (
	"testing"
	"time"

	"bursar/internal/torture"
)

func TestTheTimeForRoundsEnds(t *testing.T) {
	rounds := 0
	for more := torture.Within(20*time.Millisecond, 20*time.Millisecond); more(); {
		rounds++
	}
	if rounds == 0 {
		t.Error("there is no time for a round")
	}
}
