package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/setup"
	"bursar/internal/wait"
)

// process is a running server.
type process struct {
	URL    string
	Out    *servertest.LogBuffer
	Log    *servertest.LogBuffer
	cmd    *exec.Cmd
	exited chan struct{}
}

// environment is that of the tests without settings of the program, but for a vault key. A program
// that looks for data races would otherwise wait for a second before it exits.
func environment(more []string) []string {
	env := []string{"GORACE=atexit_sleep_ms=0", "BURSAR_VAULT_KEY=" + vaultKey}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "BURSAR_") {
			env = append(env, entry)
		}
	}
	return append(env, more...)
}

// spawn runs `bursar serve` with these flags and variables until the end of the
// test, and waits until it listens.
func spawn(t *testing.T, env []string, flags ...string) *process {
	t.Helper()
	return launch(t, flags, func(cmd *exec.Cmd) { cmd.Env, cmd.Dir = environment(env), t.TempDir() })
}

// launch is spawn for a test that prepares the process itself.
func launch(t *testing.T, flags []string, prepare func(*exec.Cmd)) *process {
	t.Helper()
	p := &process{
		Out: &servertest.LogBuffer{}, Log: &servertest.LogBuffer{}, exited: make(chan struct{}),
		cmd: exec.Command(program, append([]string{"serve"}, flags...)...),
	}
	p.cmd.Stdout, p.cmd.Stderr = p.Out, p.Log
	prepare(p.cmd)
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start the server: %v", err)
	}
	go func() {
		_ = p.cmd.Wait() // the state says how it ended
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.kill()
		if log := p.Log.String(); strings.Contains(log, "DATA RACE") || strings.Contains(log, `"msg":"panic"`) || strings.Contains(log, "panic in a write") {
			t.Errorf("the server has a race or panicked:\n%s", log)
		}
	})
	wait.Until(t, "the server listens", func() bool {
		select {
		case <-p.exited:
			t.Fatalf("the server ended: %s\n%s", p.cmd.ProcessState, p.Log)
		default:
		}
		for _, line := range p.lines(t) {
			if line["msg"] == "listening" {
				p.URL = "http://" + line["address"].(string)
			}
		}
		return p.URL != ""
	})
	return p
}

// start runs a server without rate limits on a store.
func start(t *testing.T, store dbtest.Store, flags ...string) *process {
	t.Helper()
	return spawn(t, nil, append(append(at(store), "--listen", "127.0.0.1:0", "--rate-limit", "off", "--drain-delay", "200ms"), flags...)...)
}

// startNode is start with a public address. Session tokens are bound to it, so they are
// good on all nodes of one service, and after a restart on another port.
func startNode(t *testing.T, store dbtest.Store, flags ...string) *process {
	t.Helper()
	return start(t, store, append(flags, "--public-url", "https://pay.example.com")...)
}

// at are the flags that say where a store is.
func at(store dbtest.Store) []string {
	if store.Engine == "postgres" {
		return []string{"--database-url", store.Config.URL}
	}
	return []string{"--data", store.Config.Dir}
}

// lines are the complete lines of the log, each of which must be JSON.
func (p *process) lines(t *testing.T) []map[string]any {
	t.Helper()
	var lines []map[string]any
	log := p.Log.String()
	for line := range strings.Lines(log[:strings.LastIndex(log, "\n")+1]) {
		var parsed map[string]any
		if err := json.Unmarshal([]byte(line), &parsed); err != nil {
			t.Fatalf("the log has a line that is not JSON: %s\n%s", line, log)
		}
		lines = append(lines, parsed)
	}
	return lines
}

// welcome is what the first start says. It arrives on its own way, maybe after
// the log says that the server listens.
func (p *process) welcome(t *testing.T) string {
	t.Helper()
	wait.Until(t, "the server says how to use it", func() bool {
		return strings.HasSuffix(p.Out.String(), "\n\n") && strings.Contains(p.Out.String(), "curl")
	})
	return p.Out.String()
}

// kill ends the server at once, as a crash would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only where it has ended
	<-p.exited
}

func (p *process) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatalf("signal the server: %v", err)
	}
}

// end waits until the server has ended, and demands that it does so properly.
func (p *process) end(t *testing.T) {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(wait.Limit()):
		t.Fatalf("the server goes on and on:\n%s", p.Log)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the server ended with %s:\n%s", p.cmd.ProcessState, p.Log)
	}
}

// terminate asks the server to stop and waits until it has.
func (p *process) terminate(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	p.end(t)
}

// result is how a command ended.
type result struct {
	Code     int
	Out, Err string
}

// command runs bursar to its end.
func command(t *testing.T, env []string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Limit())
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.Dir = environment(env), &out, &errs, t.TempDir()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("bursar %s: %v", strings.Join(args, " "), err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// succeed runs bursar, demands that it succeeds, and returns what it printed.
func succeed(t *testing.T, args ...string) string {
	t.Helper()
	return succeedWith(t, nil, args...)
}

// succeedWith is succeed with more in the environment.
func succeedWith(t *testing.T, env []string, args ...string) string {
	t.Helper()
	got := command(t, env, args...)
	if got.Code != 0 || got.Err != "" {
		t.Fatalf("bursar %s: exit code %d\n%s", strings.Join(args, " "), got.Code, got.Err)
	}
	return got.Out
}

// first are the flags of `bursar init`, but for the store.
var first = []string{"--email", "ada@example.com", "--name", "Ada Lovelace", "--organization", "Acme", "--workspace", "Treasury"}

// initialise sets a store up.
func initialise(t *testing.T, store dbtest.Store) (made setup.Result) {
	t.Helper()
	return initialiseWith(t, nil, store)
}

// initialiseWith is initialise with more in the environment.
func initialiseWith(t *testing.T, env []string, store dbtest.Store) (made setup.Result) {
	t.Helper()
	store.CopySchema(t)
	got := command(t, env, append(append([]string{"init", "--json"}, first...), at(store)...)...)
	if err := json.Unmarshal([]byte(got.Out), &made); err != nil || got.Code != 0 {
		t.Fatalf("the store is not set up: exit code %d, %v\n%s%s", got.Code, err, got.Out, got.Err)
	}
	return made
}

// everyRow reads a list page by page to its end.
func everyRow(c *servertest.Client, path string) (rows []servertest.Body) {
	for next := path; ; {
		answer := c.Get(next).OK()
		rows = append(rows, answer.List()...)
		cursor, more := answer.Page()
		if !more {
			return rows
		}
		next = path + "&cursor=" + cursor
	}
}
