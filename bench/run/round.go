package run

import (
	"context"
	"slices"
	"time"

	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/bench/report"
	"bursar/bench/subject"
)

const (
	warmup     = 200 * time.Millisecond // before the first repeat
	shortTurns = 2                      // turns that replace one repeat in groups of short turns
	slowFactor = 3                      // for workloads whose answers may take seconds
	peakTime   = 2 * time.Second        // to find the highest rate of the mixed load
)

// slot is a workload of one subject, measured once in each round.
type slot struct {
	workload plan.Workload
	subject  *subject.Subject
	work     load.Work
	results  []load.Result
	failed   bool
}

// measureGroups measures the groups one after the other. A group is prepared right before.
func (r *Run) measureGroups(ctx context.Context) error {
	for _, group := range plan.Groups(r.Sizes) {
		slots, err := r.slots(ctx, group)
		if err != nil {
			return err
		}
		rounds := r.Repeats
		if group.ShortTurns {
			rounds *= shortTurns
		}
		if len(slots) > 0 {
			r.Log("%s and what is compared with it: %d rounds of %d measurements", slots[0].workload.Title(), rounds, len(slots))
		}
		for round := range rounds {
			if err := r.round(ctx, slots, round); err != nil {
				return err
			}
		}
		for _, s := range slots {
			if !s.failed {
				r.Measurements = append(r.Measurements, s.measurement())
			}
		}
	}
	return nil
}

// slots are ordered by subject, so that workloads of the same subject follow one another: those
// are the ones that are compared most closely.
func (r *Run) slots(ctx context.Context, group plan.Group) ([]*slot, error) {
	var out []*slot
	for _, s := range r.Subjects {
		for _, w := range group.Workloads {
			if !r.wanted(w.Name()) {
				continue
			}
			work, ok, err := s.Work(ctx, w)
			if err == nil && ok {
				err = load.Check(ctx, work, r.Runs)
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				r.skip("%s, %s: %v", w.Title(), s.Title, err)
				continue
			}
			if ok {
				work.Duration = duration(w, group)
				out = append(out, &slot{workload: w, subject: s, work: work})
			}
		}
	}
	return out, nil
}

func duration(w plan.Workload, group plan.Group) time.Duration {
	switch {
	case group.ShortTurns:
		return time.Second / shortTurns
	case w.Slow():
		return time.Second * slowFactor
	}
	return time.Second
}

// round measures each slot once. The order is reversed from round to round: who is first in one
// is last in the next.
func (r *Run) round(ctx context.Context, slots []*slot, round int) error {
	order := slices.Clone(slots)
	if round%2 == 1 {
		slices.Reverse(order)
	}
	for _, s := range order {
		if s.failed {
			continue
		}
		if err := r.measure(ctx, s, round); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.failed = true
			r.skip("%s, %s: %v", s.workload.Title(), s.subject.Title, err)
		}
	}
	return nil
}

func (r *Run) measure(ctx context.Context, s *slot, round int) error {
	if round == 0 && !s.workload.Slow() {
		warm := s.work
		warm.Duration = warmup
		if _, err := r.Closed.Run(ctx, warm); err != nil {
			return err
		}
	}
	result, err := r.Closed.Run(ctx, s.work)
	if err != nil {
		return err
	}
	if result.Errors > 0 {
		r.Log("%s, %s: %d of %d requests failed: %s", s.workload.Title(), s.subject.Title, result.Errors, result.Requests, result.FirstError)
	}
	s.results = append(s.results, result)
	return nil
}

func (s *slot) measurement() report.Measurement {
	m := rate(s.results)
	m.Workload, m.Title, m.Subject, m.Rows = s.workload.Name(), s.workload.Title(), s.subject.Name, s.workload.Rows()
	return m
}
