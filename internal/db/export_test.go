package db

// Waiting is how many writes wait for SQLite's writer.
func Waiting(d *DB) int { return len(d.engine.(*sqlite).writer.queue) }

// GroupsAtOnce is how many groups of writes may be under way on PostgreSQL.
func GroupsAtOnce(d *DB) int { return d.engine.(*postgres).groups.atOnce }

// WaitingTogether is how many writes wait to share a transaction on PostgreSQL.
func WaitingTogether(d *DB) int {
	g := &d.engine.(*postgres).groups
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

// Patient makes groups of writes on PostgreSQL wait for locks as long as others do.
func Patient(d *DB) { d.engine.(*postgres).groups.patience = `SET LOCAL lock_timeout = 0` }
