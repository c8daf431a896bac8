package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"bursar/internal/db/engine"
)

const (
	// maxAttempts bounds how often a transaction runs that conflicts with others.
	maxAttempts = 10
	// statementTimeout bounds how long one statement may take, in milliseconds.
	statementTimeout = "30000"
	// acquireTimeout bounds the wait for a free connection.
	acquireTimeout = 10 * time.Second
)

// Engine is a pool of connections to a PostgreSQL server.
type Engine struct {
	pool     *pgxpool.Pool
	listener *listener
	groups   groupCommit
}

// Open connects to the server.
func Open(ctx context.Context, url string, epoch *engine.Epoch) (*Engine, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the database URL is malformed") // the error of pgx has the URL in it, with the password
	}
	if !strings.Contains(url, "pool_max_conns=") {
		config.MaxConns = int32(8 * max(1, runtime.GOMAXPROCS(0)))
	}
	config.ConnConfig.RuntimeParams["statement_timeout"] = statementTimeout
	config.ConnConfig.RuntimeParams["application_name"] = "bursar"
	// All queries want a few rows by an index, on disks that do not spin. With the
	// default, PostgreSQL reads whole tables long before that is cheaper.
	config.ConnConfig.RuntimeParams["random_page_cost"] = "1.1"
	// Only Write begins transactions that may change something.
	config.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	config.ConnConfig.ConnectTimeout = 5 * time.Second
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("reach PostgreSQL: %w", err)
	}
	return &Engine{
		pool:     pool,
		listener: listen(config.ConnConfig, epoch),
		groups:   groupCommit{maxLeaders: max(2, runtime.GOMAXPROCS(0)), lockTimeout: groupLockTimeout},
	}, nil
}

// acquire waits for a free connection until the deadline.
func (e *Engine) acquire(ctx context.Context, deadline time.Time) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	pooled, err := e.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("reach PostgreSQL: %w", err)
	}
	return pooled, nil
}

// Read implements engine.Engine.
func (e *Engine) Read(ctx context.Context, fn func(engine.Conn) error) error {
	pooled, err := e.acquire(ctx, time.Now().Add(acquireTimeout))
	if err != nil {
		return err
	}
	defer func() { release(ctx, pooled) }() // also closes a connection whose transaction is still open
	c := &conn{ctx: ctx, db: pooled.Conn()}
	if err := fn(c); err != nil {
		return err
	}
	if c.begin != "" {
		c.queue("COMMIT", nil)
		return c.flush()
	}
	return nil
}

// Write implements engine.Engine.
func (e *Engine) Write(ctx context.Context, fn func(engine.Conn) error) error {
	for attempt := 1; ; attempt++ {
		err := e.transact(ctx, fn)
		if err == nil || !isConflict(err) || attempt == maxAttempts {
			return err
		}
		select {
		case <-time.After(rand.N(time.Duration(attempt) * 5 * time.Millisecond)):
		case <-ctx.Done():
			return err
		}
	}
}

func (e *Engine) transact(ctx context.Context, fn func(engine.Conn) error) error {
	c := &conn{ctx: ctx, engine: e, begin: "BEGIN READ WRITE"}
	defer c.release()
	if err := engine.Recover(func() error { return fn(c) }); err != nil {
		c.rollBack()
		return err
	}
	if c.onlyInserts() {
		return e.commitInGroup(c)
	}
	return c.commit()
}

// schemaLock takes the lock under which a node migrates. Each schema of the
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

// Rewrite implements engine.Engine.
func (e *Engine) Rewrite(ctx context.Context, tables []string) error {
	pooled, err := e.acquire(ctx, time.Now().Add(acquireTimeout))
	if err != nil {
		return err
	}
	// The settings of the session are changed, so the connection does not go back.
	c := pooled.Hijack()
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	for _, statement := range []string{`SET statement_timeout = 0`, `SET default_transaction_read_only = off`} {
		if _, err := c.Exec(ctx, statement); err != nil {
			return fmt.Errorf("prepare to rewrite tables: %w", err)
		}
	}
	for _, table := range tables {
		if _, err := c.Exec(ctx, `VACUUM FULL `+pgx.Identifier{table}.Sanitize()); err != nil {
			return fmt.Errorf("rewrite table %s: %w", table, err)
		}
	}
	return nil
}

// Shred implements engine.Engine. An update leaves the earlier version of a row in its table,
// where VACUUM removes it. Only what is erased matters, and that is in the audit log. VACUUM holds up
// no sequencing: PostgreSQL does not count it among the transactions that run.
func (e *Engine) Shred(ctx context.Context) error {
	pooled, err := e.acquire(ctx, time.Now().Add(acquireTimeout))
	if err != nil {
		return err
	}
	defer func() { release(ctx, pooled) }()
	// A large log takes longer than any other statement.
	for _, sql := range []string{`SET statement_timeout = 0`, `VACUUM audit_log`, `RESET statement_timeout`} {
		if _, err := pooled.Exec(ctx, sql); err != nil {
			_ = pooled.Conn().Close(ctx) // it may have kept the timeout, and the pool drops a closed connection
			return fmt.Errorf("vacuum the audit log: %w", err)
		}
	}
	return nil
}

// Close implements engine.Engine.
func (e *Engine) Close() error {
	e.listener.stop()
	e.groups.close()
	e.pool.Close()
	return nil
}
