package load

import (
	"context"
	"errors"
	"sync"
	"time"
)

// answerTimeout is how long an answer may take before it counts as an error.
const answerTimeout = 10 * time.Second

// driver is what our own generators have in common.
type driver struct {
	numbers *Numbers
	timeout time.Duration
}

func newDriver(numbers *Numbers) driver { return driver{numbers: numbers, timeout: answerTimeout} }

// lane is one connection with all that it needs of its own.
type lane struct {
	plan    *plan
	conn    *conn
	numbers counter
	tally   *tally
	buf     []byte
	clock   clock
}

// drive runs a lane for each connection and merges what they counted.
func (d driver) drive(ctx context.Context, p *plan, connections int, run func(context.Context, *lane) error) (*tally, error) {
	clock := clock{began: time.Now()}
	lanes := make([]*lane, connections)
	failures := make([]error, connections)
	var running sync.WaitGroup
	for i := range lanes {
		l := &lane{
			plan: p, conn: newConn(p.addr, clock, d.timeout), numbers: counter{all: d.numbers},
			tally: newTally(d.timeout), clock: clock,
		}
		lanes[i] = l
		running.Go(func() {
			defer l.conn.close()
			failures[i] = run(ctx, l)
		})
	}
	running.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	total := newTally(d.timeout)
	for _, l := range lanes {
		total.merge(l.tally)
	}
	return total, nil
}

func (l *lane) ask(ctx context.Context) (*request, answer, error) {
	r := l.plan.next()
	a, err := l.send(ctx, r)
	return r, a, err
}

func (l *lane) send(ctx context.Context, r *request) (answer, error) {
	bytes := r.next(l.buf[:0], &l.numbers)
	if r.static == nil {
		l.buf = bytes
	}
	return l.conn.ask(ctx, bytes, r.noBody)
}
