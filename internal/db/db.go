// Package db is the only way to access the store. All access goes through Read and Write,
// which are the same on SQLite and PostgreSQL. Write commits a mutation together with its
// audit row and its idempotency record, or none of them.
package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"bursar/internal/db/engine"
	"bursar/internal/db/postgres"
	"bursar/internal/db/sqlite"
)

// SQLiteFile is the name of the database file in the data folder.
const SQLiteFile = sqlite.FileName

// Config is the location of the store and how it is used. If both are set, URL takes
// precedence over Dir.
type Config struct {
	Dir string // folder of the SQLite file
	URL string // postgres://…

	// ReadURL is a PostgreSQL standby that may serve lists. OnReplica is called with nil when it
	// starts to serve them, and with the reason when it does not or stops.
	ReadURL   string
	OnReplica func(error)

	// Server refuses a folder that another server has open, since SQLite serves one
	// node. Other processes, such as bursar admin, may use the folder beside a server.
	Server bool

	// Exclusive refuses a store that a server has open, and keeps servers away while it is open.
	Exclusive bool

	// AllowMarked also opens a store that is incomplete or was moved.
	AllowMarked bool

	// Schema is the last migration to apply; empty means all of them.
	Schema string

	// Migrations are the files of the schema; nil means those of the program. Tests add a version to
	// them.
	Migrations fs.FS

	// NoMigrate applies no migration, and refuses a store whose migrations are not exactly those that would
	// be applied.
	NoMigrate bool

	Clock func() time.Time // defaults to time.Now

	// Trace is called with every statement before Read and Write send it. Several
	// goroutines may call it at once, and it must not keep args.
	Trace func(sql string, args []any)
}

// DB is an open store.
type DB struct {
	engine    engine.Engine
	dialect   dialect
	clock     func() time.Time
	ownClock  bool // the clock is not that of the machine
	ids       *idSource
	epoch     *engine.Epoch
	answers   AnswerSecrets
	integrity atomic.Pointer[Integrity]
	labels    labelKeys
	writes    atomic.Uint64
	lists     *engine.Lists // nil if there is no replica
	claimed   sync.Map      // idempotency keys of requests that run on this node

	expiryRange atomic.Uint64 // the range of ids that DeleteExpiredIdempotencyKeys scanned last
}

// Open opens the store and brings its schema up to date, unless Config.NoMigrate is set.
func Open(ctx context.Context, c Config) (*DB, error) {
	d, err := open(ctx, c)
	if err == nil && !c.AllowMarked {
		err = d.refuseMarked(ctx)
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}
	return d, err
}

func (c Config) use() engine.Use {
	switch {
	case c.Exclusive:
		return engine.Exclusive
	case c.Server:
		return engine.Server
	}
	return engine.Shared
}

func open(ctx context.Context, c Config) (*DB, error) {
	ownClock := c.Clock != nil
	if !ownClock {
		c.Clock = time.Now
	}
	d := &DB{clock: c.Clock, ownClock: ownClock, ids: newIDSource(c.Clock), epoch: new(engine.Epoch)}
	d.expiryRange.Store(rand.Uint64N(1 << 32)) // processes that live less than a day cover all ranges together
	var err error
	switch {
	case c.URL != "":
		d.dialect = postgresDialect()
		d.engine, err = d.openPostgres(ctx, c)
	case c.ReadURL != "":
		return nil, errors.New("a replica needs PostgreSQL: SQLite has none")
	case c.Dir != "":
		if _, err := os.Stat(filepath.Join(c.Dir, SQLiteFile)); c.NoMigrate && errors.Is(err, fs.ErrNotExist) {
			return nil, ErrNoStore // before the engine creates one
		}
		d.dialect = sqliteDialect()
		d.engine, err = sqlite.Open(ctx, c.Dir, c.use(), d.epoch)
	default:
		return nil, errors.New("no store: neither a data folder nor a database URL is given")
	}
	if err != nil {
		return nil, err
	}
	if err := d.prepareSchema(ctx, c); err != nil {
		return nil, errors.Join(err, d.engine.Close())
	}
	if c.Trace != nil {
		d.engine = tracedEngine{d.engine, c.Trace}
	}
	return d, nil
}

// prepareSchema brings the schema up to date, or checks that it is.
func (d *DB) prepareSchema(ctx context.Context, c Config) error {
	all, err := c.migrations(d.dialect)
	if err != nil {
		return err
	}
	if c.NoMigrate {
		return d.checkSchema(ctx, all)
	}
	err = d.engine.Migrate(ctx, all, d.Now())
	if err != nil && !errors.Is(err, ErrEarlierBuild) {
		err = fmt.Errorf("bring the schema up to date: %w", err)
	}
	return err
}

func (d *DB) openPostgres(ctx context.Context, c Config) (engine.Engine, error) {
	e, err := postgres.Open(ctx, c.URL, c.use(), d.epoch)
	if err != nil || c.ReadURL == "" {
		return e, err
	}
	d.lists = new(engine.Lists)
	if err := e.UseReplica(ctx, c.ReadURL, d.lists, c.OnReplica); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Close waits for the writes that have started and closes the store.
func (d *DB) Close() error { return d.engine.Close() }

// Shred removes erased data from the files of the store, where the engine supports it.
// docs/operating.md describes how far that is.
func (d *DB) Shred(ctx context.Context) error { return d.engine.Shred(ctx) }

// Now returns the store's time in Unix milliseconds.
func (d *DB) Now() int64 { return d.clock().UnixMilli() }

// NewID makes an id: the prefix, an underscore and a value that sorts by the time
// of creation.
func (d *DB) NewID(prefix string) string {
	id, _ := d.ids.next(prefix)
	return id
}

// Read runs fn with a connection that cannot change anything. Each statement sees all
// commits before it began. If several statements must see the same state, call Snapshot first.
func (d *DB) Read(ctx context.Context, fn func(q Q) error) error {
	return d.engine.Read(ctx, func(c engine.Conn) error { return fn(Q{c}) })
}

// ReadList is Read for lists that are only displayed. A replica may serve it. The replica has
// everything that was committed before, on any node. No decision, least of all about access, may
// depend on what it reads. fn may run more than once.
func (d *DB) ReadList(ctx context.Context, fn func(q Q) error) error {
	return d.engine.List(ctx, func(c engine.Conn) error { return fn(Q{c}) })
}

// Lists reports which server serves lists. It is nil if there is no replica.
func (d *DB) Lists() *engine.Lists { return d.lists }

// Ping checks that the store answers.
func (d *DB) Ping(ctx context.Context) error {
	return d.Read(ctx, func(q Q) error {
		_, err := q.Row(`SELECT name FROM setting WHERE name = $1`, "ping").Scan(new(string))
		return err
	})
}

// Writes counts the writes that callers of this node requested. Background work uses it to
// detect that callers are waiting for the store.
func (d *DB) Writes() uint64 { return d.writes.Load() }

// Epoch returns a number that changes whenever sessions, memberships or roles may have
// changed, on this node or another. A cache of access data reads it before loading and
// compares it on every use.
func (d *DB) Epoch() uint64 { return d.epoch.Current() }
