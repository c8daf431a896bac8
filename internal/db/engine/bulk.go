package engine

import "errors"

// Use is how a process uses a store.
type Use int

// The ways to use a store.
const (
	Beside Use = iota // beside others, as bursar admin does
	Server            // as a server
	Alone             // while no server does
)

// ErrInUse is what Open returns if others use the store in a way that does not go with one's own.
var ErrInUse = errors.New("the store is in use")

// Bulk is a transaction with the store as it is, which nobody else can change before it ends. It is
// for reading or writing all of it.
type Bulk interface {
	Conn
	// Script runs statements without parameters.
	Script(sql string) error
	// Copy inserts rows, as AppendRow writes them, until next returns io.EOF.
	Copy(table string, columns []string, next func() ([]byte, error)) error
	// SetIndexesAside drops indexes and what the engine checks with them, because all of it together
	// is made faster after the rows are there. The function that it returns makes them anew and
	// fails if a row refers to one that does not exist.
	SetIndexesAside() (restore func() error, err error)
}
