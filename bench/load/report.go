package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// report is what the script in wrk writes when the run is over.
type report struct {
	Requests  int64      `json:"requests"` // answered, with whatever status
	Micros    int64      `json:"micros"`
	Status    int64      `json:"status"` // answers above 399
	Connect   int64      `json:"connect"`
	Read      int64      `json:"read"`
	Write     int64      `json:"write"`
	Timeout   int64      `json:"timeout"` // answers that came too late
	Known     bool       `json:"known"`
	Latencies [][2]int64 `json:"latencies"` // in microseconds, each with its count
}

func (r *report) result(connections int) (Result, error) {
	if !r.Known && r.Requests > 0 {
		return Result{}, errors.New("this version keeps latencies in an unknown form")
	}
	counts, err := r.asMeasured(connections)
	if err != nil {
		return Result{}, err
	}
	t := newTally(answerTimeout)
	for micros, count := range counts {
		t.record(time.Duration(micros)*time.Microsecond, count)
	}
	broken := r.Connect + r.Read + r.Write
	t.requests, t.errors = r.Requests+broken, r.Status+r.Timeout+broken
	return t.result(time.Duration(r.Micros) * time.Microsecond), nil
}

// asMeasured takes out the answers that wrk invents. Up to 4.1 it takes the mean
// interval for the pace that each connection should have kept, and for an answer
// that took several of them adds those that "should" have come meanwhile: at
// n-interval, n-2*interval and so on, down to the interval. In a closed loop
// nobody else was waiting. The additions go only downwards, so from the top each
// count is a measured one once those above it have been undone.
func (r *report) asMeasured(connections int) (map[int64]int64, error) {
	counts := make(map[int64]int64, len(r.Latencies))
	var values []int64
	var total int64
	for _, l := range r.Latencies {
		counts[l[0]] = l[1]
		values = append(values, l[0])
		total += l[1]
	}
	measured := r.Requests - r.Timeout
	if total == measured {
		return counts, nil
	}
	slices.Sort(values)
	interval := r.Micros / max(r.Requests/int64(connections), 1)
	for _, n := range slices.Backward(values) {
		if n < 2*interval {
			break
		}
		for m := n - interval; m > interval; m -= interval {
			counts[m] -= counts[n]
			total -= counts[n]
		}
	}
	if total != measured {
		return nil, fmt.Errorf("reports %d latencies for %d answers", total, measured)
	}
	return counts, nil
}

// explain finds what an error was, which wrk does not tell, by sending each call
// once more. wrk takes redirects for good answers, so they are found out here.
func (w *Wrk) explain(ctx context.Context, p *plan, r *report, warmup Result, result *Result) error {
	redirected := false
	again, err := newDriver(w.numbers).drive(ctx, p, 1, func(ctx context.Context, l *lane) error {
		for _, call := range p.requests {
			sent := l.clock.now()
			a, err := l.send(ctx, call)
			now := l.clock.now()
			l.tally.answered(call, now-sent, now, a, err)
			redirected = redirected || a.status >= 300 && a.status <= 399
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("send each call once more: %w", err)
	}
	if redirected {
		return fmt.Errorf("takes redirects for good answers: %s", again.firstError)
	}
	if result.Errors == 0 {
		return nil
	}
	counted := fmt.Sprintf("status %d, connect %d, read %d, write %d, timeout %d", r.Status, r.Connect, r.Read, r.Write, r.Timeout)
	switch {
	case again.firstError != "":
		result.FirstError = fmt.Sprintf("%s (wrk counted %s)", again.firstError, counted)
	case warmup.FirstError != "":
		result.FirstError = fmt.Sprintf("in the warm-up: %s (wrk counted %s)", warmup.FirstError, counted)
	default:
		result.FirstError = "not met again; wrk counted " + counted
	}
	return nil
}
