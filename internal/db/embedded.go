package db

import "bursar/internal/db/sqlite"

// Embedded returns the SQLite engine of the store, or nil if the store is in PostgreSQL.
func (d *DB) Embedded() *sqlite.Engine {
	e := d.engine
	if traced, ok := e.(tracedEngine); ok {
		e = traced.Engine
	}
	embedded, _ := e.(*sqlite.Engine)
	return embedded
}
