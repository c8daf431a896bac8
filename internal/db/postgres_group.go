package db

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// maxTogether bounds how many writes share a commit on PostgreSQL.
	maxTogether = 32
	// groupTimeout bounds what a group may take, should the server fall silent.
	groupTimeout = time.Minute
	// groupPatience makes a group wait this long for somebody else's lock: an insert does
	// where another transaction has the same key, or takes away what it refers to.
	groupPatience = `SET LOCAL lock_timeout = '50ms'`
)

// pgGroups are the writes that wait to be committed together.
type pgGroups struct {
	atOnce   int // how many groups may be under way: while one waits for the disk, the next is carried out
	patience string

	mu      sync.Mutex
	waiting []*pgJob
	leaders int
	closed  chan struct{} // nil while open; closed when the last leader is done
}

type pgJob struct {
	ctx    context.Context
	queued []pgStatement
	since  time.Time
	done   chan struct{}
	alone  bool // it has to be done by itself; nothing of it has happened
	err    error
}

// onlyInserts says whether a write adds rows, blindly, and does nothing else: it can
// share a transaction with others like it, since it reads nothing that they change.
func (c *pgConn) onlyInserts() bool {
	if c.sent || len(c.queued) == 0 {
		return false
	}
	for _, s := range c.queued {
		if !strings.HasPrefix(s.sql, "INSERT ") {
			return false
		}
	}
	return true
}

// together commits a write in one transaction with all that are waiting: one
// round trip and one flush of the server's log serve the group. Where the group fails
// nothing of it has happened, and each is done by itself, so that the one that fails takes
// down only itself.
func (p *postgres) together(c *pgConn) error {
	job := &pgJob{ctx: c.ctx, queued: c.queued, since: time.Now(), done: make(chan struct{})}
	g := &p.groups
	g.mu.Lock()
	switch {
	case g.closed != nil:
		g.mu.Unlock()
		return errClosed
	case g.leaders < g.atOnce: // then nobody waits
		g.leaders++
		g.mu.Unlock()
		p.leadOnce(job)
	default:
		g.waiting = append(g.waiting, job)
		g.mu.Unlock()
		select {
		case <-job.done:
		case <-c.ctx.Done(): // as with a commit of its own, it may be there or not
			return fmt.Errorf("commit: %w", c.ctx.Err())
		}
	}
	if job.alone {
		return c.commit()
	}
	return job.err
}

func (p *postgres) leadOnce(job *pgJob) {
	defer p.handOver()
	p.commitGroup([]*pgJob{job})
}

// handOver has those committed who came meanwhile.
func (p *postgres) handOver() {
	g := &p.groups
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) > 0 {
		go p.lead()
	} else {
		g.leave()
	}
}

// leave ends a leader; the caller holds mu.
func (g *pgGroups) leave() {
	if g.leaders--; g.leaders == 0 && g.closed != nil {
		close(g.closed)
	}
}

// close lets nobody in any more and waits for those who are.
func (g *pgGroups) close() {
	g.mu.Lock()
	if g.closed == nil {
		g.closed = make(chan struct{})
		if g.leaders == 0 {
			close(g.closed)
		}
	}
	last := g.closed
	g.mu.Unlock()
	<-last
}

// lead commits groups until nobody waits.
func (p *postgres) lead() {
	g := &p.groups
	for {
		g.mu.Lock()
		group := g.waiting
		if len(group) == 0 {
			g.leave()
			g.mu.Unlock()
			return
		}
		if len(group) > maxTogether {
			group, g.waiting = group[:maxTogether:maxTogether], group[maxTogether:]
		} else {
			g.waiting = nil
		}
		g.mu.Unlock()
		p.commitGroup(group)
		for _, job := range group {
			close(job.done)
		}
	}
}

// groupTries is how often a group is sent, each time without the one that was refused.
const groupTries = 3

func (p *postgres) commitGroup(group []*pgJob) {
	ctx := context.Background()
	if len(group) == 1 {
		ctx = group[0].ctx
	}
	ctx, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	defer func() {
		if r := recover(); r != nil { // it serves others too and must not die of one
			for _, job := range group {
				job.err = fmt.Errorf("panic in a commit: %v\n%s", r, debug.Stack())
			}
		}
	}()
	var going []*pgJob
	for _, job := range group {
		if job.err = job.ctx.Err(); job.err == nil {
			going = append(going, job)
		}
	}
	for try := 1; len(going) > 0; try++ {
		refused, err := p.commitOnce(ctx, going)
		switch {
		case err == nil:
			return
		case !changedNothing(err) || len(going) == 1 && !isLockTimeout(err):
			for _, job := range going {
				job.err = err
			}
			return
		case refused < 0 || try == groupTries:
			for _, job := range going {
				job.alone = true
			}
			return
		}
		going[refused].alone = true
		going = slices.Delete(going, refused, refused+1)
	}
}

// commitOnce sends a group. Where a statement is refused it says whose, else -1.
func (p *postgres) commitOnce(ctx context.Context, group []*pgJob) (refused int, err error) {
	c := &pgConn{ctx: ctx, from: p, begin: "BEGIN READ WRITE"}
	defer c.release()
	c.queue(p.groups.patience, nil)
	ends := make([]int, len(group)) // of the statements of each
	for i, job := range group {
		c.queued = append(c.queued, job.queued...)
		ends[i] = len(c.queued)
	}
	// Who has waited for long does not wait as long again for a connection, if none is
	// to be had; it is not refused one that is free.
	deadline := time.Now().Add(time.Second)
	if patient := group[0].since.Add(acquireTimeout); patient.After(deadline) {
		deadline = patient
	}
	if err = c.reachBy(deadline); err == nil {
		err = c.commit()
	}
	if err == nil || c.refused < 1 {
		return -1, err
	}
	return slices.IndexFunc(ends, func(end int) bool { return c.refused < end }), err
}

// changedNothing says that the server refused a statement, or never heard of it. After
// any other error nobody knows what has happened.
func changedNothing(err error) bool {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return refused.SeverityUnlocalized == "ERROR"
	}
	var unsaid pgx.ErrPreprocessingBatch
	return errors.As(err, &unsaid)
}
