package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/bench/subject"
)

// throughTime is how long payouts are created while it is measured how many are completed.
const throughTime = 5 * time.Second

// through is a subject whose payouts go from the request to their end.
type through struct {
	*subject.Subject
	server      *subject.Server
	work        load.Work
	rates, each []float64 // payouts a second, and the CPU time of one in milliseconds
	noCPU       error     // why that is not known
	failed      bool
}

// measureThrough measures how many payouts a second go from the request to their end, and what CPU time each takes. The subjects take
// turns, as in round.
func (r *Run) measureThrough(ctx context.Context) error {
	if !r.wanted(plan.PayoutThrough) {
		return nil
	}
	workload := plan.Workload{Kind: plan.Payout, Filter: plan.Through, Callers: plan.Callers}
	var all []*through
	for _, s := range r.Subjects {
		if server, ok := s.Server(workload); ok {
			work, _, err := s.Work(ctx, workload)
			work.Duration = throughTime
			one := &through{Subject: s, server: server, work: work}
			if all = append(all, one); err != nil {
				r.failThrough(one, err)
			}
		}
	}
	for round := range r.Repeats {
		order := slices.Clone(all)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, s := range order {
			if s.failed {
				continue
			}
			r.Log("Payouts from the request to completed · %s", s.Title)
			if err := s.measure(ctx, r.Closed); ctx.Err() != nil {
				return ctx.Err()
			} else if err != nil {
				r.failThrough(s, err)
			}
		}
	}
	for _, s := range all {
		if s.failed {
			continue
		}
		r.add(plan.PayoutThrough, "Create to completed, through the simulator", s.Subject, "req/s", s.rates...)
		if s.noCPU == nil {
			r.add(plan.PayoutCPU, "CPU time of each, with PostgreSQL's", s.Subject, "ms", s.each...)
		} else {
			r.skip("CPU time of payouts, %s: %v", s.Title, s.noCPU)
		}
	}
	return nil
}

func (s *through) measure(ctx context.Context, generator load.Generator) error {
	before, noCPU := s.server.CPUTime(ctx)
	completed, took, err := s.server.Through(ctx, func(ctx context.Context) error {
		_, err := generator.Run(ctx, s.work)
		return err
	})
	if err != nil {
		return err
	}
	after, err := s.server.CPUTime(ctx)
	s.noCPU = errors.Join(s.noCPU, noCPU, err)
	s.rates = append(s.rates, float64(completed)/took.Seconds())
	s.each = append(s.each, milliseconds(after-before)/float64(completed))
	return nil
}

func (r *Run) failThrough(s *through, err error) {
	s.failed = true
	r.skip("Payouts from the request to completed, %s: %v", s.Title, err)
}
