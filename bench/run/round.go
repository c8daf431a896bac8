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

const (
	warmup     = 200 * time.Millisecond // before the first repeat
	shortTurns = 5                      // turns that replace one repeat in groups of short turns
	slowFactor = 3                      // for workloads whose answers may take seconds
	settleTime = 2 * time.Second        // from the start of the servers until they are idle
	peakTime   = 2 * time.Second        // to find the highest rate of the mixed load

	// The rest only serves estimates.
	overhead  = 60 * time.Millisecond // of each measurement
	startTime = 800 * time.Millisecond
	fillTime  = 40 * time.Microsecond // per row, on one core
)

// slot is a workload of one subject, measured once in each round.
type slot struct {
	workload plan.Workload
	subject  *subject.Subject
	work     load.Work
	results  []load.Result
	failed   bool
}

// measureGroups measures the groups one after the other.
func (r *Run) measureGroups(ctx context.Context) error {
	groups := plan.Groups(r.Sizes)
	slots := make([][]*slot, len(groups))
	count := 0
	for i, group := range groups {
		var err error
		if slots[i], err = r.slots(ctx, group); err != nil {
			return err
		}
		count += len(slots[i])
	}
	r.limitRepeats(count)
	steps := 0
	for i, group := range groups {
		steps += len(slots[i]) * r.rounds(group)
	}
	r.Progress.phase(steps, time.Duration(count*r.Repeats)*r.slotTime()+r.timeOfOthers())
	for i, group := range groups {
		for round := range r.rounds(group) {
			if err := r.round(ctx, slots[i], round); err != nil {
				return err
			}
		}
		for _, s := range slots[i] {
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
				work.Duration = r.duration(w, group)
				out = append(out, &slot{workload: w, subject: s, work: work})
			}
		}
	}
	return out, nil
}

func (r *Run) duration(w plan.Workload, group plan.Group) time.Duration {
	d := time.Duration(r.Seconds) * time.Second
	switch {
	case group.ShortTurns:
		return d / shortTurns
	case w.Slow():
		return d * slowFactor
	}
	return d
}

func (r *Run) rounds(group plan.Group) int {
	if group.ShortTurns {
		return r.Repeats * shortTurns
	}
	return r.Repeats
}

// round measures each slot once. The order is reversed from round to round: who is first in one
// is last in the next.
func (r *Run) round(ctx context.Context, slots []*slot, round int) error {
	order := slices.Clone(slots)
	if round%2 == 1 {
		slices.Reverse(order)
	}
	for _, s := range order {
		r.Progress.next("%s · %s · round %d", s.workload.Title(), s.subject.Title, round+1)
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
	if server, ok := s.subject.Server(s.workload); ok && ctx.Err() == nil {
		err = errors.Join(err, server.Died())
	}
	if err != nil {
		return err
	}
	if result.Errors > 0 {
		r.Progress.Say("%s, %s: %d of %d requests failed: %s", s.workload.Title(), s.subject.Title, result.Errors, result.Requests, result.FirstError)
	}
	s.results = append(s.results, result)
	return nil
}

func (s *slot) measurement() report.Measurement {
	m := rate(s.results)
	m.Workload, m.Title, m.Subject, m.Rows = s.workload.Name(), s.workload.Title(), s.subject.Name, s.workload.Rows()
	return m
}

// slotTime is about how long one repeat of a slot takes, however many turns it has.
func (r *Run) slotTime() time.Duration {
	return time.Duration(r.Seconds)*time.Second + overhead*2 + warmup/time.Duration(r.Repeats)
}

// limitRepeats leaves out repeats that there is no time for: on a slow machine filling the
// stores takes long.
func (r *Run) limitRepeats(slots int) {
	wanted := r.Repeats
	left := r.Within - time.Since(r.Progress.began) - r.timeOfOthers()
	for r.Within > 0 && r.Repeats > 1 && time.Duration(slots*r.Repeats)*r.slotTime() > left {
		r.Repeats--
	}
	if r.Repeats < wanted {
		r.Progress.Say("repeating %d times instead of %d, to end within %s", r.Repeats, wanted, r.Within)
	}
}

// estimate is about how long everything after the filling takes. The subjects support four
// of ten workloads on average.
func (r *Run) estimate() time.Duration {
	workloads := 0
	for _, group := range plan.Groups(r.Sizes) {
		for _, w := range group.Workloads {
			if r.wanted(w.Name()) {
				workloads++
			}
		}
	}
	return time.Duration(workloads*len(r.Subjects)*r.Repeats*4/10)*r.slotTime() + r.timeOfOthers()
}

// timeOfOthers is about how long the mixed load and the starts take.
func (r *Run) timeOfOthers() (all time.Duration) {
	if r.wanted(plan.MixedHalf) {
		all += r.Mixed*19/12 + 3*peakTime
	}
	for _, size := range r.Sizes.StartSizes() {
		if r.wanted(plan.StartName(size)) {
			all += 3 * starts * startTime
		}
	}
	return all
}
