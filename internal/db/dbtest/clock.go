package dbtest

import (
	"sync"
	"time"
)

// Clock is the real clock plus an offset, which a test can increase.
type Clock struct {
	mu     sync.Mutex
	offset time.Duration
}

// Now returns the real time plus the offset.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}
