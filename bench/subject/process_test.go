package subject

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func startShell(t *testing.T, script string) *process {
	t.Helper()
	p, err := start("/bin/sh", []string{"-c", script})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAServerThatEndsIsReportedWithItsCommand(t *testing.T) {
	p := startShell(t, "exit 3")
	defer p.end()
	err := p.await(t.Context(), Probe{URL: "http://127.0.0.1:1/"})
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "/bin/sh -c exit 3") {
		t.Errorf("got %v", err)
	}
}

func TestAServerIsReadyWhenItAnswersWithSuccess(t *testing.T) {
	requests := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests++; requests < 3 || r.Header.Get("X-Key") != "k" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer s.Close()
	p := startShell(t, "exec sleep 1000")
	if err := p.await(t.Context(), Probe{URL: s.URL, Header: map[string]string{"X-Key": "k"}}); err != nil || requests != 3 {
		t.Errorf("%d requests: %v", requests, err)
	}
	if err := p.end(); err != nil {
		t.Errorf("end: %v", err)
	}
}

func TestOutputReportsWhatFailed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := output(ctx, "/bin/sh", "-c", "sleep 1000"); err == nil {
		t.Error("no error after the context has ended")
	}
	if _, err := output(t.Context(), "/bin/sh", "-c", "echo no such thing >&2; exit 1"); err == nil || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("got %v", err)
	}
	if out, err := output(t.Context(), "/bin/sh", "-c", "echo fine"); err != nil || string(out) != "fine\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestMemoryIsReadFromTheKernelsReport(t *testing.T) {
	m, err := parseMemory([]byte("Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\nThreads:\t4\n"))
	if err != nil || m.Now != 1<<20 || m.Peak != 2<<20 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := parseMemory([]byte("Name:\tx\n")); err == nil {
		t.Error("accepted a report without memory")
	}
}

func TestCPUTimeIsReadFromTheKernelsReport(t *testing.T) {
	got, err := parseStat([]byte("12 (a (b) c) S 7 12 12 0 -1 4194304 1 2 3 4 150 50 30 20 20 0 9 0 100 5 6\n"))
	if want := (stat{parent: "7", used: 2 * time.Second, ended: 500 * time.Millisecond}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := parseStat([]byte("12 (a) S 7")); err == nil {
		t.Error("accepted a report without CPU time")
	}
	if is, err := readStat("self"); err != nil || is.parent == "" {
		t.Errorf("this process: %+v, %v", is, err)
	}
}
