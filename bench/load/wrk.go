package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

// Wrk drives closed loops with the program wrk, which others know and can repeat.
type Wrk struct {
	numbers *Numbers
	program string
	version string
}

// NewWrk finds wrk; it fails where wrk is not installed.
func NewWrk(numbers *Numbers) (*Wrk, error) {
	program, err := exec.LookPath("wrk")
	if err != nil {
		return nil, fmt.Errorf("find wrk: %w", err)
	}
	// It tells its version together with its usage, and exits as if misused.
	about, _ := exec.Command(program, "-v").Output()
	w := &Wrk{numbers: numbers, program: program, version: "of unknown version"}
	if words := bytes.Fields(about); len(words) > 1 && string(words[0]) == "wrk" {
		w.version = string(words[1])
	}
	return w, nil
}

// Pick is wrk where it is installed, else Closed.
func Pick(numbers *Numbers) Generator {
	if w, err := NewWrk(numbers); err == nil {
		return w
	}
	return NewClosed(numbers)
}

func (w *Wrk) Name() string { return "wrk " + w.version }

func (w *Wrk) Run(ctx context.Context, work Work) (Result, error) {
	if work.Rate != 0 {
		return Result{}, errors.New("wrk: work has a rate")
	}
	p, err := newPlan(work)
	if err != nil {
		return Result{}, fmt.Errorf("wrk: %w", err)
	}
	var warmup Result
	if work.Warmup > 0 {
		warm := work
		warm.Warmup, warm.Duration = 0, work.Warmup
		if warmup, err = NewClosed(w.numbers).Run(ctx, warm); err != nil {
			return Result{}, fmt.Errorf("wrk: warm up: %w", err)
		}
	}
	measured, err := w.measure(ctx, p, work)
	if err != nil {
		return Result{}, fmt.Errorf("wrk: %w", err)
	}
	result, err := measured.result(work.Connections)
	if err != nil {
		return Result{}, fmt.Errorf("wrk: %w", err)
	}
	if err := w.explain(ctx, p, measured, warmup, &result); err != nil {
		return Result{}, fmt.Errorf("wrk: %w", err)
	}
	return result, nil
}

// measure lets wrk run and reads what its script reports.
func (w *Wrk) measure(ctx context.Context, p *plan, work Work) (*report, error) {
	dir, err := os.MkdirTemp("", "bursar-wrk-")
	if err != nil {
		return nil, fmt.Errorf("create directory for the script: %w", err)
	}
	defer os.RemoveAll(dir)
	path, out := filepath.Join(dir, "work.lua"), filepath.Join(dir, "report.json")
	threads := threadsFor(work.Connections)
	text := script(p, threads, w.numbers.take(int64(threads)*scriptBlock), out)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write script: %w", err)
	}
	seconds := int((work.Duration + time.Second - 1) / time.Second)
	cmd := exec.CommandContext(ctx, w.program, "--threads", strconv.Itoa(threads),
		"--connections", strconv.Itoa(work.Connections), "--duration", strconv.Itoa(seconds)+"s",
		"--timeout", strconv.Itoa(int(answerTimeout/time.Second))+"s", "--script", path, work.Base)
	said, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("run: %w: %.400s", err, oneLine(said))
	}
	data, err := os.ReadFile(out)
	if err != nil {
		return nil, fmt.Errorf("read its report: %w; it said: %.400s", err, oneLine(said))
	}
	r := &report{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("parse its report: %w", err)
	}
	return r, nil
}

// threadsFor is at most two, for the server needs its share of the machine. They
// share connections evenly, since wrk would leave out the rest of the division.
func threadsFor(connections int) int {
	threads := min(2, connections, runtime.NumCPU())
	if connections%threads != 0 {
		return 1
	}
	return threads
}
