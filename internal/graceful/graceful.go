// Package graceful lets work in progress end properly after a program is asked to stop.
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

// Repeat calls fn at each interval, for example to extend a lease during longer work. The function
// that it returns ends that, and waits for a running call.
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
