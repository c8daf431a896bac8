package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/bench/report"
	"bursar/bench/subject"
)

// slot is a work of one subject, measured once in each repeat.
type slot struct {
	work    plan.Work
	quick   bool // see plan.Group
	subject *subject.Subject
	task    subject.Task
	results []load.Result
	failed  bool
}

func (r *Run) measureGroups(ctx context.Context) error {
	var groups [][]*slot
	count := 0
	for _, group := range plan.Groups(r.Sizes) {
		slots, err := r.slots(ctx, group)
		if err != nil {
			return err
		}
		groups = append(groups, slots)
		count += len(slots)
	}
	r.fit(count)
	steps := 0
	for _, slots := range groups {
		steps += len(slots) * r.rounds(slots)
	}
	r.Progress.Phase(steps, time.Duration(count*r.Repeats)*r.slotTime(), r.timeOfOthers())
	for _, slots := range groups {
		for repeat := range r.rounds(slots) {
			if err := r.round(ctx, slots, repeat); err != nil {
				return err
			}
		}
		for _, s := range slots {
			if !s.failed {
				r.cells = append(r.cells, s.cell())
			}
		}
	}
	return nil
}

// slots are ordered by subject, so that works of the same subject stand side by side:
// where there are several in a group, those are compared with each other the closest.
func (r *Run) slots(ctx context.Context, group plan.Group) ([]*slot, error) {
	var out []*slot
	for _, s := range r.Subjects {
		for _, w := range group.Works {
			if !r.wanted(w.Name()) {
				continue
			}
			task, ok, err := s.Ask(ctx, w)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				r.skip("%s, %s: %v", w.Title(), s.Title, err)
				continue
			}
			if ok {
				out = append(out, &slot{work: w, quick: group.Quick, subject: s, task: task})
			}
		}
	}
	return out, nil
}

// quickTurns is into how many turns a measurement is taken apart where turns are quick.
const quickTurns = 5

// rounds is how often the slots of a group are measured.
func (r *Run) rounds(slots []*slot) int {
	if len(slots) > 0 && slots[0].quick {
		return r.Repeats * quickTurns
	}
	return r.Repeats
}

// round measures each slot once, there and back again from repeat to repeat: who is
// first in one is last in the next.
func (r *Run) round(ctx context.Context, slots []*slot, repeat int) error {
	order := slices.Clone(slots)
	if repeat%2 == 1 {
		slices.Reverse(order)
	}
	for _, s := range order {
		takes, generator := r.slotTime(), r.Closed
		if s.quick {
			takes, generator = takes/quickTurns, r.Turns
		}
		r.Progress.Step(takes, "%s · %s · repeat %d of %d", s.work.Title(), s.subject.Title, repeat+1, r.rounds(slots))
		if s.failed {
			continue
		}
		result, err := generator.Run(ctx, r.load(s, repeat))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err = errors.Join(err, s.died()); err != nil {
			s.failed = true
			r.skip("%s, %s: %v", s.work.Title(), s.subject.Title, err)
			continue
		}
		if result.Errors > 0 {
			r.Progress.Say("%s, %s: %d of %d requests failed: %s", s.work.Title(), s.subject.Title, result.Errors, result.Requests, result.FirstError)
		}
		s.results = append(s.results, result)
	}
	return nil
}

func (r *Run) load(s *slot, repeat int) load.Work {
	w := load.Work{
		Base: s.task.Base, Calls: s.task.Calls, Connections: s.work.Callers,
		Duration: time.Duration(r.Seconds) * time.Second,
	}
	if s.quick {
		w.Duration /= quickTurns
	}
	if s.work.Slow() {
		w.Duration *= slowFactor
	} else if repeat == 0 {
		w.Warmup = warmup
	}
	return w
}

func (s *slot) died() error {
	if server, ok := s.subject.Server(s.work); ok {
		return server.Died()
	}
	return nil
}

func (s *slot) cell() report.Cell {
	c := cellOf(s.results)
	c.Work, c.Title, c.Subject, c.Rows = s.work.Name(), s.work.Title(), s.subject.Name, s.work.Rows()
	return c
}

// cellOf sums up the repeats.
func cellOf(results []load.Result) report.Cell {
	c := report.Cell{Unit: "req/s"}
	var rates []float64
	percentile := func(of func(load.Result) time.Duration) float64 {
		var all []float64
		for _, result := range results {
			all = append(all, milliseconds(of(result)))
		}
		return report.SpreadOf(all).Median
	}
	for _, result := range results {
		rates = append(rates, result.PerSecond)
		c.Errors += result.Errors
	}
	c.Value = report.SpreadOf(rates)
	c.Latency = &report.Latency{
		P50:  percentile(func(l load.Result) time.Duration { return l.P50 }),
		P90:  percentile(func(l load.Result) time.Duration { return l.P90 }),
		P99:  percentile(func(l load.Result) time.Duration { return l.P99 }),
		P999: percentile(func(l load.Result) time.Duration { return l.P999 }),
		Max:  percentile(func(l load.Result) time.Duration { return l.Max }),
	}
	return c
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
