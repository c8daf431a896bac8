package engine

import "sync/atomic"

// Epoch is a number that changes whenever sessions, memberships or roles may have
// changed. A cache of access data compares it on every use.
type Epoch struct {
	n         atomic.Uint64
	uncertain atomic.Bool
}

// Bump makes all cached access data stale.
func (e *Epoch) Bump() { e.n.Add(1) }

// SetUncertain sets whether changes by other nodes may go unnoticed. While they may,
// every call of Current returns a new number, so that nothing is cached.
func (e *Epoch) SetUncertain(uncertain bool) { e.uncertain.Store(uncertain) }

// Current returns the number.
func (e *Epoch) Current() uint64 {
	if e.uncertain.Load() {
		return e.n.Add(1)
	}
	return e.n.Load()
}
