package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// Open drives open loops with the library vegeta.
type Open struct{ runs *Runs }

// NewOpen returns an open loop whose numbers do not collide with those of other generators.
func NewOpen(runs *Runs) *Open { return &Open{runs} }

// Run sends requests at the rate of the work. Latency counts from the moment at which a request
// should have been sent: waiting for a free connection, or for a generator that is behind
// schedule, is time that a caller would have waited too.
func (o *Open) Run(ctx context.Context, w Work) (Result, error) {
	if w.Rate < 1 {
		return Result{}, errors.New("an open loop needs a rate of at least one request per second")
	}
	attacker := vegeta.NewAttacker(vegeta.Workers(uint64(w.Connections)), vegeta.MaxBody(0), vegeta.Client(&http.Client{
		Timeout: Timeout, CheckRedirect: noRedirects,
		Transport: &http.Transport{MaxConnsPerHost: w.Connections, MaxIdleConnsPerHost: w.Connections, DisableCompression: true},
	}))
	defer context.AfterFunc(ctx, func() { attacker.Stop() })()
	interval := time.Second / time.Duration(w.Rate)
	var result Result
	var latency vegeta.LatencyMetrics
	began := time.Now()
	for hit := range attacker.Attack(targeter(w, o.runs.next()), vegeta.ConstantPacer{Freq: w.Rate, Per: time.Second}, w.Duration, "") {
		intended := began.Add(interval * time.Duration(hit.Seq+1)) // vegeta waits one interval before the first request
		latency.Add(hit.Timestamp.Add(hit.Latency).Sub(intended))
		result.Requests++
		if hit.Code/100 != 2 {
			result.Errors++
			if result.FirstError == "" {
				result.FirstError = fmt.Sprintf("%s %s: status %d %s", hit.Method, hit.URL, hit.Code, hit.Error)
			}
		}
	}
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	result.PerSecond = float64(result.Requests-result.Errors) / w.Duration.Seconds()
	result.Latency = Latency{P50: latency.Quantile(0.5), P90: latency.Quantile(0.9), P99: latency.Quantile(0.99), P999: latency.Quantile(0.999), Max: latency.Max}
	return result, nil
}

// targeter makes the requests of the work in the same order as wrk.lua.
func targeter(w Work, run string) vegeta.Targeter {
	order := schedule(w.Requests)
	var sent atomic.Int64
	return func(t *vegeta.Target) error {
		n := int(sent.Add(1))
		// The second term shifts the ids in each round of the schedule, so that all of them get their turn.
		r := w.Requests[order[n%len(order)]].fill(number(run, 0, n), n+n/len(order))
		t.Method, t.URL, t.Body = r.Method, w.Base+r.Path, []byte(r.Body)
		t.Header = make(http.Header, len(r.Header))
		for name, value := range r.Header {
			t.Header.Set(name, value)
		}
		return nil
	}
}
