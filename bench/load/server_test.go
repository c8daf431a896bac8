package load_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"bursar/bench/load"
)

const connections = 4

// generator is one of those under test, with the work that it needs.
type generator struct {
	load.Generator
	rate     float64
	duration time.Duration
}

// each runs a test for every generator that this machine has.
func each(t *testing.T, test func(t *testing.T, g generator)) {
	t.Run("closed", func(t *testing.T) { test(t, generator{load.NewClosed(&load.Numbers{}), 0, 200 * time.Millisecond}) })
	t.Run("open", func(t *testing.T) { test(t, generator{load.NewOpen(&load.Numbers{}), 400, 200 * time.Millisecond}) })
	t.Run("wrk", func(t *testing.T) {
		if _, err := exec.LookPath("wrk"); err != nil && os.Getenv("CI") != "true" {
			t.Skip("wrk is not installed: 'make test' installs it where it can")
		}
		w, err := load.NewWrk(&load.Numbers{})
		if err != nil {
			t.Fatal(err)
		}
		test(t, generator{w, 0, time.Second}) // it takes whole seconds
	})
}

func (g generator) drive(t *testing.T, base string, warmup time.Duration, calls ...load.Call) load.Result {
	t.Helper()
	r, err := g.Run(t.Context(), g.work(base, warmup, calls...))
	if err != nil {
		t.Fatal(err)
	}
	if r.Requests == 0 {
		t.Fatal("no requests were sent")
	}
	return r
}

func (g generator) work(base string, warmup time.Duration, calls ...load.Call) load.Work {
	return load.Work{
		Base: base, Calls: calls, Connections: connections, Rate: g.rate,
		Warmup: warmup, Duration: g.duration,
	}
}

// got is a request as the server saw it.
type got struct {
	method, path, number, body string
	header                     http.Header
}

// server answers with handle and remembers every request and connection.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	seen   []got
	opened int
}

func serve(t *testing.T, handle http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		s.seen = append(s.seen, got{r.Method, r.URL.Path, r.Header.Get("X-Number"), string(body), r.Header})
		s.mu.Unlock()
		handle(w, r)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			s.opened++
			s.mu.Unlock()
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *server) requests() []got {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]got(nil), s.seen...)
}

func (s *server) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") }
