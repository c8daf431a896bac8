package engine

import "errors"

// Use is how a process uses a store.
type Use int

// The ways to use a store.
const (
	Shared    Use = iota // alongside other processes, as bursar admin does
	Server               // as a server
	Exclusive            // while no server uses it
)

// ErrInUse is returned by Open if other processes use the store in an incompatible way.
var ErrInUse = errors.New("the store is in use")

// Bulk is a transaction with exclusive access to the store. It is for reading or writing all of it.
type Bulk interface {
	Conn
	// Script runs statements without parameters.
	Script(sql string) error
	// Copy inserts rows in the format of AppendRow until next returns io.EOF.
	Copy(table string, columns []string, next func() ([]byte, error)) error
	// SetIndexesAside drops indexes and the constraints that the engine checks with them. Creating
	// them after the rows are loaded is faster. The returned function creates them again and fails
	// if a row refers to a row that does not exist.
	SetIndexesAside() (restore func() error, err error)
}
