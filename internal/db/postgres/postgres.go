package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/puddle/v2"

	"bursar/internal/db/engine"
	"bursar/internal/work"
)

const (
	// maxAttempts bounds how often a transaction that conflicts with others is run.
	maxAttempts = 10
	// statementTimeout bounds how long one statement may take, in milliseconds.
	statementTimeout = "30000"
	// acquireTimeout bounds the wait for a connection to the primary: for a free one, and for a
	// primary to return or to be promoted.
	acquireTimeout = 10 * time.Second
	// retryPause is how long to wait before trying to reach the primary again.
	retryPause = 50 * time.Millisecond
	// readAttempts bounds how often a query is sent whose connections break. The query itself may be the
	// cause.
	readAttempts = 3
	// pingTimeout bounds how long a connection that was idle may take to show that it is alive.
	pingTimeout = time.Second
	// connectTimeout bounds how long one host may take to accept a connection, so that a host
	// that has left the network leaves time to try the others.
	connectTimeout = 2 * time.Second
)

// Engine is a pool of connections to a PostgreSQL server.
type Engine struct {
	pool     *pgxpool.Pool
	ready    atomic.Pointer[pgxpool.Pool] // the same pool, for connections that are made before pool is set
	resetAt  atomic.Int64                 // when the pool was emptied last, in Unix nanoseconds
	listener *listener
	groups   groupCommit
	replica  *replica // nil if there is none
}

// Open connects to the server. A process that uses the store as a server, or alone, holds a lock for
// that use until it ends.
func Open(ctx context.Context, url string, use engine.Use, epoch *engine.Epoch) (*Engine, error) {
	e := &Engine{groups: groupCommit{maxLeaders: max(2, runtime.GOMAXPROCS(0)), lockTimeout: groupLockTimeout}}
	config, err := e.configure(url)
	if err != nil {
		return nil, err
	}
	if err := wantPrimary(config.ConnConfig, url); err != nil {
		return nil, err
	}
	if e.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	if err := e.reach(ctx); err != nil {
		e.pool.Close()
		return nil, fmt.Errorf("reach PostgreSQL: %w", err)
	}
	e.ready.Store(e.pool)
	e.listener = listen(config.ConnConfig, use, epoch, e.reset)
	if use != engine.Shared {
		if err := e.listener.wait(ctx); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	return e, nil
}

// reach makes the first connection. It waits for a server that is slow to answer, and
// fails at once if there is no server or it refuses the connection.
func (e *Engine) reach(ctx context.Context) error {
	deadline := time.Now().Add(acquireTimeout)
	for {
		err := e.pool.Ping(ctx)
		if err == nil || ctx.Err() != nil || !pgconn.Timeout(err) || time.Now().After(deadline) {
			return err
		}
	}
}

// configure returns the configuration of the pool.
func (e *Engine) configure(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the database URL is malformed") // the error of pgx contains the URL with the password
	}
	if !strings.Contains(url, "pool_max_conns=") {
		config.MaxConns = int32(8 * max(1, runtime.GOMAXPROCS(0)))
	}
	config.ConnConfig.RuntimeParams["statement_timeout"] = statementTimeout
	config.ConnConfig.RuntimeParams["application_name"] = "bursar"
	// All queries read a few rows by an index, on solid-state disks. With the default,
	// PostgreSQL scans whole tables long before that is cheaper.
	config.ConnConfig.RuntimeParams["random_page_cost"] = "1.1"
	// Only Write begins transactions that may change something.
	config.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	config.ConnConfig.ConnectTimeout = connectTimeout
	config.ConnConfig.OnPgError = e.onError
	config.ConnConfig.OnNotice = onNotice
	config.ConnConfig.DialFunc = dialer().DialContext
	config.PingTimeout = pingTimeout
	return config, nil
}

// acquire waits until the deadline for a free connection, and for a primary if there is none.
func (e *Engine) acquire(ctx context.Context, deadline time.Time) (*pgxpool.Conn, error) {
	if err := ctx.Err(); err != nil { // the caller's time has passed elsewhere
		return nil, fmt.Errorf("reach PostgreSQL: %w", err)
	}
	waiting, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	var refused error
	for {
		pooled, err := e.pool.Acquire(waiting)
		switch {
		case err == nil:
			return pooled, nil
		case errors.Is(ctx.Err(), context.Canceled):
			return nil, fmt.Errorf("reach PostgreSQL: %w", err)
		case errors.Is(err, puddle.ErrClosedPool):
			return nil, engine.ErrClosed
		case waiting.Err() != nil:
			return nil, fmt.Errorf("reach PostgreSQL: %w: %w", engine.ErrAway, cmp.Or(refused, err))
		}
		refused = err // more specific than a timeout
		_ = work.Sleep(waiting, retryPause)
	}
}

