// Package wait determines how long a test waits for another goroutine, process or browser. It waits longer on a machine
// that is slow or busy with other work. So a test fails because something does not happen, and not because it happens
// late.
package wait

import (
	"crypto/sha256"
	"sync/atomic"
	"testing"
	"time"
)

const (
	idle    = 2 * time.Minute  // on a machine that completes the reference work in time
	longest = 10 * time.Minute // less than a package may take, which is 40
)

// A condition is checked often at first, and less often the longer it takes: a check may cost a server as much as what it
// waits for.
const (
	shortestPause = 5 * time.Millisecond
	longestPause  = 100 * time.Millisecond
)

// known is how long the reference work takes on an idle core of 2020: 16 MiB of SHA-256, which the race detector
// does not slow down.
const known = 40 * time.Millisecond

// measured is the longest limit so far. It never decreases.
var measured atomic.Int64

// Limit returns how long a test waits. The first call measures the machine.
func Limit() time.Duration {
	if l := measured.Load(); l > 0 {
		return time.Duration(l)
	}
	return measure()
}

// measure does the reference work, and extends the limit if it took longer than it should.
func measure() time.Duration {
	began := time.Now()
	text := make([]byte, 1<<20)
	for range 16 {
		sum := sha256.Sum256(text)
		text[0] = sum[0]
	}
	slower := float64(time.Since(began)) / float64(known)
	limit := min(longest, time.Duration(float64(idle)*max(1, slower)))
	for {
		before := measured.Load()
		if before >= int64(limit) {
			return time.Duration(before)
		}
		if measured.CompareAndSwap(before, int64(limit)) {
			return limit
		}
	}
}

// Until waits for a condition, and fails the test if it does not hold within the limit.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	UntilWithin(t, 1, what, holds)
}

// UntilWithin is Until with a multiple of the limit, for conditions that need many times
// the work.
func UntilWithin(t testing.TB, times int, what string, holds func() bool) {
	t.Helper()
	began := time.Now()
	limit := Limit()
	for pause := shortestPause; !holds(); pause = min(longestPause, pause+pause/4) {
		if waited := time.Since(began); waited > several(times, limit) {
			// The machine may have become busy since it was measured.
			if limit = measure(); waited > several(times, limit) {
				t.Fatalf("not true after %s: %s", waited.Round(time.Second), what)
			}
		}
		time.Sleep(pause)
	}
}

// several returns a multiple of the limit that ends before go test does.
func several(times int, limit time.Duration) time.Duration {
	return min(time.Duration(times)*limit, 3*longest)
}
