package db

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
)

const (
	// maxAttempts bounds how often a transaction that lost to another is tried.
	maxAttempts = 10
	// statementTimeout bounds what one statement may take, in milliseconds.
	statementTimeout = "30000"
	// acquireTimeout bounds the wait for a free connection.
	acquireTimeout = 10 * time.Second
)

type postgres struct {
	pool     *pgxpool.Pool
	listener *listener
	groups   pgGroups
}

func openPostgres(ctx context.Context, url string, e *epoch) (*postgres, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the database URL is malformed") // pgx would repeat it, password and all
	}
	if !strings.Contains(url, "pool_max_conns=") {
		config.MaxConns = int32(8 * max(1, runtime.GOMAXPROCS(0)))
	}
	config.ConnConfig.RuntimeParams["statement_timeout"] = statementTimeout
	config.ConnConfig.RuntimeParams["application_name"] = "bursar"
	// What is asked for is a few rows by an index, on disks that do not turn: without
	// it a table is read whole long before that is cheaper.
	config.ConnConfig.RuntimeParams["random_page_cost"] = "1.1"
	// Only Write can change anything: it asks for it.
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
	return &postgres{
		pool:     pool,
		listener: listen(config.ConnConfig, e),
		groups:   pgGroups{atOnce: max(2, runtime.GOMAXPROCS(0)), patience: groupPatience},
	}, nil
}

// acquire waits for a connection, but not for as long as a client might.
func (p *postgres) acquire(ctx context.Context, deadline time.Time) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	lent, err := p.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("reach PostgreSQL: %w", err)
	}
	return lent, nil
}

func (p *postgres) read(ctx context.Context, fn func(conn) error) error {
	lent, err := p.acquire(ctx, time.Now().Add(acquireTimeout))
	if err != nil {
		return err
	}
	defer lent.Release() // which rolls back what is still open by closing the connection
	c := &pgConn{ctx: ctx, db: lent.Conn()}
	if err := fn(c); err != nil {
		return err
	}
	if c.begin != "" {
		c.queue("COMMIT", nil)
		return c.flush()
	}
	return nil
}

func (p *postgres) write(ctx context.Context, fn func(conn) error) error {
	for attempt := 1; ; attempt++ {
		err := p.transact(ctx, fn)
		if err == nil || !worthRetrying(err) || attempt == maxAttempts {
			return err
		}
		select {
		case <-time.After(rand.N(time.Duration(attempt) * 5 * time.Millisecond)):
		case <-ctx.Done():
			return err
		}
	}
}

func (p *postgres) transact(ctx context.Context, fn func(conn) error) error {
	c := &pgConn{ctx: ctx, from: p, begin: "BEGIN READ WRITE"}
	defer c.release()
	if err := recovered(fn, c); err != nil {
		c.abandon()
		return err
	}
	if c.onlyInserts() {
		return p.together(c)
	}
	return c.commit()
}

func (p *postgres) detectReuseOnInsert() bool { return true }

func (p *postgres) announce() string { return "NOTIFY " + accessChannel }

// schemaLock is the advisory lock under which the schema changes, one for each
// schema of the database.
const schemaLock = `SELECT pg_advisory_xact_lock(hashtext('bursar ' || current_schema()))`

func (p *postgres) migrate(ctx context.Context, now int64) error {
	all, err := migrations("postgres", postgresSchema)
	if err != nil {
		return err
	}
	return p.write(ctx, func(c conn) error {
		// Changing the schema of a large store takes as long as it takes.
		if err := c.(*pgConn).script(`SET LOCAL statement_timeout = 0`); err != nil {
			return fmt.Errorf("lift the time limit: %w", err)
		}
		if err := c.(*pgConn).script(schemaLock); err != nil {
			return fmt.Errorf("lock the schema: %w", err)
		}
		return applyPending(c.(*pgConn), all, now)
	})
}

func (p *postgres) close() error {
	p.listener.stop()
	p.groups.close()
	p.pool.Close()
	return nil
}

