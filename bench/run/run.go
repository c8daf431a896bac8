// Package run measures: it fills the stores, starts the subjects and lets them work
// in turn.
package run

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/bench/progress"
	"bursar/bench/report"
	"bursar/bench/subject"
)

// Options is how thoroughly to measure.
type Options struct {
	Sizes   plan.Sizes
	Seconds int
	Repeats int
	Minute  time.Duration  // of the mixed load
	Within  time.Duration  // repeats are left out to end within it; 0 is no limit
	Only    *regexp.Regexp // names of works
}

// Run is one run of the benchmark.
type Run struct {
	Options
	Subjects []*subject.Subject
	Progress *progress.Progress
	Closed   load.Generator
	Turns    load.Generator // closed loops of less than a second
	Open     load.Generator

	began   time.Time
	cells   []report.Cell
	skipped []string
}

// All does everything. What cannot be done is left out with a line; only the end of
// ctx is an error.
func (r *Run) All(ctx context.Context) error {
	r.began = time.Now()
	defer r.Progress.End()
	for _, step := range []func(context.Context) error{r.fill, r.start, r.measureGroups, r.measurePeaks, r.measureMixed, r.measureStarts} {
		if err := step(ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	r.measureSizes()
	return nil
}

// Stop ends all servers.
func (r *Run) Stop() {
	for _, s := range r.Subjects {
		if err := s.Stop(); err != nil {
			r.skip("%s: %v", s.Title, err)
		}
	}
}

// Results are the cells in the order of the works, and what was left out.
func (r *Run) Results() (cells []report.Cell, skipped []string) { return r.cells, r.skipped }

// skip notes what is left out and goes on.
func (r *Run) skip(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	r.skipped = append(r.skipped, line)
	r.Progress.Say("skipped: %s", line)
}

func (r *Run) wanted(name string) bool { return r.Only == nil || r.Only.MatchString(name) }

// drop leaves a subject out of all that follows.
func (r *Run) drop(s *subject.Subject, err error) {
	r.skip("%s: %v", s.Title, err)
	if err := s.Stop(); err != nil {
		r.Progress.Say("%s: %v", s.Title, err)
	}
	var rest []*subject.Subject
	for _, other := range r.Subjects {
		if other != s {
			rest = append(rest, other)
		}
	}
	r.Subjects = rest
}
