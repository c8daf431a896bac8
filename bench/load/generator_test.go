package load_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bursar/bench/load"
)

func TestNumbersAreNeverRepeated(t *testing.T) {
	each(t, func(t *testing.T, g generator) {
		s := serve(t, ok)
		call := load.Call{
			Method: "POST", Path: "/things/{n}", Body: `{"name":"thing {n}"}`,
			Header: map[string]string{"X-Number": "{n}"},
		}
		g.drive(t, s.URL, 100*time.Millisecond, call)
		g.drive(t, s.URL, 0, call)
		met := map[string]bool{}
		for _, r := range s.requests() {
			if met[r.number] {
				t.Fatalf("number %s came twice", r.number)
			}
			met[r.number] = true
			if r.path != "/things/"+r.number || r.body != `{"name":"thing `+r.number+`"}` {
				t.Fatalf("one request has several numbers: %+v", r)
			}
		}
	})
}

func TestIDsGoRound(t *testing.T) {
	each(t, func(t *testing.T, g generator) {
		s := serve(t, ok)
		g.drive(t, s.URL, 0, load.Call{Method: "GET", Path: "/{id}", IDs: []string{"a", "bc", "def"}})
		count := map[string]int{}
		for _, r := range s.requests() {
			count[r.path]++
		}
		if len(count) != 3 {
			t.Fatalf("not every id was used, or others were: %v", count)
		}
		if spread := max(count["/a"], count["/bc"], count["/def"]) - min(count["/a"], count["/bc"], count["/def"]); spread > connections+2 {
			t.Errorf("ids are not used evenly: %v", count)
		}
	})
}

func TestWeightsHold(t *testing.T) {
	each(t, func(t *testing.T, g generator) {
		s := serve(t, ok)
		g.drive(t, s.URL, 0,
			load.Call{Method: "GET", Path: "/read", Weight: 90},
			load.Call{Method: "POST", Path: "/write", Weight: 10, Body: "{n}"})
		var reads, writes int
		for _, r := range s.requests() {
			if r.path == "/read" {
				reads++
			} else {
				writes++
			}
		}
		if off := reads - 9*writes; off < -10*connections || off > 10*connections {
			t.Errorf("%d reads and %d writes are not 90 to 10", reads, writes)
		}
	})
}

func TestErrorsAreCountedAndTold(t *testing.T) {
	each(t, func(t *testing.T, g generator) {
		var refused atomic.Int64
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == "POST" {
				refused.Add(1)
				w.WriteHeader(http.StatusServiceUnavailable)
				_, _ = io.WriteString(w, "out of\norder"+strings.Repeat(".", 1000))
			}
		})
		r := g.drive(t, s.URL, 0, load.Call{Method: "GET", Path: "/"}, load.Call{Method: "POST", Path: "/jobs/{n}"})
		if r.Errors == 0 || r.Errors >= r.Requests || r.Errors > refused.Load() {
			t.Errorf("%d errors of %d requests, the server refused %d", r.Errors, r.Requests, refused.Load())
		}
		if !strings.HasPrefix(r.FirstError, "POST /jobs/{n}: status 503: out of order...") || len(r.FirstError) > 400 {
			t.Errorf("first error: %s", r.FirstError)
		}
	})
}

func TestRedirectsAreNoGoodAnswers(t *testing.T) {
	each(t, func(t *testing.T, g generator) {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) })
		r, err := g.Run(t.Context(), g.work(s.URL, 0, load.Call{Method: "GET", Path: "/"}))
		if err == nil && (r.Errors != r.Requests || r.PerSecond != 0) {
			t.Errorf("%d errors of %d requests, %f good ones a second", r.Errors, r.Requests, r.PerSecond)
		}
		if err != nil && !strings.Contains(err.Error(), "status 302") {
			t.Error(err)
		}
	})
}

func TestWarmupIsNotCounted(t *testing.T) {
	each(t, func(t *testing.T, g generator) {
		var seen atomic.Int64
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if seen.Add(1) <= 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		r := g.drive(t, s.URL, 500*time.Millisecond, load.Call{Method: "GET", Path: "/"})
		if r.Errors != 0 {
			t.Errorf("the first answers count: %d errors, %s", r.Errors, r.FirstError)
		}
		if r.Requests+3 > seen.Load() {
			t.Errorf("%d requests counted of %d", r.Requests, seen.Load())
		}
	})
}

