package db

// Waiting is how many writes wait for SQLite's writer.
func Waiting(d *DB) int { return len(d.engine.(*sqlite).writer.queue) }
