package load

import (
	"fmt"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// tally counts what one connection met; tallies are merged at the end, so that
// connections share nothing while they measure.
type tally struct {
	timeout    time.Duration
	latency    *hdrhistogram.Histogram // in microseconds, as wrk has it
	requests   int64
	errors     int64
	firstError string
	firstAt    time.Duration
	last       time.Duration // when the last answer came
}

// longest is the longest latency told apart from longer ones: what waits for
// more than answerTimeout is an error anyway.
const longest = 2 * answerTimeout

func newTally(timeout time.Duration) *tally {
	return &tally{timeout: timeout, latency: hdrhistogram.New(1, longest.Microseconds(), 3)}
}

// answered notes an answer, or that there was none. Latency is that of answers
// and of what was waited for in vain: a refused connection is not a fast answer.
func (t *tally) answered(r *request, latency, at time.Duration, a answer, err error) {
	t.requests++
	t.last = max(t.last, at)
	if err == nil || latency >= t.timeout {
		t.record(latency, 1)
	}
	what := ""
	switch {
	case err != nil:
		what = err.Error()
	case a.status < 200 || a.status > 299:
		what = fmt.Sprintf("status %d: %s", a.status, oneLine(a.excerpt))
	case latency >= t.timeout:
		what = fmt.Sprintf("answered after %s", latency.Round(time.Millisecond))
	default:
		return
	}
	t.errors++
	if t.firstError == "" {
		t.firstError, t.firstAt = r.label+": "+what, at
	}
}

func (t *tally) record(latency time.Duration, times int64) {
	// Cannot fail: the value is within the histogram's bounds.
	_ = t.latency.RecordValues(min(max(latency, 0), longest).Microseconds(), times)
}

func (t *tally) merge(other *tally) {
	t.latency.Merge(other.latency)
	t.requests += other.requests
	t.errors += other.errors
	t.last = max(t.last, other.last)
	if other.firstError != "" && (t.firstError == "" || other.firstAt < t.firstAt) {
		t.firstError, t.firstAt = other.firstError, other.firstAt
	}
}

// result is the tally as measured over took.
func (t *tally) result(took time.Duration) Result {
	at := func(percent float64) time.Duration {
		return time.Duration(t.latency.ValueAtPercentile(percent)) * time.Microsecond
	}
	return Result{
		Requests: t.requests, Errors: t.errors, FirstError: t.firstError,
		PerSecond: float64(t.requests-t.errors) / took.Seconds(),
		P50:       at(50), P90: at(90), P99: at(99), P999: at(99.9),
		Max: time.Duration(t.latency.Max()) * time.Microsecond,
	}
}

func oneLine(text []byte) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "?")), " ")
}