func TestConnectionsAreKept(t *testing.T) {
	each(t, func(t *testing.T, g generator) {
		s := serve(t, ok)
		g.drive(t, s.URL, 0, load.Call{Method: "GET", Path: "/"})
		// wrk opens one to see whether it can, and one is for sending each call once more.
		if n := s.connections(); n > connections+2 {
			t.Errorf("%d connections were opened for %d", n, connections)
		}
	})
}

func TestClosedConnectionsAreOpenedAgain(t *testing.T) {
	each(t, func(t *testing.T, g generator) {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "close")
			ok(w, r)
		})
		r := g.drive(t, s.URL, 0, load.Call{Method: "GET", Path: "/"})
		if r.Errors != 0 {
			t.Errorf("%d errors of %d requests: %s", r.Errors, r.Requests, r.FirstError)
		}
		if int64(s.connections()) < r.Requests {
			t.Errorf("%d requests on %d connections", r.Requests, s.connections())
		}
	})
}

func TestCancelEndsARun(t *testing.T) {
	each(t, func(t *testing.T, g generator) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		over := make(chan struct{})
		s := serve(t, func(http.ResponseWriter, *http.Request) {
			cancel()
			<-over
		})
		defer close(over)
		w := g.work(s.URL, 0, load.Call{Method: "GET", Path: "/"})
		w.Duration = time.Hour
		if _, err := g.Run(ctx, w); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestImpossibleWorkIsRefused(t *testing.T) {
	each(t, func(t *testing.T, g generator) {
		for name, spoil := range map[string]func(*load.Work){
			"no calls":       func(w *load.Work) { w.Calls = nil },
			"no connections": func(w *load.Work) { w.Connections = 0 },
			"no duration":    func(w *load.Work) { w.Duration = 0 },
			"https":          func(w *load.Work) { w.Base = "https://127.0.0.1" },
			"no ids":         func(w *load.Work) { w.Calls[0].Path = "/{id}" },
			"no method":      func(w *load.Work) { w.Calls[0].Method = "" },
			"two lines":      func(w *load.Work) { w.Calls[0].Header = map[string]string{"A": "b\r\nC: d"} },
			"own length":     func(w *load.Work) { w.Calls[0].Header = map[string]string{"content-length": "1"} },
			"other loop":     func(w *load.Work) { w.Rate = 1 - min(w.Rate, 1) },
		} {
			w := g.work("http://127.0.0.1:1", 0, load.Call{Method: "GET", Path: "/"})
			spoil(&w)
			if _, err := g.Run(t.Context(), w); err == nil {
				t.Errorf("%s: was run", name)
			}
		}
	})
}

func TestAllSendTheSameBytes(t *testing.T) {
	sent := map[string][]string{}
	each(t, func(t *testing.T, g generator) {
		s := serve(t, ok)
		for _, call := range []load.Call{
			{Method: "PUT", Path: "/a%20b?q=%22", Body: "{\"text\":\"\\\"ü\\n\x01\"}\r\n", Header: map[string]string{"Content-Type": "application/json"}},
			{Method: "POST", Path: "/{id}", Body: "{id}\\{id}\"", IDs: []string{`x"\`}, Header: map[string]string{"Authorization": "Bearer {id}"}},
			{Method: "POST", Path: "/empty"},
			{Method: "DELETE", Path: "/gone"},
		} {
			g.drive(t, s.URL, 0, call)
		}
		for _, r := range s.requests() {
			text := r.method + " " + r.path + " " + r.body
			for _, name := range []string{"Content-Type", "Content-Length", "Authorization"} {
				text += "\n" + name + ": " + r.header.Get(name)
			}
			if !slices.Contains(sent[t.Name()], text) {
				sent[t.Name()] = append(sent[t.Name()], text)
			}
		}
		if first := sent["TestAllSendTheSameBytes/closed"]; len(first) != 4 || !slices.Equal(first, sent[t.Name()]) {
			t.Errorf("sent\n%q, closed\n%q", sent[t.Name()], first)
		}
	})
}

func TestPickPrefersWrk(t *testing.T) {
	name := load.Pick(&load.Numbers{}).Name()
	_, err := exec.LookPath("wrk")
	if installed := err == nil; installed != strings.HasPrefix(name, "wrk ") {
		t.Errorf("picked %s; wrk installed: %t", name, installed)
	}
}
