// Package db is the only way to the store. Read and Write are its two doors,
// the same for SQLite and PostgreSQL; Write commits a mutation together with
// its audit row and its idempotency record, or none of them.
package db

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Config says where the store is. URL wins over Dir.
type Config struct {
	Dir string // folder of the SQLite file
	URL string // postgres://…

	Clock func() time.Time // time.Now where nil

	// Trace is told every statement that Read and Write send; nil costs nothing.
	// It may be called by several at once and must not keep args.
	Trace func(sql string, args []any)
}

// DB is an open store.
type DB struct {
	engine  engine
	clock   func() time.Time
	ids     *idSource
	epoch   *epoch
	claimed sync.Map // idempotency keys of requests that run on this node

	expiryRange atomic.Uint64 // the range of ids that DeleteExpiredIdempotencyKeys scanned last
}

// engine is what SQLite and PostgreSQL each do in their own way.
type engine interface {
	// read lends a connection that can only look.
	read(ctx context.Context, fn func(conn) error) error
	// write runs fn in a transaction and returns once its commit is on disk.
	// It may run fn again after undoing what it did.
	write(ctx context.Context, fn func(conn) error) error
	// detectReuseOnInsert says whether Write should leave it to the unique index
	// to find out that an idempotency key was used before. It pays where a lookup
	// costs a round trip, and not where a failed insert makes a group run again.
	detectReuseOnInsert() bool
	migrate(ctx context.Context, now int64) error
	// announce is a statement that makes other nodes forget what they know
	// about access; empty where they find out by themselves.
	announce() string
	// forShare is the clause that makes a SELECT lock its rows against changes;
	// empty where there is only one writer.
	forShare() string
	close() error
}

// conn runs statements. exec may wait until the next query or the end of the
// transaction before it is sent.
type conn interface {
	query(sql string, args []any) (Rows, error)
	exec(sql string, args []any) error
	snapshot() error
}

// Open opens the store and brings its schema up to date.
func Open(ctx context.Context, c Config) (*DB, error) {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	d := &DB{clock: c.Clock, ids: newIDSource(c.Clock), epoch: new(epoch)}
	d.expiryRange.Store(rand.Uint64N(1 << 32)) // so that processes that live less than a day cover all ranges together
	var err error
	switch {
	case c.URL != "":
		d.engine, err = openPostgres(ctx, c.URL, d.epoch)
	case c.Dir != "":
		d.engine, err = openSQLite(ctx, c.Dir, d.epoch, 2*max(2, runtime.GOMAXPROCS(0)))
	default:
		return nil, errors.New("no store: neither a data folder nor a database URL is given")
	}
	if err != nil {
		return nil, err
	}
	if err := d.engine.migrate(ctx, d.Now()); err != nil {
		return nil, errors.Join(fmt.Errorf("bring the schema up to date: %w", err), d.engine.close())
	}
	if c.Trace != nil {
		d.engine = traced{d.engine, c.Trace}
	}
	return d, nil
}

// Close waits for writes under way and closes the store.
func (d *DB) Close() error { return d.engine.close() }

// Now is the store's time in Unix milliseconds.
func (d *DB) Now() int64 { return d.clock().UnixMilli() }

// NewID makes an id: prefix, underscore and a value that sorts by creation.
func (d *DB) NewID(prefix string) string {
	id, _ := d.ids.next(prefix)
	return id
}

// Read runs fn on a connection that can only look. Statements see what is
// committed when each begins; call Snapshot first where several must agree.
func (d *DB) Read(ctx context.Context, fn func(q Q) error) error {
	return d.engine.read(ctx, func(c conn) error { return fn(Q{c}) })
}

// Ping says whether the store answers.
func (d *DB) Ping(ctx context.Context) error {
	return d.Read(ctx, func(q Q) error {
		_, err := q.Row(`SELECT name FROM setting WHERE name = $1`, "ping").Scan(new(string))
		return err
	})
}

// Epoch changes whenever what is remembered about sessions, memberships and
// roles may be out of date: read it before loading, compare it on every use.
func (d *DB) Epoch() uint64 { return d.epoch.current() }

// epoch counts changes of access. While blind nothing is remembered, since
// changes on other nodes would go unnoticed.
type epoch struct {
	n     atomic.Uint64
	blind atomic.Bool
}

func (e *epoch) bump() { e.n.Add(1) }

func (e *epoch) current() uint64 {
	if e.blind.Load() {
		return e.n.Add(1)
	}
	return e.n.Load()
}
