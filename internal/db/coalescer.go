package db

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db/engine"
)

// Coalescer runs mutations that change the same row, such as payouts of one account, together. Those
// that wait for the row share one transaction, in which the caller's function can change the row
// once for all of them. Otherwise, on PostgreSQL, each would wait until the one before has released
// the row, which is after its commit.
//
// The first mutation of a key runs at once, alone. Those that arrive meanwhile wait, and run
// together when it is done. So a mutation waits only if it would have waited for the row anyway.
type Coalescer[In, Out any] struct {
	db  *DB
	run func(tx *Tx, list []Request[In]) ([]Result[Out], error)

	mu      sync.Mutex
	waiting map[string][]*queued[In, Out] // by key; a key is present while a goroutine runs its mutations
}

// Request is a mutation that a caller has requested.
type Request[In any] struct {
	By Caller
	In In
}

// Result is the outcome of a mutation. If Err is a fault, it changed nothing, and the others of the
// transaction are not affected.
type Result[Out any] struct {
	Out   Out
	Event audit.Event
	Err   error
}

// NewCoalescer returns a Coalescer. run carries out several mutations of one key in a transaction, in the
// order given, and returns a result for each. Like the function of Write it may run more than once,
// and must have no effects other than through tx.
func NewCoalescer[In, Out any](d *DB, run func(tx *Tx, list []Request[In]) ([]Result[Out], error)) *Coalescer[In, Out] {
	return &Coalescer[In, Out]{db: d, run: run, waiting: map[string][]*queued[In, Out]{}}
}

const (
	// maxGathered bounds how many mutations share a transaction, and so how long the first of them
	// waits for the last.
	maxGathered = 64
	// coalesceTimeout bounds how long a transaction may take if the server stops answering.
	coalesceTimeout = time.Minute
)

// queued is a mutation in the queue.
type queued[In, Out any] struct {
	Request[In]
	ctx   context.Context
	done  chan struct{}
	alone bool // it has to run alone: nothing of it has happened, or trials has the attempts that may have been committed
	out   Out
	event audit.Event
	err   error

	trials trials[Out]
}

// Waiting returns the number of mutations queued for a key. Tests use it.
func (g *Coalescer[In, Out]) Waiting(key string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting[key])
}

// Write is the function Write for a mutation of the row that key identifies.
func (g *Coalescer[In, Out]) Write(ctx context.Context, key string, by Caller, in In) (Out, error) {
	m := &queued[In, Out]{Request: Request[In]{by, in}, ctx: ctx, done: make(chan struct{})}
	g.mu.Lock()
	if queue, busy := g.waiting[key]; busy {
		g.waiting[key] = append(queue, m)
		g.mu.Unlock()
		select {
		case <-m.done:
		case <-ctx.Done(): // it may be committed or not, as with a separate transaction
			return m.none(), fmt.Errorf("wait for others of the same row: %w: %w", ErrUnknown, ctx.Err())
		}
		if m.alone {
			return g.writeAlone(m)
		}
		return m.out, m.err
	}
	g.waiting[key] = nil
	g.mu.Unlock()
	defer g.pass(key)
	return g.writeAlone(m)
}

func (*queued[In, Out]) none() (out Out) { return out }

// writeAlone carries out a mutation in a separate transaction.
func (g *Coalescer[In, Out]) writeAlone(m *queued[In, Out]) (Out, error) {
	return write(m.ctx, g.db, m.By, &m.trials, func(tx *Tx) (Out, audit.Event, error) {
		results, err := g.run(tx, []Request[In]{m.Request})
		if err != nil {
			return m.none(), audit.Event{}, err
		}
		return results[0].Out, results[0].Event, results[0].Err
	})
}

// pass starts the mutations that wait for a key. Its caller has waited for its own mutation only,
// and must not wait for theirs.
func (g *Coalescer[In, Out]) pass(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting[key]) == 0 {
		delete(g.waiting, key)
		return
	}
	go func() {
		for list := g.next(key); list != nil; list = g.next(key) {
			if err := engine.Recover(func() error { return g.writeTogether(list) }); err != nil {
				for _, m := range list {
					m.out, m.err = m.none(), err
				}
			}
			for _, m := range list {
				close(m.done)
			}
		}
	}()
}

// next returns the mutations that run next. If there are none, it removes the key and
// returns nil.
func (g *Coalescer[In, Out]) next(key string) []*queued[In, Out] {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := g.waiting[key]
	if len(list) == 0 {
		delete(g.waiting, key)
		return nil
	}
	n := min(len(list), maxGathered)
	g.waiting[key] = list[n:]
	return list[:n:n]
}

// writeTogether carries out mutations in one transaction, and sets the result of each. If the store
// refuses the transaction, nothing of it has happened. Then each mutation runs alone, so that only
// the faulty ones fail. If the outcome is unknown, each mutation looks up its own. After any other
// error they all get that error.
func (g *Coalescer[In, Out]) writeTogether(list []*queued[In, Out]) error {
	ctx, cancel := context.WithTimeout(context.Background(), coalesceTimeout) // the end of one caller must not end the others
	defer cancel()
	var bump bool
	err := g.db.engine.Write(ctx, func(c engine.Conn) error {
		bump = false
		tx := &Tx{Q: Q{c}, db: g.db}
		var requests []Request[In]
		var at []*queued[In, Out]
		for _, m := range list {
			m.alone, m.out = false, m.none()
			if m.err = m.ctx.Err(); m.err != nil {
				continue
			}
			if !g.db.dialect.detectReuseOnInsert {
				switch m.err = m.By.IdempotencyKey.lookup(tx); {
				case isAnswer(m.err):
					continue
				case m.err != nil:
					return m.err
				}
			}
			requests, at = append(requests, m.Request), append(at, m)
		}
		if len(requests) == 0 {
			return nil
		}
		results, err := g.run(tx, requests)
		if err != nil {
			return err
		}
		for i, m := range at {
			r := results[i]
			switch {
			case isAnswer(r.Err):
				// On PostgreSQL it may have been refused because it succeeded before. When it runs alone, its key
				// is looked up.
				m.err, m.alone = r.Err, m.By.IdempotencyKey != nil && g.db.dialect.detectReuseOnInsert
				continue
			case r.Err != nil:
				return r.Err
			}
			m.out = r.Out
			if err := tx.finish(m.By, r.Out, r.Event, &m.trials.row); err != nil {
				return err
			}
			m.event = r.Event
			bump = bump || r.Event.ChangesAccess()
		}
		return tx.writeFinished()
	})
	g.db.writes.Add(uint64(len(list)))
	switch {
	case err == nil && bump:
		g.db.epoch.Bump()
	case err != nil:
		unknown := errors.Is(err, ErrUnknown)
		for _, m := range list {
			if unknown && isAnswer(m.err) { // by changes of the others that may not be committed
				m.err, m.alone = nil, true
				continue
			}
			if unknown && m.err == nil && m.trials.row.written {
				m.trials.add(m.out, m.event)
				m.alone = true
				continue
			}
			m.out, m.err, m.alone = m.none(), err, refused(err)
		}
	}
	return nil
}
