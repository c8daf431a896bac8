package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"bursar/internal/db/engine"
)

// conn delays statements without a result and sends them together with the next
// query or COMMIT, so that most mutations take one round trip, BEGIN included.
type conn struct {
	ctx      context.Context
	engine   *Engine       // its pool provides a connection when one is needed
	deadline time.Time     // until which to wait for a connection
	pooled   *pgxpool.Conn // nil until a connection is needed
	db       *pgx.Conn     // that of pooled
	begin    string        // the statement that begins the transaction; empty if there is none
	begun    bool          // begin was sent
	reads    bool          // the transaction only reads
	queued   []statement

	failedAt int // index of the statement that failed among the last batch, or -1
}

type statement struct {
	sql  string
	args []any
}

func (c *conn) queue(sql string, args []any) { c.queued = append(c.queued, statement{sql, args}) }

// Exec implements engine.Conn.
func (c *conn) Exec(sql string, args []any) error {
	c.queue(sql, args)
	return nil
}

// Snapshot implements engine.Conn.
func (c *conn) Snapshot() error {
	c.begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	return nil
}

func (c *conn) connect() error {
	if c.db != nil {
		return nil
	}
	deadline := c.deadline
	if least := time.Now().Add(time.Second); deadline.Before(least) {
		deadline = least // so that a free connection is used
	}
	pooled, err := c.engine.acquire(c.ctx, deadline)
	if err == nil {
		c.pooled, c.db = pooled, pooled.Conn()
	}
	return err
}

func (c *conn) release() {
	if c.pooled != nil {
		release(c.ctx, c.pooled)
		c.pooled, c.db = nil, nil
	}
}

// release returns a connection to the pool, unless its caller has left. pgx ends the
// reads of a caller who leaves by a deadline. Its background reader may keep that timeout
// as the result of the next read, and the next caller would get it.
func release(ctx context.Context, pooled *pgxpool.Conn) {
	if ctx.Err() != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		_ = pooled.Conn().Close(closing) // the pool drops a closed connection
		cancel()
	}
	pooled.Release()
}

// Query implements engine.Conn. If the connection is lost before the first row arrives, a query
// that only reads is sent again on another connection. A query of a snapshot cannot be, unless it
// is the first.
func (c *conn) Query(sql string, args []any) (engine.Rows, error) {
	again := c.reads && !c.begun
	for attempt := 1; ; attempt++ {
		result, err := c.query(sql, args)
		if err == nil {
			result.first()
			if err = result.Err(); err == nil {
				return result, nil
			}
		}
		if !again || attempt == readAttempts || !c.lost(err) || isStandby(code(err)) { // a standby reads as well
			return nil, err
		}
		c.release()
		c.begun = false
		c.engine.reset() // the other connections are to the same server
	}
}

func (c *conn) query(sql string, args []any) (*rows, error) {
	if err := c.connect(); err != nil {
		return nil, err
	}
	if len(c.queued) == 0 && (c.begin == "" || c.begun) {
		result, err := c.db.Query(c.ctx, sql, args...)
		if err != nil {
			return nil, err
		}
		return &rows{rows: result}, nil
	}
	c.queue(sql, args)
	results, err := c.send(1)
	if err != nil {
		return nil, err
	}
	result, err := results.Query()
	if err != nil {
		_ = results.Close() // Close repeats the error
		return nil, err
	}
	return &rows{rows: result, batch: results}, nil
}

func (c *conn) commit() error {
	if err := c.connect(); err != nil {
		return err
	}
	c.queue("COMMIT", nil)
	err := c.sendCommit()
	switch {
	case err == nil:
		return nil
	case !nothingHappened(err):
		err = fmt.Errorf("%w: %w", engine.ErrUnknown, err)
	case c.lost(err):
		err = fmt.Errorf("%w: %w", errLost, err)
	}
	c.rollBack()
	return fmt.Errorf("commit: %w", err)
}

var errUnconfirmed = errors.New("the server has stopped waiting for its standby")

// sendCommit sends the queue, whose last statement is COMMIT. If an earlier statement
// failed and the error was not handled, the server answers COMMIT with ROLLBACK, which is
// not an error of the protocol.
func (c *conn) sendCommit() error {
	notes := c.db.PgConn().CustomData()
	delete(notes, unconfirmed)
	results, err := c.send(1)
	if err != nil {
		return err
	}
	tag, err := results.Exec()
	if failed := results.Close(); err == nil {
		err = failed // otherwise Close repeats the error
	}
	if err != nil {
		return err
	}
	if tag.String() != "COMMIT" {
		return pgx.ErrTxCommitRollback
	}
	if notes[unconfirmed] != nil {
		return errUnconfirmed
	}
	return nil
}

func (c *conn) flush() error {
	results, err := c.send(0)
	if err != nil {
		return err
	}
	return results.Close()
}

// send sends the queue and reads all results but the last few, which are kept for
// the caller.
func (c *conn) send(keep int) (pgx.BatchResults, error) {
	var batch pgx.Batch
	if c.begin != "" && !c.begun {
		batch.Queue(c.begin)
	}
	first := batch.Len()
	for _, s := range c.queued {
		batch.Queue(s.sql, s.args...)
	}
	c.queued, c.begun, c.failedAt = nil, true, -1
	results := c.db.SendBatch(c.ctx, &batch)
	for i := range batch.Len() - keep {
		if _, err := results.Exec(); err != nil {
			c.failedAt = i - first
			_ = results.Close() // Close repeats the error
			return nil, err
		}
	}
	return results, nil
}

// rollBack ends the transaction. If that fails it closes the connection, and the
// server rolls back.
func (c *conn) rollBack() {
	if !c.begun || c.db.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), 5*time.Second)
	defer cancel()
	if _, err := c.db.Exec(ctx, "ROLLBACK"); err != nil {
		_ = c.db.Close(ctx)
	}
}

// Script implements engine.Migrator.
func (c *conn) Script(sql string) error {
	if err := c.connect(); err != nil {
		return err
	}
	if len(c.queued) > 0 || !c.begun {
		if err := c.flush(); err != nil {
			return err
		}
	}
	_, err := c.db.Exec(c.ctx, sql, pgx.QueryExecModeSimpleProtocol)
	return err
}
