package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// accessChannel is where nodes tell each other that access has changed.
	accessChannel = "bursar_access"
	// heartbeat bounds how long a dead connection goes unnoticed. With the
	// time that the check itself may take it stays under a second.
	heartbeat = 400 * time.Millisecond
)

// listener hears of changes that other nodes make. While it cannot hear, the
// epoch is blind and nothing about access is remembered.
type listener struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func listen(config *pgx.ConnConfig, e *epoch) *listener {
	ctx, cancel := context.WithCancel(context.Background())
	l := &listener{cancel: cancel, done: make(chan struct{})}
	e.blind.Store(true)
	go func() {
		defer close(l.done)
		for ctx.Err() == nil {
			// Why it ended does not matter: until it hears again, it is blind,
			// and the pool tells whoever asks that the database is gone.
			_ = hear(ctx, config, e)
			e.blind.Store(true)
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

func hear(ctx context.Context, config *pgx.ConnConfig, e *epoch) error {
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
	e.bump()
	e.blind.Store(false)
	for {
		wait, cancel := context.WithTimeout(ctx, heartbeat)
		_, err := db.WaitForNotification(wait)
		cancel()
		switch {
		case err == nil:
			e.bump()
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			check, cancel := context.WithTimeout(ctx, heartbeat)
			err := db.Ping(check)
			cancel()
			if err != nil {
				return fmt.Errorf("check the connection: %w", err)
			}
		default:
			return fmt.Errorf("wait for a notification: %w", err)
		}
	}
}
