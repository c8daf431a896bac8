package postgres

// MaxLeaders returns how many groups of writes may be in flight.
func (e *Engine) MaxLeaders() int { return e.groups.maxLeaders }

// Waiting returns how many writes wait for the next group.
func (e *Engine) Waiting() int {
	e.groups.mu.Lock()
	defer e.groups.mu.Unlock()
	return len(e.groups.waiting)
}

// DisableGroupLockTimeout makes groups wait for locks as long as other writes do.
func (e *Engine) DisableGroupLockTimeout() { e.groups.lockTimeout = `SET LOCAL lock_timeout = 0` }

// DisableGroups makes every write commit alone.
func (e *Engine) DisableGroups() { e.groups.maxLeaders = 1 << 30 }
