package run

import (
	"context"
	"time"

	"bursar/bench/plan"
)

// delayTime is how long creates run while the delays of the audit log are measured.
const delayTime = 3 * time.Second

// measureDelays measures how long it takes until an action is in the feed of the audit log, and
// until a signed checkpoint covers it, while 64 callers create entries.
func (r *Run) measureDelays(ctx context.Context) error {
	if !r.wanted(plan.CheckpointDelay) && !r.wanted(plan.FeedDelay) {
		return nil
	}
	create := plan.Workload{Kind: plan.Create, Store: r.Sizes.Main, Callers: plan.Callers}
	for _, s := range r.Subjects {
		server, ok := s.Server(create)
		if !ok || !server.Follows() {
			continue
		}
		work, ok, err := s.Work(ctx, create)
		if err != nil || !ok {
			continue // which the creates have reported
		}
		work.Duration = delayTime
		r.Log("Delays of the audit log · %s", s.Title)
		feed, checkpoint, err := server.Delays(ctx, func(ctx context.Context) error {
			_, err := r.Closed.Run(ctx, work)
			return err
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.skip("Delays of the audit log, %s: %v", s.Title, err)
			continue
		}
		r.add(plan.FeedDelay, "Until a follower of the feed has it", s, "ms", feed)
		r.add(plan.CheckpointDelay, "Until a signed checkpoint covers it", s, "ms", checkpoint)
	}
	return nil
}
