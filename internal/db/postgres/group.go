package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"bursar/internal/db/engine"
)

const (
	// maxGroup bounds how many writes share a commit.
	maxGroup = 32
	// groupTimeout bounds how long a group may take if the server stops answering.
	groupTimeout = time.Minute
	// groupAttempts bounds how often a group is sent, each time without the write
	// that the server refused.
	groupAttempts = 3
	// groupLockTimeout bounds how long a group waits for a lock of another
	// transaction. An insert waits if another transaction inserts the same key or
	// deletes a row that it refers to.
	groupLockTimeout = `SET LOCAL lock_timeout = '50ms'`
)

// groupCommit collects writes that wait to be committed together.
type groupCommit struct {
	maxLeaders  int // groups in flight: the server executes one while another waits for the disk
	lockTimeout string

	mu      sync.Mutex
	waiting []*groupJob
	leaders int
	closed  chan struct{} // nil while open; closed when the last leader is done
}

type groupJob struct {
	ctx        context.Context
	statements []statement
	since      time.Time
	done       chan struct{}
	alone      bool // nothing of it has happened, and it must commit alone
	err        error
}

// onlyInserts reports whether the transaction has only inserted rows and read
// nothing. It can share a transaction with others like it, because it does not
// depend on what they change.
func (c *conn) onlyInserts() bool {
	if c.begun || len(c.queued) == 0 {
		return false
	}
	for _, s := range c.queued {
		if !strings.HasPrefix(s.sql, "INSERT ") {
			return false
		}
	}
	return true
}

// commitInGroup commits the transaction together with all that are waiting, so that one
// round trip and one fsync of the server serve them all. If the group fails, nothing of
// it has happened. Its writes are then committed one by one, so that only the failing
// ones are undone.
func (e *Engine) commitInGroup(c *conn) error {
	job := &groupJob{ctx: c.ctx, statements: c.queued, since: time.Now(), done: make(chan struct{})}
	g := &e.groups
	g.mu.Lock()
	switch {
	case g.closed != nil:
		g.mu.Unlock()
		return engine.ErrClosed
	case g.leaders < g.maxLeaders: // then no write is waiting
		g.leaders++
		g.mu.Unlock()
		e.leadOne(job)
	default:
		g.waiting = append(g.waiting, job)
		g.mu.Unlock()
		select {
		case <-job.done:
		case <-c.ctx.Done(): // it may be committed or not, as with a single COMMIT
			return fmt.Errorf("commit: %w: %w", engine.ErrUnknown, c.ctx.Err())
		}
	}
	if job.alone {
		return c.commit()
	}
	return job.err
}

// leadOne commits one write and passes the lead on. Its caller is waiting for this
// write alone and must not commit those of others.
func (e *Engine) leadOne(job *groupJob) {
	defer e.passLead()
	e.commitGroup([]*groupJob{job})
}

func (e *Engine) passLead() {
	g := &e.groups
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) > 0 {
		go e.lead()
	} else {
		g.leave()
	}
}

// leave decrements the number of leaders. The caller holds mu.
func (g *groupCommit) leave() {
	if g.leaders--; g.leaders == 0 && g.closed != nil {
		close(g.closed)
	}
}

// close refuses new writes and waits for those that have started.
func (g *groupCommit) close() {
	g.mu.Lock()
	if g.closed == nil {
		g.closed = make(chan struct{})
		if g.leaders == 0 {
			close(g.closed)
		}
	}
	closed := g.closed
	g.mu.Unlock()
	<-closed
}

// lead commits groups until no write is waiting.
func (e *Engine) lead() {
	for group := e.groups.next(); group != nil; group = e.groups.next() {
		e.commitGroup(group)
		for _, job := range group {
			close(job.done)
		}
	}
}

// next returns the writes of the next group. If there are none, it ends the leader
// and returns nil.
func (g *groupCommit) next() []*groupJob {
	g.mu.Lock()
	defer g.mu.Unlock()
	group := g.waiting
	switch {
	case len(group) == 0:
		g.leave()
		return nil
	case len(group) > maxGroup:
		group, g.waiting = group[:maxGroup:maxGroup], group[maxGroup:]
	default:
		g.waiting = nil
	}
	return group
}

func (e *Engine) commitGroup(group []*groupJob) {
	ctx := context.Background() // the end of one caller must not end the others
	if len(group) == 1 {
		ctx = group[0].ctx
	}
	ctx, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	panicked := engine.Recover(func() error {
		e.sendGroup(ctx, group)
		return nil
	})
	if panicked != nil {
		for _, job := range group {
			job.err = fmt.Errorf("%w: %w", engine.ErrUnknown, panicked)
		}
	}
}

// sendGroup sets the result of every job. It leaves out a write that the server
// refuses, and sends the others again.
func (e *Engine) sendGroup(ctx context.Context, group []*groupJob) {
	var rest []*groupJob
	for _, job := range group {
		if job.err = job.ctx.Err(); job.err == nil {
			rest = append(rest, job)
		}
	}
	for attempt := 1; len(rest) > 0; attempt++ {
		refused, err := e.sendOnce(ctx, rest)
		switch {
		case err == nil:
			return
		case errors.Is(err, errLost) || errors.Is(err, engine.ErrAway) || !nothingHappened(err) || len(rest) == 1 && !isLockTimeout(err):
			for _, job := range rest {
				job.err = err
			}
			return
		case refused < 0 || attempt == groupAttempts:
			for _, job := range rest {
				job.alone = true
			}
			return
		}
		rest[refused].alone = true
		rest = slices.Delete(rest, refused, refused+1)
	}
}

// sendOnce commits the group in one transaction. If the server refuses a
// statement, it returns the index of the job that the statement belongs to, or -1
// if it belongs to none.
func (e *Engine) sendOnce(ctx context.Context, group []*groupJob) (refused int, err error) {
	// Time spent queueing counts.
	c := &conn{ctx: ctx, engine: e, deadline: group[0].since.Add(acquireTimeout), begin: "BEGIN READ WRITE"}
	defer c.release()
	c.queue(e.groups.lockTimeout, nil)
	ends := make([]int, len(group)) // where the statements of each job end in the queue
	for i, job := range group {
		c.queued = append(c.queued, job.statements...)
		ends[i] = len(c.queued)
	}
	err = c.commit()
	if err == nil || c.failedAt < 1 {
		return -1, err
	}
	return slices.IndexFunc(ends, func(end int) bool { return c.failedAt < end }), err
}
