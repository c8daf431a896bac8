// Package engine is the interface between package db and the database engines.
package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// Engine is a database. Packages sqlite and postgres each have one.
type Engine interface {
	// Read runs fn with a connection that cannot change anything.
	Read(ctx context.Context, fn func(Conn) error) error
	// List is Read for results that are only displayed. A replica that has all commits before
	// the call may serve it. It may run fn several times.
	List(ctx context.Context, fn func(Conn) error) error
	// Write runs fn in a transaction and returns after its commit is on disk. It may run fn
	// several times, each time after a rollback. After ErrUnknown the transaction may be
	// committed; after any other error it is not.
	Write(ctx context.Context, fn func(Conn) error) error
	// Migrate applies the migrations that the database does not have yet.
	Migrate(ctx context.Context, all []Migration, now int64) error
	// Shred removes data from the files that is no longer in any row, where the engine supports it.
	Shred(ctx context.Context) error
	// Exclusive runs fn once, in one transaction, while no other transaction can change anything.
	Exclusive(ctx context.Context, fn func(Bulk) error) error
	// Close waits for the writes that have started.
	Close() error
}

// Conn runs statements for one Read or Write. Parameters are strings, numbers, truth values,
// nil for NULL, []byte for a BLOB of SQLite and a bytea of PostgreSQL, and [16]byte for ids. An
// id is a BLOB of SQLite or a uuid of PostgreSQL.
type Conn interface {
	Query(sql string, args []any) (Rows, error)
	// Exec may delay the statement until the next Query or the end of the transaction.
	Exec(sql string, args []any) error
	// Snapshot makes all later statements of a Read see the same state.
	Snapshot() error
}

// Rows steps through the result of a query. Values are read by column number.
// What Raw returns is valid until the next step.
type Rows interface {
	Next() bool
	Err() error
	Close()
	Text(i int) string
	Raw(i int) []byte
	Int(i int) int64
	Bool(i int) bool
	Null(i int) bool
}

var (
	// ErrAway is returned by a read or write if the database cannot be reached for too long. None
	// of it has happened.
	ErrAway = errors.New("the database cannot be reached")
	// ErrUnknown is returned by a write whose outcome is unknown, for example when the
	// connection broke after COMMIT was sent.
	ErrUnknown = errors.New("the outcome of the write is unknown")
)

// ErrClosed is returned by a write after the engine was closed.
var ErrClosed = errors.New("the store is closed")

// Recover runs fn and turns a panic into an error, for goroutines that serve many
// callers and must survive the panic of one.
func Recover(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return fn()
}
