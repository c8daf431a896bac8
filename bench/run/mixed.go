package run

import (
	"context"
	"slices"
	"sync"
	"time"

	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/bench/report"
	"bursar/bench/subject"
)

const (
	paced    = "bursar-sqlite" // sets the rate of the bare handler, which it is compared with
	baseline = "bare"
)

// mixedSubject is a subject under the mixed load.
type mixedSubject struct {
	*subject.Subject
	work    load.Work
	results []load.Result
	memory  []float64 // sampled during the load
}

// turn is one load at a fixed rate.
type turn struct {
	name string
	last time.Duration
}

// turns cuts the mixed load into parts and puts the bare handler in between, so that a machine
// that becomes slower or faster meanwhile shows in both.
func (r *Run) turns() []turn {
	const parts = 6
	var out []turn
	for range parts {
		out = append(out, turn{paced, r.Mixed / parts}, turn{baseline, r.Mixed / parts / 3})
	}
	return append(out, turn{"bursar-postgres", r.Mixed / 4})
}

// measureMixed finds the highest rate of the mixed load in a closed loop, and then sends half
// of it in an open one.
func (r *Run) measureMixed(ctx context.Context) error {
	if !r.wanted(plan.MixedHalf) {
		return nil
	}
	subjects, err := r.highestRates(ctx)
	if err != nil {
		return err
	}
	for _, turn := range r.turns() {
		at := slices.IndexFunc(subjects, func(m *mixedSubject) bool { return m.Name == turn.name })
		if at < 0 {
			continue
		}
		if err := r.half(ctx, subjects[at], turn.last); err != nil {
			return err
		}
	}
	for _, m := range subjects {
		r.addMixed(m)
	}
	return nil
}

// highestRates returns the subjects that support the mixed load. The rate of their work is
// half of the highest one, except for the bare handler, which has that of Bursar.
func (r *Run) highestRates(ctx context.Context) ([]*mixedSubject, error) {
	var out []*mixedSubject
	rateOfPaced := 0
	for _, s := range r.Subjects {
		work, ok, err := s.Work(ctx, plan.Workload{Kind: plan.Mixed, Store: r.Sizes.Main, Callers: plan.Callers})
		if err == nil && !ok {
			continue // a peer
		}
		var highest load.Result
		if err == nil {
			r.Log("Mixed load, highest rate · %s", s.Title)
			work.Duration = peakTime
			highest, err = r.Closed.Run(ctx, work)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			r.skip("Mixed load, %s: %v", s.Title, err)
			continue
		}
		m := rate([]load.Result{highest})
		m.Workload, m.Title, m.Subject = plan.MixedHighest, "Highest rate", s.Name
		r.Measurements = append(r.Measurements, m)
		work.Rate = int(highest.PerSecond / 2)
		if s.Name == paced {
			rateOfPaced = work.Rate
		}
		if s.Name == baseline && rateOfPaced > 0 {
			work.Rate = rateOfPaced
		}
		out = append(out, &mixedSubject{Subject: s, work: work})
	}
	return out, nil
}

// half runs a subject at half of its highest rate and samples its memory.
func (r *Run) half(ctx context.Context, m *mixedSubject, last time.Duration) error {
	m.work.Duration = last
	r.Log("Mixed load for %s at %d requests per second · %s", last, m.work.Rate, m.Title)
	server, _ := m.WithEntries(r.Sizes.Main)
	stop := sampleMemory(server, &m.memory)
	result, err := r.Open.Run(ctx, m.work)
	memoryErr := stop()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		r.skip("Mixed load, %s: %v", m.Title, err)
		return nil
	}
	if memoryErr != nil {
		r.skip("Memory during the mixed load, %s: %v", m.Title, memoryErr)
	}
	if result.Errors > 0 {
		r.Log("Mixed load, %s: %d of %d requests failed: %s", m.Title, result.Errors, result.Requests, result.FirstError)
	}
	m.results = append(m.results, result)
	return nil
}

// addMixed records the rate, the percentiles and the memory of a subject.
func (r *Run) addMixed(m *mixedSubject) {
	if len(m.results) == 0 {
		return
	}
	percentile := func(of func(load.Latency) time.Duration) (all []float64) {
		for _, result := range m.results {
			all = append(all, milliseconds(of(result.Latency)))
		}
		return all
	}
	p99 := percentile(func(l load.Latency) time.Duration { return l.P99 })
	half := rate(m.results)
	half.Workload, half.Title, half.Subject = plan.MixedHalf, "Half of the highest rate", m.Name
	half.Latency = &report.Latency{
		P50:  report.SpreadOf(percentile(func(l load.Latency) time.Duration { return l.P50 })).Median,
		P90:  report.SpreadOf(percentile(func(l load.Latency) time.Duration { return l.P90 })).Median,
		P99:  report.SpreadOf(p99).Median,
		P999: report.SpreadOf(percentile(func(l load.Latency) time.Duration { return l.P999 })).Median,
		Max:  report.SpreadOf(percentile(func(l load.Latency) time.Duration { return l.Max })).Median,
	}
	r.Measurements = append(r.Measurements, half)
	r.add(plan.MixedP99, "p99 at that rate", m.Subject, "ms", p99...)
	if ratio, ok := growth(m.memory); ok && m.Name != baseline {
		r.add(plan.MemoryGrowth, "At the end of the mixed load against its start", m.Subject, "×", ratio)
	}
}

// sampleMemory reads the memory of a server each second until stop is called.
func sampleMemory(server *subject.Server, into *[]float64) (stop func() error) {
	done := make(chan struct{})
	var sampling sync.WaitGroup
	var failed error
	sampling.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			memory, err := server.Memory()
			if err != nil {
				failed = err
				return
			}
			*into = append(*into, float64(memory.Now))
		}
	})
	return func() error {
		close(done)
		sampling.Wait()
		return failed
	}
}

// growth is the highest memory of the last five seconds divided by that of the first ten. Two
// samples are the least that it needs.
func growth(samples []float64) (ratio float64, ok bool) {
	if len(samples) < 2 {
		return 0, false
	}
	first := samples[:min(10, len(samples)/2)]
	last := samples[len(samples)-min(5, len(samples)/2):]
	return slices.Max(last) / slices.Max(first), true
}
