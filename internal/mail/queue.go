package mail

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// capacity bounds how many messages a queue holds, including those between two attempts.
const capacity = 256

var (
	errFull   = errors.New("the mail queue is full")
	errClosed = errors.New("the server is shutting down")
)

// letter is a queued message. Its Message-ID is the same at every attempt.
type letter struct {
	queue    *queue
	domain   string
	needsUTF bool // the server must support SMTPUTF8, for addresses beyond ASCII
	content  *gomail.Msg
	attempts int
	due      time.Time
}

// queue holds letters until they are delivered or given up.
type queue struct {
	mu       sync.Mutex
	letters  []*letter
	reserved int // places for letters that are still to come
	closed   bool
	added    chan struct{} // holds one signal
}

func newQueue() *queue { return &queue{added: make(chan struct{}, 1)} }

// reserve keeps a place for a letter, which add or unreserve takes.
func (q *queue) reserve() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return errClosed
	case len(q.letters)+q.reserved >= capacity:
		return errFull
	}
	q.reserved++
	return nil
}

func (q *queue) unreserve() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.reserved--
}

// add puts a letter in a place that was reserved.
func (q *queue) add(l *letter) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.reserved--
	if q.closed {
		return errClosed
	}
	l.queue = q
	q.letters = append(q.letters, l)
	select {
	case q.added <- struct{}{}:
	default:
	}
	return nil
}

// due returns the letters whose next attempt is due, oldest first. If there are none, it
// returns when the next one is due, or the zero time.
func (q *queue) due(now time.Time) (ready []*letter, next time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.letters {
		if !l.due.After(now) {
			ready = append(ready, l)
		} else if next.IsZero() || l.due.Before(next) {
			next = l.due
		}
	}
	return ready, next
}

// wait returns when there may be something to do.
func (q *queue) wait(ctx context.Context, next time.Time) {
	var due <-chan time.Time
	if !next.IsZero() {
		due = time.After(time.Until(next))
	}
	select {
	case <-q.added:
	case <-due:
	case <-ctx.Done():
	}
}

func (q *queue) remove(l *letter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.letters = slices.DeleteFunc(q.letters, func(other *letter) bool { return other == l })
}

// postpone keeps a letter for another attempt, unless the queue is closed.
func (q *queue) postpone(l *letter, until time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	l.due = until
	return !q.closed
}

// close closes the queue and returns what was left in it.
func (q *queue) close() []*letter {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	return slices.Clone(q.letters)
}
