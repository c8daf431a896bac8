package run

import (
	"runtime"
	"slices"
	"time"

	"bursar/bench/plan"
	"bursar/bench/subject"
)

// How long steps take, beside what is asked for. They are only for telling when the
// run ends, but for warmup, settle and peakTime.
const (
	warmup     = 200 * time.Millisecond // once, before the first repeat
	slowFactor = 3                      // for works whose answers may take seconds
	overhead   = 60 * time.Millisecond
	settle     = 2 * time.Second // from the start of the servers until they are idle
	peakTime   = 2 * time.Second // to find the highest rate of the mixed load
	startTime  = 800 * time.Millisecond
	perMillion = 40 * time.Second // filled rows, on one core
)

// jobTime is how much later the run ends for a job, when all cores fill.
func jobTime(j subject.Job) time.Duration {
	return time.Duration(float64(perMillion) * float64(j.Rows) / 1e6 / float64(runtime.NumCPU()))
}

func (r *Run) slotTime() time.Duration {
	return time.Duration(r.Seconds)*time.Second + overhead + warmup/time.Duration(r.Repeats)
}

// fit leaves out repeats of that many slots that there is no time for: on a slow
// machine filling the stores takes long.
func (r *Run) fit(slots int) {
	wanted := r.Repeats
	left := r.Within - time.Since(r.began) - r.timeOfOthers()
	for r.Within > 0 && r.Repeats > 1 && time.Duration(slots*r.Repeats)*r.slotTime() > left {
		r.Repeats--
	}
	if r.Repeats < wanted {
		r.Progress.Say("repeating %d times, not %d, to end within %s", r.Repeats, wanted, r.Within)
	}
}

// timeOfGroups is for before the subjects are there; they know nothing of six works
// out of ten.
func (r *Run) timeOfGroups() time.Duration {
	works := 0
	for _, group := range plan.Groups(r.Sizes) {
		for _, w := range group.Works {
			if r.wanted(w.Name()) {
				works++
			}
		}
	}
	return r.slotTime() * time.Duration(works*len(r.Subjects)*r.Repeats*4/10)
}

// others counts the steps after the groups, and how long they take: the mixed load
// and the starts.
func (r *Run) others() (steps int, all time.Duration) {
	asked := func(name string) bool {
		return slices.ContainsFunc(r.Subjects, func(s *subject.Subject) bool { return s.Name == name })
	}
	highest := map[string]bool{}
	for _, turn := range r.turns() {
		if !asked(turn.name) || !r.wanted(plan.MixedHalf) {
			continue
		}
		if !highest[turn.name] {
			highest[turn.name] = true
			steps, all = steps+1, all+peakTime
		}
		steps, all = steps+1, all+turn.last
	}
	for _, s := range r.Subjects {
		for _, size := range plan.StartSizes(r.Sizes) {
			if s.Starts(size) && r.wanted(plan.StartName(size)) {
				steps, all = steps+1, all+starts*startTime
			}
		}
	}
	return steps, all
}

func (r *Run) timeOfOthers() time.Duration {
	_, all := r.others()
	return all
}
