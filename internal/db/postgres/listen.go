package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"bursar/internal/db/engine"
)

const (
	// accessChannel is where nodes tell each other that access has changed.
	accessChannel = "bursar_access"
	// NotifyAccess tells other nodes, when it is committed, that access has changed.
	NotifyAccess = "NOTIFY " + accessChannel
	// heartbeat is how often the listener checks its connection. With the time that
	// a check may take, a dead connection is noticed in less than a second.
	heartbeat = 400 * time.Millisecond
)

// listener changes the epoch when another node has changed access. While it has no
// connection the epoch is uncertain, so that nobody caches anything about access.
type listener struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func listen(config *pgx.ConnConfig, epoch *engine.Epoch) *listener {
	ctx, cancel := context.WithCancel(context.Background())
	l := &listener{cancel: cancel, done: make(chan struct{})}
	epoch.SetUncertain(true)
	go func() {
		defer close(l.done)
		for ctx.Err() == nil {
			// The cause does not matter: nothing is cached until the next connection, and
			// whoever uses the pool learns that the database is away.
			_ = listenOnce(ctx, config, epoch)
			epoch.SetUncertain(true)
			select {
			case <-time.After(heartbeat):
			case <-ctx.Done():
			}
		}
	}()
	return l
}

func (l *listener) stop() {
	l.cancel()
	<-l.done
}

// listenOnce listens until its connection fails.
func listenOnce(ctx context.Context, config *pgx.ConnConfig, epoch *engine.Epoch) error {
	db, err := pgx.ConnectConfig(ctx, config.Copy())
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
	epoch.Bump() // for changes that were made before LISTEN
	epoch.SetUncertain(false)
	for {
		wait, cancel := context.WithTimeout(ctx, heartbeat)
		_, err := db.WaitForNotification(wait)
		cancel()
		switch {
		case err == nil:
			epoch.Bump()
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			if err := ping(ctx, db); err != nil {
				return fmt.Errorf("check the connection: %w", err)
			}
		default:
			return fmt.Errorf("wait for a notification: %w", err)
		}
	}
}

func ping(ctx context.Context, db *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeat)
	defer cancel()
	return db.Ping(ctx)
}
