package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"bursar/api"
	"bursar/client"
)

// retrier retries calls for longer than the client does, so that a long run survives a server that restarts or is overloaded.
type retrier struct {
	wait time.Duration     // how long to retry while the server does not respond
	note func(text string) // shows a message to the user

	mu   sync.Mutex
	told time.Time // when the last message was shown
}

// print shows one message for all calls that are waiting.
func (r *retrier) print() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.told) > r.wait/4 {
		r.told = now
		r.note("The server does not answer properly; retrying for " + r.wait.String() + ".")
	}
}

const (
	shortestPause = 500 * time.Millisecond
	longestPause  = 4 * time.Second
)

// call retries fn while its error is temporary. If fn changes something, it must have an idempotency key or the same effect when repeated.
func (r *retrier) call(ctx context.Context, fn func() error) error {
	var since time.Time
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		err := fn()
		if err == nil || ctx.Err() != nil || !retryable(err) {
			return err
		}
		if !client.IsRateLimited(err) {
			if since.IsZero() {
				since = time.Now()
				r.print()
			} else if time.Since(since) > r.wait {
				return fmt.Errorf("the server has not answered for %s: %w", r.wait, err)
			}
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}

// retryable reports whether a failed call may succeed on a retry.
func retryable(err error) bool {
	var refused *client.Error
	if errors.As(err, &refused) {
		return refused.Status == http.StatusTooManyRequests || refused.Status >= http.StatusInternalServerError ||
			refused.Code == api.CodeIdempotencyConflict && refused.RetryAfter > 0
	}
	return !errors.Is(err, context.Canceled)
}
