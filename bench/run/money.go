package run

import (
	"context"
	"time"

	"bursar/bench/plan"
)

// throughTime is how long payouts are created while it is measured how many are completed.
const throughTime = 5 * time.Second

// measureThrough measures how many payouts a second go from the request to their end.
func (r *Run) measureThrough(ctx context.Context) error {
	if !r.wanted(plan.PayoutThrough) {
		return nil
	}
	through := plan.Workload{Kind: plan.Payout, Filter: plan.Through, Callers: plan.Callers}
	for _, s := range r.Subjects {
		server, ok := s.Server(through)
		if !ok {
			continue
		}
		r.Log("Payouts from the request to completed · %s", s.Title)
		work, _, err := s.Work(ctx, through)
		work.Duration = throughTime
		var rates []float64
		for err == nil && len(rates) < r.Repeats {
			var rate float64
			rate, err = server.Through(ctx, func(ctx context.Context) error {
				_, err := r.Closed.Run(ctx, work)
				return err
			})
			rates = append(rates, rate)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.skip("Payouts from the request to completed, %s: %v", s.Title, err)
			continue
		}
		r.add(plan.PayoutThrough, "Create to completed, through the simulator", s, "req/s", rates...)
	}
	return nil
}
