//go:build !linux

package load

import (
	"context"
	"time"
)

// alarm wakes a lane when its request is due, as well as Go's timers can: up to
// a millisecond late.
type alarm struct{ ctx context.Context }

func newAlarm(ctx context.Context) (*alarm, error) { return &alarm{ctx: ctx}, nil }

func (a *alarm) wait(d time.Duration) error {
	select {
	case <-a.ctx.Done():
		return a.ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (a *alarm) close() {}
