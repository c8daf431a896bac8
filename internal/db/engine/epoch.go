package engine

import (
	"sync/atomic"
	"time"
)

// Epoch is a number that changes whenever sessions, memberships or roles may have
// changed. A cache of access data compares it on every use.
type Epoch struct {
	n     atomic.Uint64
	until atomic.Pointer[time.Time] // nil for always
}

// Bump makes all cached access data stale.
func (e *Epoch) Bump() { e.n.Add(1) }

// SetCertainUntil sets until when changes by other nodes cannot go unnoticed. After that,
// every call of Current returns a new number, so that nothing is cached. Without a call
// they never go unnoticed.
func (e *Epoch) SetCertainUntil(t time.Time) { e.until.Store(&t) }

// SetUncertain sets that changes by other nodes may go unnoticed.
func (e *Epoch) SetUncertain() { e.SetCertainUntil(time.Time{}) }

// Current returns the number.
func (e *Epoch) Current() uint64 {
	if until := e.until.Load(); until != nil && hasPassed(*until) {
		return e.n.Add(1)
	}
	return e.n.Load()
}

// hasPassed reports whether a time has passed by either clock. The monotonic clock stands
// still while the machine sleeps, and the wall clock may be set back.
func hasPassed(t time.Time) bool {
	now := time.Now()
	return !now.Before(t) || !now.Round(0).Before(t.Round(0))
}
