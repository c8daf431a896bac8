package load

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// impatient generators give up sooner than a test would.
func impatient() map[Generator]float64 {
	d := driver{numbers: &Numbers{}, timeout: 200 * time.Millisecond}
	return map[Generator]float64{&Closed{d}: 0, &Open{d}: 100}
}

func TestNoAnswerIsAnError(t *testing.T) {
	over := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer s.Close()
	defer close(over)
	for g, rate := range impatient() {
		r, err := g.Run(t.Context(), Work{
			Base: s.URL, Calls: []Call{{Method: "GET", Path: "/"}}, Connections: 2, Rate: rate, Duration: time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.Requests == 0 || r.Errors != r.Requests || r.PerSecond != 0 {
			t.Errorf("%s: %+v", g.Name(), r)
		}
		if r.P50 < 200*time.Millisecond {
			t.Errorf("%s: what was waited for in vain is no latency: %+v", g.Name(), r)
		}
		if rate > 0 && r.Requests != 100 {
			t.Errorf("%s: %d of 100 that were due are counted", g.Name(), r.Requests)
		}
	}
}

func TestConnectionCutWithoutAnswerIsAnError(t *testing.T) {
	var seen, cut atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if seen.Add(1)%3 == 0 {
			cut.Add(1)
			panic(http.ErrAbortHandler)
		}
	}))
	defer s.Close()
	for g, rate := range map[Generator]float64{NewClosed(&Numbers{}): 0, NewOpen(&Numbers{}): 100} {
		cut.Store(0)
		r, err := g.Run(t.Context(), Work{
			Base: s.URL, Calls: []Call{{Method: "GET", Path: "/cut"}}, Connections: 2, Rate: rate, Duration: time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.Errors != cut.Load() || r.Requests <= r.Errors {
			t.Errorf("%s: %d errors of %d requests, %d were cut", g.Name(), r.Errors, r.Requests, cut.Load())
		}
		if !strings.HasPrefix(r.FirstError, "GET /cut: read head of answer: ") {
			t.Errorf("%s: %s", g.Name(), r.FirstError)
		}
	}
}

func TestNoServerIsAnError(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	for g, rate := range impatient() {
		r, err := g.Run(t.Context(), Work{
			Base: "http://" + gone.Addr().String(), Calls: []Call{{Method: "GET", Path: "/"}},
			Connections: 2, Rate: rate, Duration: 100 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.Requests == 0 || r.Errors != r.Requests || !strings.Contains(r.FirstError, "connect") {
			t.Errorf("%s: %+v", g.Name(), r)
		}
	}
}
