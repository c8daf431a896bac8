// Package graceful lets work that has begun end properly after a program is told to
// stop.
package graceful

import (
	"context"
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
