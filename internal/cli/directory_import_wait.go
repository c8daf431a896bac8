package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"bursar/client"
)

// endurance repeats calls beyond what the client does by itself: a long run must
// survive a server that restarts, and one that asks to go slower.
type endurance struct {
	wait time.Duration     // for a server that does not answer
	note func(text string) // tells a person that there is a wait

	mu   sync.Mutex
	told time.Time
}

// tell tells once for all who wait at the same time.
func (e *endurance) tell() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := time.Now(); now.Sub(e.told) > e.wait/4 {
		e.told = now
		e.note("The server does not answer as it should; trying again for " + e.wait.String() + ".")
	}
}

const (
	shortestPause = 500 * time.Millisecond
	longestPause  = 4 * time.Second
)

// call repeats what fails for the moment. What changes something must carry an
// idempotency key, or be the same when it is done twice.
func (e *endurance) call(ctx context.Context, fn func() error) error {
	var since time.Time
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		err := fn()
		if err == nil || ctx.Err() != nil || !forTheMoment(err) {
			return err
		}
		if !client.IsRateLimited(err) {
			if since.IsZero() {
				since = time.Now()
				e.tell()
			} else if time.Since(since) > e.wait {
				return fmt.Errorf("the server has not answered for %s: %w", e.wait, err)
			}
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}

// forTheMoment says whether a failure may go away by itself.
func forTheMoment(err error) bool {
	var refused *client.Error
	if errors.As(err, &refused) {
		return refused.Status == http.StatusTooManyRequests || refused.Status >= http.StatusInternalServerError ||
			refused.Code == client.CodeIdempotencyConflict && refused.RetryAfter > 0
	}
	return !errors.Is(err, context.Canceled)
}
