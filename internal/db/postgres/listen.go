package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bursar/internal/db/engine"
	"bursar/internal/work"
)

const (
	// accessChannel is the channel on which nodes notify each other that access has changed.
	accessChannel = "bursar_access"
	// NotifyAccess notifies other nodes, when it is committed, that access has changed.
	NotifyAccess = "NOTIFY " + accessChannel
	// heartbeat is how often the listener checks its connection, and how long a check may
	// take. A dead connection is noticed in less than a second.
	heartbeat = 400 * time.Millisecond
	// certainty is how long after a check began the epoch is certain, unless another check
	// succeeds: as long as two slow checks take together, and some delay. A process that was
	// stopped for longer, or did not get to run, may not have received what happened meanwhile.
	certainty = 900 * time.Millisecond
)

// listener changes the epoch when another node has changed access. While it has no
// connection, or has not checked it for a while, the epoch is uncertain, so that nothing
// about access is cached.
type listener struct {
	cancel context.CancelFunc
	done   chan struct{}
	first  chan error // nil at the first connection, or the error that refused it
}

// useLock returns the statement that takes the lock for a use of the store. Servers share the lock;
// exclusive use does not. It belongs to the session, so it ends with the process, however that ends.
func useLock(use engine.Use) string {
	const key = `(hashtext('bursar server ' || current_schema()))`
	switch use {
	case engine.Server:
		return `SELECT pg_try_advisory_lock_shared` + key
	case engine.Exclusive:
		return `SELECT pg_try_advisory_lock` + key
	}
	return ""
}

// listen calls lost when its connection fails, which it notices before the pool does.
func listen(config *pgx.ConnConfig, use engine.Use, epoch *engine.Epoch, lost func()) *listener {
	ctx, cancel := context.WithCancel(context.Background())
	l := &listener{cancel: cancel, done: make(chan struct{}), first: make(chan error, 1)}
	epoch.SetUncertain()
	go func() {
		defer close(l.done)
		reported := false
		report := func(err error) {
			if !reported {
				reported = true
				l.first <- err
			}
		}
		for ctx.Err() == nil {
			// Any other error can be ignored: nothing is cached until the next connection, and
			// users of the pool get their own error when the database is away.
			if err := listenOnce(ctx, config, use, epoch, func() { report(nil) }); errors.Is(err, engine.ErrInUse) {
				report(err)
			}
			epoch.SetUncertain()
			lost()
			_ = work.Sleep(ctx, heartbeat)
		}
	}()
	return l
}

// wait waits for the first connection, which takes the lock for the use of the store.
func (l *listener) wait(ctx context.Context) error {
	select {
	case err := <-l.first:
		return err
	case <-time.After(acquireTimeout):
		return fmt.Errorf("say that the store is in use: %w", engine.ErrAway)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *listener) stop() {
	l.cancel()
	<-l.done
}

// listenOnce listens until its connection fails.
func listenOnce(ctx context.Context, config *pgx.ConnConfig, use engine.Use, epoch *engine.Epoch, connected func()) error {
	config = config.Copy()
	config.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) { epoch.Bump() }
	db, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect to listen: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = db.Close(closing)
	}()
	if _, err := db.Exec(ctx, "LISTEN "+accessChannel); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if lock := useLock(use); lock != "" {
		if err := takeUse(ctx, db, lock); err != nil {
			return err
		}
	}
	connected()
	epoch.Bump() // covers changes before LISTEN
	for {
		// The server sends what was committed before the check began before it answers.
		began := time.Now()
		if err := ping(ctx, db); err != nil {
			return fmt.Errorf("check the connection: %w", err)
		}
		epoch.SetCertainUntil(began.Add(certainty))
		if err := receive(ctx, db, began.Add(heartbeat)); err != nil {
			return err
		}
	}
}

// receive receives notifications until a time.
func receive(ctx context.Context, db *pgx.Conn, until time.Time) error {
	wait, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	for {
		_, err := db.WaitForNotification(wait)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			return nil
		default:
			return fmt.Errorf("wait for a notification: %w", err)
		}
	}
}

// takeUse takes the lock for a use of the store. PostgreSQL notices the end of a process
// with a delay, so takeUse retries for two seconds before it reports that the store is in use.
func takeUse(ctx context.Context, db *pgx.Conn, lock string) error {
	for checked := time.Now(); ; {
		var locked bool
		if err := db.QueryRow(ctx, lock).Scan(&locked); err != nil {
			return fmt.Errorf("say that the store is in use: %w", err)
		}
		if locked {
			return nil
		}
		if time.Since(checked) > 2*time.Second {
			return fmt.Errorf("%w: stop the servers that run on it, or wait for the end of a move", engine.ErrInUse)
		}
		if err := work.Sleep(ctx, retryPause); err != nil {
			return err
		}
	}
}

func ping(ctx context.Context, db *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeat)
	defer cancel()
	return db.Ping(ctx)
}
