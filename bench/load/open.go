package load

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Open drives open loops: requests are due at fixed times, whether or not the
// server keeps up.
type Open struct{ driver }

func NewOpen(numbers *Numbers) *Open { return &Open{newDriver(numbers)} }

func (o *Open) Name() string { return "bursar open loop" }

func (o *Open) Run(ctx context.Context, w Work) (Result, error) {
	if w.Rate <= 0 {
		return Result{}, errors.New("open loop: work has no rate")
	}
	p, err := newPlan(w)
	if err != nil {
		return Result{}, fmt.Errorf("open loop: %w", err)
	}
	due := timetable{rate: w.Rate, start: w.Warmup, end: w.Warmup + w.Duration}
	total, err := o.drive(ctx, p, w.Connections, func(ctx context.Context, l *lane) error {
		return l.keep(ctx, &due)
	})
	if err != nil {
		return Result{}, fmt.Errorf("open loop: %w", err)
	}
	return total.result(max(w.Duration, total.last-due.start)), nil
}

// timetable spreads requests evenly. What is due between start and end counts.
type timetable struct {
	rate       float64
	start, end time.Duration
	taken      atomic.Int64
}

// next is when the next request is due that no lane has taken yet. As lanes take
// requests in order and only when they are free, one that is due while all are
// busy waits for the first to be free.
func (t *timetable) next() (time.Duration, bool) {
	due := time.Duration(float64(t.taken.Add(1)-1) / t.rate * float64(time.Second))
	return due, due < t.end
}

// keep sends what is due. Latency counts from when a request was due, not from
// when it was sent: a server that stalls makes the next ones wait, and that
// wait is what their senders would have met.
func (l *lane) keep(ctx context.Context, t *timetable) error {
	alarm, err := newAlarm(ctx)
	if err != nil {
		return err
	}
	defer alarm.close()
	for due, more := t.next(); more; due, more = t.next() {
		now := l.clock.now()
		if due > now {
			if err := alarm.wait(due - now); err != nil {
				return err
			}
		}
		r, a, err := l.askInTime(ctx, now-due)
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		now = l.clock.now()
		if due >= t.start {
			l.tally.answered(r, now-due, now, a, err)
		}
	}
	return nil
}

// askInTime sends the next request unless it waited too long to count anyway. So
// a run ends soon after its last request was due, however far behind the server is.
func (l *lane) askInTime(ctx context.Context, waited time.Duration) (*request, answer, error) {
	if waited >= l.tally.timeout {
		return l.plan.next(), answer{}, fmt.Errorf("no free connection for %s", l.tally.timeout)
	}
	return l.ask(ctx)
}
