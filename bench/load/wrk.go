package load

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Wrk drives closed loops with the program wrk.
type Wrk struct {
	Version string
	program string
	runs    *Runs
}

// NewWrk finds wrk; it fails where wrk is not installed.
func NewWrk(runs *Runs) (*Wrk, error) {
	program, err := exec.LookPath("wrk")
	if err != nil {
		return nil, fmt.Errorf("the benchmark needs wrk (apt install wrk, brew install wrk): %w", err)
	}
	about, _ := exec.Command(program, "-v").Output() // prints its version with its usage, and exits with 1
	w := &Wrk{Version: "of unknown version", program: program, runs: runs}
	if words := strings.Fields(string(about)); len(words) > 1 && words[0] == "wrk" {
		w.Version = words[1]
	}
	return w, nil
}

//go:embed wrk.lua
var script string

// Run measures for the duration of the work. wrk takes whole seconds, but when it is
// interrupted it stops at the next tenth of a second and reports what it has measured.
func (w *Wrk) Run(ctx context.Context, work Work) (Result, error) {
	dir, err := os.MkdirTemp("", "bursar-wrk-")
	if err != nil {
		return Result{}, fmt.Errorf("make a folder for the script of wrk: %w", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "work.lua")
	threads := threadsFor(work.Connections)
	if err := os.WriteFile(path, []byte(luaWork(work, w.runs.next(), threads)+script), 0o600); err != nil {
		return Result{}, fmt.Errorf("write the script of wrk: %w", err)
	}
	for range 3 {
		var out []byte
		if out, err = w.execute(ctx, work, threads, path); err == nil {
			return parseWrk(string(out))
		}
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
	}
	return Result{}, fmt.Errorf("run wrk: %w", err)
}

// execute fails if the interruption comes before wrk is ready for it, which a very busy
// machine can cause.
func (w *Wrk) execute(ctx context.Context, work Work, threads int, path string) ([]byte, error) {
	seconds := (work.Duration + time.Second - 1) / time.Second
	cmd := exec.CommandContext(ctx, w.program, "--threads", strconv.Itoa(threads), "--connections", strconv.Itoa(work.Connections),
		"--duration", fmt.Sprintf("%ds", seconds), "--timeout", fmt.Sprintf("%ds", Timeout/time.Second), "--script", path, work.Base)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if work.Duration < seconds*time.Second {
		interrupt := time.AfterFunc(work.Duration, func() { _ = cmd.Process.Signal(os.Interrupt) }) // fails only if wrk has ended
		defer interrupt.Stop()
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("%w: %.400s", err, out.Bytes())
	}
	return out.Bytes(), nil
}

// threadsFor returns at most two threads, because the server needs its share of the cores.
// wrk drops the remainder when it divides the connections among its threads.
func threadsFor(connections int) int {
	threads := min(2, connections, runtime.NumCPU())
	if connections%threads != 0 {
		return 1
	}
	return threads
}

// luaWork writes the work as Lua variables for wrk.lua.
func luaWork(work Work, run string, threads int) string {
	var s strings.Builder
	fmt.Fprintf(&s, "local run, threads, mark = %q, %d, %q\n", run, threads, numberMark)
	s.WriteString("local requests = {\n")
	varied := len(work.Requests) > 1
	for _, r := range work.Requests {
		marked := r.fill(numberMark, 0)
		path := strings.ReplaceAll(r.Path, "{n}", numberMark) // keeps {id}
		fmt.Fprintf(&s, "{method=%q, path=%q, body=%s, headers={", r.Method, path, luaBody(marked.Body))
		for name, value := range marked.Header {
			fmt.Fprintf(&s, "[%q]=%q,", name, value)
		}
		s.WriteString("}, ids={")
		withID := strings.Contains(r.Path, "{id}")
		for _, id := range r.IDs {
			if withID {
				fmt.Fprintf(&s, "%q,", id)
			}
		}
		s.WriteString("}},\n")
		varied = varied || withID || strings.Contains(fmt.Sprint(marked.Path, marked.Header, marked.Body), numberMark)
	}
	fmt.Fprintf(&s, "}\nlocal varied = %t\nlocal order = {", varied)
	for _, i := range schedule(work.Requests) {
		fmt.Fprintf(&s, "%d,", i+1)
	}
	s.WriteString("}\n")
	return s.String()
}

func luaBody(body string) string {
	if body == "" {
		return "nil"
	}
	return strconv.Quote(body)
}

// parseWrk reads the report that wrk prints.
func parseWrk(out string) (Result, error) {
	find := func(pattern string) []float64 {
		var numbers []float64
		if match := regexp.MustCompile(pattern).FindStringSubmatch(out); match != nil {
			for _, text := range match[1:] {
				n, _ := strconv.ParseFloat(text, 64) // the patterns match numbers only
				numbers = append(numbers, n)
			}
		}
		return numbers
	}
	requests, rate := find(`(\d+) requests in `), find(`Requests/sec:\s+([\d.]+)`)
	if requests == nil || rate == nil {
		return Result{}, fmt.Errorf("wrk reported no requests: %.400s", out)
	}
	r := Result{Requests: int64(requests[0]), PerSecond: rate[0]}
	var causes []string
	if refused := find(`Non-2xx or 3xx responses: (\d+)`); refused != nil && r.Requests > 0 {
		r.Errors = int64(refused[0])
		r.PerSecond *= 1 - refused[0]/requests[0]
		causes = append(causes, "answers with an error status")
	}
	if failed := find(`Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)`); failed != nil {
		for i, cause := range []string{"failed connections", "failed reads", "failed writes", "timeouts"} {
			if failed[i] > 0 {
				r.Errors += int64(failed[i])
				causes = append(causes, cause)
			}
		}
	}
	r.FirstError = strings.Join(causes, ", ")
	return r, nil
}
