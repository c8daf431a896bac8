package work

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Signal wakes a goroutine that receives from it. It keeps as many signals as its capacity while no goroutine waits.
type Signal chan struct{}

// Send sends a signal, unless enough are waiting. It never blocks.
func (s Signal) Send() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// Sleep waits for a time. It returns an error if the context ends before that.
func Sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Loop repeats a step: at once while there is work, otherwise after an interval or a signal.
type Loop struct {
	Step     func(ctx context.Context) (worked bool, err error)
	Interval time.Duration
	Wake     Signal // may be nil
	Log      *slog.Logger
	Failure  string // is logged with the error of a step
	Once     bool   // logs only the first of several failures in a row
}

// Run runs the loop until the context ends.
func (l Loop) Run(ctx context.Context) {
	for failing := false; ctx.Err() == nil; {
		worked, err := l.Step(ctx)
		if err != nil && ctx.Err() == nil && !(l.Once && failing) {
			l.Log.Error(l.Failure, "error", err.Error())
		}
		failing = err != nil
		if worked && !failing {
			continue
		}
		select {
		case <-l.Wake:
		case <-time.After(l.Interval):
		case <-ctx.Done():
		}
	}
}

// Every calls fn at once and at each interval until the context ends. Times that pass during a long call are left out.
func Every(ctx context.Context, interval time.Duration, fn func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		fn()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// Renew calls fn at each interval to extend a lease during longer work. The function that it returns ends that, and waits for a
// running call.
func Renew(ctx context.Context, interval time.Duration, fn func(ctx context.Context)) (end func()) {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		if Sleep(ctx, interval) == nil {
			Every(ctx, interval, func() { fn(ctx) })
		}
	})
	return func() {
		stop()
		running.Wait()
	}
}

// Grace returns a context that is canceled a grace period after ctx, or when the returned function is called.
func Grace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return longer, func() {
		stop()
		cancel()
	}
}