// Read implements engine.Engine.
func (e *Engine) Read(ctx context.Context, fn func(engine.Conn) error) error {
	c := &conn{ctx: ctx, engine: e, deadline: time.Now().Add(acquireTimeout), reads: true}
	defer c.release() // also closes a connection whose transaction is still open
	if err := fn(c); err != nil {
		return err
	}
	if c.begun {
		c.queue("COMMIT", nil)
		if err := c.flush(); !c.lost(err) { // the rows were already read
			return err
		}
	}
	return nil
}

// Write implements engine.Engine.
func (e *Engine) Write(ctx context.Context, fn func(engine.Conn) error) error {
	deadline := time.Now().Add(acquireTimeout)
	for attempt := 1; ; attempt++ {
		err := e.transact(ctx, deadline, fn)
		pause := retryPause
		switch {
		case errors.Is(err, engine.ErrUnknown):
			return err
		case (errors.Is(err, errLost) || errors.Is(err, engine.ErrAway)) && time.Now().Before(deadline): // a group may give up earlier
		case isConflict(err) && attempt < maxAttempts:
			pause = rand.N(time.Duration(attempt) * 5 * time.Millisecond)
		case errors.Is(err, errLost):
			return fmt.Errorf("%w: %w", engine.ErrAway, err)
		default:
			return err
		}
		if work.Sleep(ctx, pause) != nil {
			return err
		}
	}
}

func (e *Engine) transact(ctx context.Context, deadline time.Time, fn func(engine.Conn) error) error {
	c := &conn{ctx: ctx, engine: e, deadline: deadline, begin: "BEGIN READ WRITE"}
	defer c.release()
	if err := engine.Recover(func() error { return fn(c) }); err != nil {
		if c.lost(err) {
			return fmt.Errorf("%w: %w", errLost, err)
		}
		c.rollBack()
		return err
	}
	if c.onlyInserts() {
		return e.commitInGroup(c)
	}
	return c.commit()
}

// schemaLock takes the lock that a node holds while it migrates. Each schema of the
// database has its own.
const schemaLock = `SELECT pg_advisory_xact_lock(hashtext('bursar ' || current_schema()))`

// Migrate implements engine.Engine.
func (e *Engine) Migrate(ctx context.Context, all []engine.Migration, now int64) error {
	return e.Write(ctx, func(c engine.Conn) error {
		// A migration of a large store may take longer than any other statement.
		if err := c.(*conn).Script(`SET LOCAL statement_timeout = 0`); err != nil {
			return fmt.Errorf("lift the statement timeout: %w", err)
		}
		if err := c.(*conn).Script(schemaLock); err != nil {
			return fmt.Errorf("lock the schema: %w", err)
		}
		return engine.ApplyMigrations(c.(*conn), all, now)
	})
}

// Shred implements engine.Engine. An update leaves the earlier version of a row in its table, where
// VACUUM removes it. Only the audit log has data that is erased. VACUUM does not delay sequencing:
// PostgreSQL does not count it among the running transactions.
func (e *Engine) Shred(ctx context.Context) error {
	pooled, err := e.acquire(ctx, time.Now().Add(acquireTimeout))
	if err != nil {
		return err
	}
	defer func() { release(ctx, pooled) }()
	// A large log takes longer than any other statement.
	for _, sql := range []string{`SET statement_timeout = 0`, `VACUUM audit_log`, `RESET statement_timeout`} {
		if _, err := pooled.Exec(ctx, sql); err != nil {
			_ = pooled.Conn().Close(ctx) // it may still have the changed timeout, and the pool drops a closed connection
			return fmt.Errorf("vacuum the audit log: %w", err)
		}
	}
	return nil
}

// Close implements engine.Engine.
func (e *Engine) Close() error {
	if e.replica != nil {
		e.replica.close()
	}
	e.listener.stop()
	e.groups.close()
	e.pool.Close()
	return nil
}
