package run

import (
	"context"
	"slices"
	"time"

	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/bench/subject"
)

const (
	paceSetter = "bursar-sqlite" // whose rate the yardstick is driven at
	yardstick  = "bare"
)

// mixer is a subject under the mixed load.
type mixer struct {
	subject *subject.Subject
	work    load.Work
	results []load.Result
	memory  []float64 // in the course of the load
}

// turn is one load at a fixed rate.
type turn struct {
	name string
	last time.Duration
}

// turns takes the minute apart, with the yardstick that it is held against in between,
// so that a machine that becomes slower or faster meanwhile shows in both.
func (r *Run) turns() []turn {
	const parts = 6
	var out []turn
	for range parts {
		out = append(out, turn{paceSetter, r.Minute / parts}, turn{yardstick, r.Minute / parts / 3})
	}
	return append(out, turn{"bursar-postgres", r.Minute / 4})
}

// measureMixed finds the highest rate of the mixed load, and then asks for half of
// it whether or not earlier requests are answered.
func (r *Run) measureMixed(ctx context.Context) error {
	if !r.wanted(plan.MixedHalf) {
		return nil
	}
	mixers, err := r.mixers(ctx)
	if err != nil {
		return err
	}
	for _, turn := range r.turns() {
		at := slices.IndexFunc(mixers, func(m *mixer) bool { return m.subject.Name == turn.name })
		if at < 0 {
			continue
		}
		if err := r.half(ctx, mixers[at], turn.last); err != nil {
			return err
		}
	}
	for _, m := range mixers {
		if len(m.results) > 0 {
			r.addLoad(plan.MixedHalf, "Half of the highest rate", m.subject, m.results...)
		}
		if growth, ok := growth(m.memory); ok && m.subject.Name != yardstick {
			r.add(plan.MemoryGrowth, "At the end of the mixed load against its start", m.subject, "×", growth)
		}
	}
	return nil
}

// mixers are the subjects that know the mix, each with half of its highest rate; the
// yardstick has the rate of the one that it is held against.
func (r *Run) mixers(ctx context.Context) ([]*mixer, error) {
	var out []*mixer
	pace := 0.0
	for _, s := range r.Subjects {
		task, ok, err := s.Ask(ctx, plan.Work{Kind: plan.Mixed, Store: r.Sizes.Main})
		if err == nil && !ok {
			continue // peers do not know it
		}
		m := &mixer{subject: s, work: load.Work{Base: task.Base, Calls: task.Calls, Connections: plan.Callers, Duration: peakTime}}
		var highest load.Result
		if err == nil {
			r.Progress.Step(peakTime, "Mixed load, the highest rate · %s", s.Title)
			highest, err = r.Closed.Run(ctx, m.work)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			r.skip("Mixed load, %s: %v", s.Title, err)
			continue
		}
		r.addLoad(plan.MixedHighest, "Highest rate", s, highest)
		m.work.Rate = highest.PerSecond / 2
		if s.Name == paceSetter {
			pace = m.work.Rate
		}
		if s.Name == yardstick && pace > 0 {
			m.work.Rate = pace
		}
		out = append(out, m)
	}
	return out, nil
}

// half drives a subject at a fixed rate and watches its memory.
func (r *Run) half(ctx context.Context, m *mixer, last time.Duration) error {
	m.work.Duration = last
	r.Progress.Step(last, "Mixed load for %s at %.0f requests a second · %s", last, m.work.Rate, m.subject.Title)
	server, _ := m.subject.Of(r.Sizes.Main)
	watch := watchMemory(server)
	result, err := r.Open.Run(ctx, m.work)
	memory, memoryErr := watch.end()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		r.skip("Mixed load, %s: %v", m.subject.Title, err)
		return nil
	}
	if result.Errors > 0 {
		r.Progress.Say("Mixed load, %s: %d of %d requests failed: %s", m.subject.Title, result.Errors, result.Requests, result.FirstError)
	}
	m.results = append(m.results, result)
	if memoryErr != nil {
		r.skip("Memory over the mixed load, %s: %v", m.subject.Title, memoryErr)
	}
	m.memory = append(m.memory, memory...)
	return nil
}
