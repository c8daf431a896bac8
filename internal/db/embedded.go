package db

import "bursar/internal/db/sqlite"

// Embedded returns the engine of a store in a folder, and nil for one in PostgreSQL.
func (d *DB) Embedded() *sqlite.Engine {
	e := d.engine
	if traced, ok := e.(tracedEngine); ok {
		e = traced.Engine
	}
	embedded, _ := e.(*sqlite.Engine)
	return embedded
}
