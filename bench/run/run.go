// Package run measures: it fills the stores, starts the subjects and runs the workloads in turn.
package run

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/bench/report"
	"bursar/bench/subject"
)

// Run is one run of the benchmark.
type Run struct {
	Sizes    plan.Sizes
	Repeats  int            // of each measurement
	Mixed    time.Duration  // duration of the mixed load
	Settle   time.Duration  // from the start of the servers until they are idle
	Only     *regexp.Regexp // names of workloads; nil is all
	Subjects []*subject.Subject
	Log      func(format string, args ...any)
	Closed   load.Generator
	Open     load.Generator
	Runs     *load.Runs

	Measurements []report.Measurement
	Skipped      []string // what was left out, and why
}

// All measures everything. What fails is skipped; only the end of ctx is an error.
func (r *Run) All(ctx context.Context) error {
	for _, step := range []func(context.Context) error{r.fill, r.start, r.measureGroups, r.measureImports, r.measureThrough, r.measureDelays, r.measurePeaks, r.measureMixed, r.measureStarts} {
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

// Stop stops all servers.
func (r *Run) Stop() {
	for _, s := range r.Subjects {
		if err := s.Stop(); err != nil {
			r.skip("%s: %v", s.Title, err)
		}
	}
}

// skip notes what is left out.
func (r *Run) skip(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	r.Skipped = append(r.Skipped, line)
	r.Log("skipped: %s", line)
}

func (r *Run) wanted(name string) bool { return r.Only == nil || r.Only.MatchString(name) }

// drop leaves a subject out of all that follows.
func (r *Run) drop(s *subject.Subject, err error) {
	r.skip("%s: %v", s.Title, err)
	if err := s.Stop(); err != nil {
		r.Log("%s: %v", s.Title, err)
	}
	r.Subjects = slices.DeleteFunc(slices.Clone(r.Subjects), func(other *subject.Subject) bool { return other == s })
}

// add records a measurement that is not a rate.
func (r *Run) add(workload, title string, s *subject.Subject, unit string, values ...float64) {
	r.Measurements = append(r.Measurements, report.Measurement{Workload: workload, Title: title, Subject: s.Name, Unit: unit, Value: report.SpreadOf(values)})
}

// rate sums up the repeats of a load.
func rate(results []load.Result) report.Measurement {
	m := report.Measurement{Unit: "req/s"}
	var rates []float64
	for _, result := range results {
		rates = append(rates, result.PerSecond)
		m.Errors += result.Errors
	}
	m.Value = report.SpreadOf(rates)
	return m
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
