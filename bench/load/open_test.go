package load_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bursar/bench/load"
)

func TestOpenLoopKeepsItsRate(t *testing.T) {
	s := serve(t, ok)
	r, err := load.NewOpen(&load.Numbers{}).Run(t.Context(), load.Work{
		Base: s.URL, Calls: []load.Call{{Method: "GET", Path: "/"}}, Connections: connections,
		Rate: 250, Warmup: 400 * time.Millisecond, Duration: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Requests != 250 || len(s.requests()) != 350 {
		t.Errorf("%d requests counted of %d, want 250 of 350", r.Requests, len(s.requests()))
	}
	if r.PerSecond > 250 {
		t.Errorf("%f a second", r.PerSecond)
	}
}

// A request that is due while the server stalls waits, though it is not yet
// sent; a closed loop would only see that each connection's one request was slow.
func TestOpenLoopCountsWaiting(t *testing.T) {
	const stall = 300 * time.Millisecond
	var seen atomic.Int64
	var door sync.RWMutex
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if seen.Add(1) == 100 {
			door.Lock()
			time.Sleep(stall)
			door.Unlock()
		}
		door.RLock()
		defer door.RUnlock()
		ok(w, r)
	})
	r, err := load.NewOpen(&load.Numbers{}).Run(t.Context(), load.Work{
		Base: s.URL, Calls: []load.Call{{Method: "GET", Path: "/"}}, Connections: 2,
		Rate: 500, Duration: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	// 150 of 500 were due meanwhile, evenly: the slowest tenth waited for 200 ms or more.
	if r.P99 < stall*8/10 || r.P90 < stall/2 {
		t.Errorf("a stall of %s shows as p99 %s, p90 %s", stall, r.P99, r.P90)
	}
	if r.Requests != 500 || r.Errors != 0 {
		t.Errorf("%d requests, %d errors: %s", r.Requests, r.Errors, r.FirstError)
	}
}