// pgConn sends statements whose answer nobody waits for together with the next
// one that matters: most mutations take one round trip, BEGIN and COMMIT included.
type pgConn struct {
	ctx    context.Context
	from   *postgres // where to borrow a connection from once one is needed
	lent   *pgxpool.Conn
	db     *pgx.Conn
	begin  string // what begins the transaction, where there is to be one
	sent   bool   // the server knows about it
	queued []pgStatement

	refused int // which of the statements sent last, -1 where none was or it is not known
}

type pgStatement struct {
	sql  string
	args []any
}

func (c *pgConn) queue(sql string, args []any) { c.queued = append(c.queued, pgStatement{sql, args}) }

func (c *pgConn) exec(sql string, args []any) error {
	c.queue(sql, args)
	return nil
}

func (c *pgConn) snapshot() error {
	c.begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	return nil
}

func (c *pgConn) reach() error { return c.reachBy(time.Now().Add(acquireTimeout)) }

func (c *pgConn) reachBy(deadline time.Time) error {
	if c.db != nil {
		return nil
	}
	lent, err := c.from.acquire(c.ctx, deadline)
	if err == nil {
		c.lent, c.db = lent, lent.Conn()
	}
	return err
}

func (c *pgConn) release() {
	if c.lent != nil {
		c.lent.Release()
	}
}

func (c *pgConn) query(sql string, args []any) (Rows, error) {
	if err := c.reach(); err != nil {
		return nil, err
	}
	if len(c.queued) == 0 && (c.begin == "" || c.sent) {
		rows, err := c.db.Query(c.ctx, sql, args...)
		if err != nil {
			return nil, err
		}
		return &pgRows{rows: rows}, nil
	}
	c.queue(sql, args)
	results, err := c.send(1)
	if err != nil {
		return nil, err
	}
	rows, err := results.Query()
	if err != nil {
		_ = results.Close() // repeats the error
		return nil, err
	}
	return &pgRows{rows: rows, batch: results}, nil
}

func (c *pgConn) commit() error {
	if err := c.reach(); err != nil {
		return err
	}
	c.queue("COMMIT", nil)
	if err := c.end(); err != nil {
		c.abandon()
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// end sends what is queued, COMMIT last. Where a statement had failed before and nobody
// took notice, the server rolls back, and calls that no error.
func (c *pgConn) end() error {
	results, err := c.send(1)
	if err != nil {
		return err
	}
	tag, err := results.Exec()
	if failed := results.Close(); err == nil {
		err = failed // else it repeats the error
	}
	if err != nil {
		return err
	}
	if tag.String() != "COMMIT" {
		return pgx.ErrTxCommitRollback
	}
	return nil
}

func (c *pgConn) flush() error {
	results, err := c.send(0)
	if err != nil {
		return err
	}
	return results.Close()
}

// send sends what is queued and reads all answers but the last few.
func (c *pgConn) send(keep int) (pgx.BatchResults, error) {
	var batch pgx.Batch
	if c.begin != "" && !c.sent {
		batch.Queue(c.begin)
	}
	begun := batch.Len()
	for _, s := range c.queued {
		batch.Queue(s.sql, s.args...)
	}
	c.queued, c.sent, c.refused = nil, true, -1
	results := c.db.SendBatch(c.ctx, &batch)
	for i := range batch.Len() - keep {
		if _, err := results.Exec(); err != nil {
			c.refused = i - begun
			_ = results.Close() // repeats the error
			return nil, err
		}
	}
	return results, nil
}

// abandon rolls back. Where that fails the connection is closed, which the
// server takes for the same.
func (c *pgConn) abandon() {
	if !c.sent {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), 5*time.Second)
	defer cancel()
	if _, err := c.db.Exec(ctx, "ROLLBACK"); err != nil {
		_ = c.db.Close(ctx)
	}
}

func (c *pgConn) script(sql string) error {
	if err := c.reach(); err != nil {
		return err
	}
	if len(c.queued) > 0 || !c.sent {
		if err := c.flush(); err != nil {
			return err
		}
	}
	_, err := c.db.Exec(c.ctx, sql, pgx.QueryExecModeSimpleProtocol)
	return err
}
