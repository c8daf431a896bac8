// Package graceful lets work that has begun end properly after a program is told to
// stop.
package graceful

import (
	"context"
	"sync"
	"time"
)

// Context returns a context that is canceled a grace period after ctx, or when the
// returned function is called.
func Context(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return longer, func() {
		stop()
		cancel()
	}
}

// Repeat calls fn at each interval, as for the lease of work that takes longer than the lease. The
// function that it returns ends that, and waits for a call that has begun.
func Repeat(ctx context.Context, interval time.Duration, fn func(ctx context.Context)) (end func()) {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fn(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		stop()
		running.Wait()
	}
}
