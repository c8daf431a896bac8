package engine

import (
	"sync/atomic"
	"time"
)

// Epoch is a number that changes whenever sessions, memberships or roles may have
// changed. A cache of access data compares it on every use.
type Epoch struct {
	n     atomic.Uint64
	until atomic.Int64 // nanoseconds since started; 0 for always
}

// started is the origin of the monotonic clock of this process. That clock goes on while
// the process is stopped.
var started = time.Now()

// Bump makes all cached access data stale.
func (e *Epoch) Bump() { e.n.Add(1) }

// SetCertainUntil sets until when changes by other nodes cannot go unnoticed. After that,
// every call of Current returns a new number, so that nothing is cached. Without a call
// they never go unnoticed.
func (e *Epoch) SetCertainUntil(t time.Time) { e.until.Store(max(1, int64(t.Sub(started)))) }

// SetUncertain sets that changes by other nodes may go unnoticed.
func (e *Epoch) SetUncertain() { e.until.Store(1) }

// Current returns the number.
func (e *Epoch) Current() uint64 {
	if until := e.until.Load(); until != 0 && int64(time.Since(started)) >= until {
		return e.n.Add(1)
	}
	return e.n.Load()
}
