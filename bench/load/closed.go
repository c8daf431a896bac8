package load

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Closed drives closed loops by itself, where wrk is not installed.
type Closed struct{ driver }

func NewClosed(numbers *Numbers) *Closed { return &Closed{newDriver(numbers)} }

func (c *Closed) Name() string { return "bursar closed loop" }

func (c *Closed) Run(ctx context.Context, w Work) (Result, error) {
	if w.Rate != 0 {
		return Result{}, errors.New("closed loop: work has a rate")
	}
	p, err := newPlan(w)
	if err != nil {
		return Result{}, fmt.Errorf("closed loop: %w", err)
	}
	total, err := c.drive(ctx, p, w.Connections, func(ctx context.Context, l *lane) error {
		return l.loop(ctx, w.Warmup, w.Warmup+w.Duration)
	})
	if err != nil {
		return Result{}, fmt.Errorf("closed loop: %w", err)
	}
	return total.result(w.Duration), nil
}

// loop asks again as soon as the last answer is there. What is sent between
// start and end counts, and is waited for: dropping what is under way at the
// end would drop the slowest answers first.
func (l *lane) loop(ctx context.Context, start, end time.Duration) error {
	for sent := l.clock.now(); sent < end; {
		r, a, err := l.ask(ctx)
		now := l.clock.now()
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		if sent >= start {
			l.tally.answered(r, now-sent, now, a, err)
		}
		if err != nil {
			rest(ctx)
			now = l.clock.now()
		}
		sent = now
	}
	return nil
}

// rest keeps a server that refuses connections from being asked in a hot loop.
func rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Millisecond):
	}
}
