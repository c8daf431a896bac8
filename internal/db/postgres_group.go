package db

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// maxTogether bounds how many writes share a commit on PostgreSQL.
	maxTogether = 32
	// groupTimeout bounds what a group may take, should the server fall silent.
	groupTimeout = time.Minute
)

// pgGroups are the writes that wait to be committed together.
type pgGroups struct {
	atOnce int // how many groups may be under way: while one waits for the disk, the next is carried out

	mu      sync.Mutex
	waiting []*pgJob
	leaders int
	leading sync.WaitGroup // those that have no caller of their own
}

type pgJob struct {
	ctx    context.Context
	queued []pgStatement
	done   chan struct{}
	alone  bool // it has to be done by itself; nothing of it has happened
	err    error
}

// onlyInserts says whether a write adds rows, blindly, and does nothing else: it can
// share a transaction with others like it, since it waits for nobody's row and makes
// nobody wait for long.
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
	g := &p.groups
	g.mu.Lock()
	if g.leaders < g.atOnce { // then nobody waits
		g.leaders++
		g.mu.Unlock()
		defer p.handOver()
		return c.commit()
	}
	job := &pgJob{ctx: c.ctx, queued: c.queued, done: make(chan struct{})}
	g.waiting = append(g.waiting, job)
	g.mu.Unlock()
	select {
	case <-job.done:
		if job.alone {
			return c.commit()
		}
		return job.err
	case <-c.ctx.Done(): // as with a commit of its own, it may be there or not
		return fmt.Errorf("commit: %w", c.ctx.Err())
	}
}

// handOver has those committed who came meanwhile.
func (p *postgres) handOver() {
	g := &p.groups
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) > 0 {
		g.leading.Go(p.lead)
	} else {
		g.leaders--
	}
}

// lead commits groups until nobody waits.
func (p *postgres) lead() {
	g := &p.groups
	for {
		g.mu.Lock()
		group := g.waiting
		if len(group) == 0 {
			g.leaders--
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

func (p *postgres) commitGroup(group []*pgJob) {
	ctx, cancel := context.WithTimeout(context.Background(), groupTimeout)
	defer cancel()
	c := &pgConn{ctx: ctx, from: p, begin: "BEGIN READ WRITE"}
	defer c.release()
	for _, job := range group {
		if job.err = job.ctx.Err(); job.err == nil {
			c.queued = append(c.queued, job.queued...)
		}
	}
	if len(c.queued) == 0 {
		return
	}
	err := c.commit()
	if err == nil {
		return
	}
	// Where the server refused a statement, nothing has happened; otherwise nobody knows.
	var pg *pgconn.PgError
	refused := len(group) > 1 && errors.As(err, &pg) && pg.SeverityUnlocalized == "ERROR"
	for _, job := range group {
		if job.err != nil {
			continue
		}
		if refused {
			job.alone = true
		} else {
			job.err = err
		}
	}
}
