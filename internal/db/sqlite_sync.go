package db

import (
	"context"
	"fmt"
	"sync/atomic"
)

// flights are the groups on their way to the disk, one at a time. The writer runs
// the next group meanwhile. Until a group has landed nobody is answered: neither
// those who wrote it, nor those who read when it was already to be seen.
type flights struct {
	last atomic.Pointer[flight]
}

type flight struct {
	landed chan struct{}
	err    error // valid once landed
}

func newFlights() *flights {
	s := &flights{}
	_ = s.begin().land(nil)
	return s
}

// begin is called before a commit can be seen, when the flight before has landed.
func (s *flights) begin() *flight {
	f := &flight{landed: make(chan struct{})}
	s.last.Store(f)
	return f
}

// land is called when the group is on disk, or cannot be put there. What is on disk
// then is anybody's guess, and asking again would not tell, for the system reports
// such a failure once: no flight begins after it.
func (f *flight) land(err error) error {
	if err != nil {
		f.err = fmt.Errorf("the log cannot be put on disk, nothing is read or written until the next start: %w", err)
	}
	close(f.landed)
	return f.err
}

// await returns when all is on disk that could be seen before the call.
func (s *flights) await(ctx context.Context) error {
	f := s.last.Load()
	select {
	case <-f.landed:
		return f.err
	default:
	}
	select {
	case <-f.landed:
		return f.err
	case <-ctx.Done():
		return fmt.Errorf("wait for the disk: %w", ctx.Err())
	}
}
