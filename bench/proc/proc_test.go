package proc

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func shell(t *testing.T, script string) Command {
	t.Helper()
	path, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	return Command{Path: path, Args: []string{"-c", script}}
}

func TestStopEndsAllThatAServerStarted(t *testing.T) {
	held := filepath.Join(t.TempDir(), "held")
	if err := syscall.Mkfifo(held, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Start(shell(t, "exec 9>"+held+"; sleep 1000 & wait"))
	if err != nil {
		t.Fatal(err)
	}
	holders, err := os.Open(held) // once the server has it open as well
	if err != nil {
		t.Fatal(err)
	}
	defer holders.Close()
	for range 2 {
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.ReadAll(holders); err != nil { // it ends with the last of them
		t.Fatal(err)
	}
}

func TestAServerThatEndsTellsWhy(t *testing.T) {
	p, err := Start(shell(t, "echo first; echo out of luck >&2; exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	err = p.Await(t.Context(), Probe{URL: "http://127.0.0.1:1/"})
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "out of luck") {
		t.Errorf("got %v", err)
	}
}

func TestAwaitTakesOnlyAGoodAnswer(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked < 3 || r.Header.Get("X-Key") != "k" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer s.Close()
	p, err := Start(shell(t, "sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	if err := p.Await(t.Context(), Probe{URL: s.URL, Header: map[string]string{"X-Key": "k"}}); err != nil || asked != 3 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

func TestOutputEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Output(ctx, shell(t, "sleep 1000")); err == nil {
		t.Error("no error")
	}
	if _, err := Output(t.Context(), shell(t, "echo no such thing >&2; exit 1")); err == nil || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("got %v", err)
	}
	if out, err := Output(t.Context(), shell(t, "echo fine")); err != nil || string(out) != "fine\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestMemoryIsRead(t *testing.T) {
	m, err := parseMemory([]byte("Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\nThreads:\t4\n"))
	if err != nil || m.Now != 1<<20 || m.Peak != 2<<20 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := parseMemory([]byte("Name:\tx\n")); err == nil {
		t.Error("nothing was missed")
	}
}
