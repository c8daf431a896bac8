package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// event is a line of go test -json; see go doc test2json and go help buildjson.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of the built package
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

// report collects the events of all groups. A package can be in several groups, and is counted in each.
type report struct {
	out   io.Writer
	began time.Time

	mu       sync.Mutex
	total    int
	ended    int
	passed   int                 // tests
	failures int                 // tests, and packages that failed without one
	broken   int                 // packages
	skips    map[string][]string // tests by the reason for which they were skipped
	packages []took
	tests    []took
	running  map[*packageRun]bool
	errors   []error
	builds   map[string]string // output of the compiler
}

// took is the duration of a package or test.
type took struct {
	name    string
	seconds float64
}

// packageRun is one package during its test.
type packageRun struct {
	name   string
	began  time.Time
	cached bool
	output map[string]*strings.Builder // by test; "" is the package itself
	order  []string

	tests    []took
	failures int
}

func newReport(out io.Writer) *report {
	return &report{out: out, began: time.Now(), skips: map[string][]string{}, running: map[*packageRun]bool{}, builds: map[string]string{}}
}

func (r *report) expect(packages []string) { r.total += len(packages) }

func (r *report) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors = append(r.errors, err)
}

// read reads the events of one go test command.
func (r *report) read(events io.Reader) error {
	current := map[string]*packageRun{}
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil {
				r.take(current, e)
			} else {
				r.print("%s", line) // output of the go command itself
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the events of go test: %w", err)
		}
	}
}

func (r *report) print(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, format, args...)
}

func (r *report) take(current map[string]*packageRun, e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Action == "build-output" {
		r.builds[e.ImportPath] += e.Output
		return
	}
	if e.Package == "" {
		return
	}
	p := current[e.Package]
	if p == nil {
		p = &packageRun{name: e.Package, began: time.Now(), output: map[string]*strings.Builder{}}
		current[e.Package] = p
		r.running[p] = true
	}
	switch e.Action {
	case "output":
		if e.Test == "" && strings.Contains(e.Output, "(cached)") {
			p.cached = true
		}
		p.write(e.Test, e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			delete(current, e.Package)
			delete(r.running, p)
			r.end(p, e)
			return
		}
		if e.Action == "skip" {
			reason := skipReason(p.output[e.Test])
			r.skips[reason] = append(r.skips[reason], short(p.name)+"."+e.Test)
		}
		if e.Action != "fail" {
			delete(p.output, e.Test)
		}
		if strings.Contains(e.Test, "/") {
			return // its parent counts
		}
		switch e.Action {
		case "pass":
			r.passed++
		case "fail":
			r.failures++
			p.failures++
		}
		p.tests = append(p.tests, took{short(p.name) + "." + e.Test, e.Elapsed})
	}
}

func (p *packageRun) write(test, text string) {
	b := p.output[test]
	if b == nil {
		b = &strings.Builder{}
		p.output[test] = b
		if !slices.Contains(p.order, test) {
			p.order = append(p.order, test)
		}
	}
	b.WriteString(text)
}

// end prints a line for a package, after the output of its failures.
func (r *report) end(p *packageRun, e event) {
	r.ended++
	word := "ok"
	switch e.Action {
	case "fail":
		word = "FAIL"
		r.broken++
		if p.failures == 0 { // it does not compile, or ended before its tests
			r.failures++
		}
		fmt.Fprint(r.out, r.builds[e.FailedBuild])
		for _, test := range p.order {
			if text := p.output[test]; text != nil { // a test that passed has only output after its end: a panic elsewhere
				fmt.Fprint(r.out, text.String())
			}
		}
	case "skip":
		word = "-" // no test files
	}
	if !p.cached && e.Action != "skip" {
		r.packages = append(r.packages, took{short(p.name), e.Elapsed})
		r.tests = append(r.tests, p.tests...)
	}
	seconds := fmt.Sprintf("%.1f s", e.Elapsed)
	if p.cached {
		seconds = "cached"
	}
	if e.Action == "skip" {
		seconds = "no tests"
	}
	fmt.Fprintf(r.out, "[%3d/%d] %-4s %-40s %10s\n", r.ended, r.total, word, short(p.name), seconds)
}

func short(name string) string { return strings.TrimPrefix(name, "bursar/") }

// skipReason returns the text of t.Skip in the output of a test: " file_test.go:12: reason".
func skipReason(output *strings.Builder) string {
	if output != nil {
		for line := range strings.Lines(output.String()) {
			if _, text, found := strings.Cut(line, ".go:"); found {
				if _, reason, found := strings.Cut(text, ": "); found {
					return strings.TrimSpace(reason)
				}
			}
		}
	}
	return "no reason given"
}

// beat prints what is running.
func (r *report) beat() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for p := range r.running {
		names = append(names, fmt.Sprintf("%s %.0f s", short(p.name), time.Since(p.began).Seconds()))
	}
	slices.Sort(names)
	what := "running " + strings.Join(names, ", ")
	if len(names) == 0 {
		what = "building"
	}
	fmt.Fprintf(r.out, "%.0f s: %s; %d of %d left\n", time.Since(r.began).Seconds(), what, r.total-r.ended, r.total)
}

const slowest = 10

// summary prints the slowest packages and tests, skipped tests and failures, and reports whether everything
// passed.
func (r *report) summary(interrupted bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.printSlowest("packages", r.packages)
	r.printSlowest("tests", r.tests)
	if len(r.skips) > 0 {
		fmt.Fprintln(r.out, "\nSkipped:")
	}
	skipped := 0
	reasons := make([]string, 0, len(r.skips))
	for reason, tests := range r.skips {
		skipped += len(tests)
		reasons = append(reasons, reason)
	}
	slices.Sort(reasons)
	for _, reason := range reasons {
		tests := r.skips[reason]
		more := ""
		if len(tests) > 3 {
			more = fmt.Sprintf(" and %d more", len(tests)-3)
		}
		fmt.Fprintf(r.out, "  %s: %s%s\n", reason, strings.Join(tests[:min(3, len(tests))], ", "), more)
	}
	for _, err := range r.errors {
		fmt.Fprintln(r.out, err)
	}
	left := r.total - r.ended
	fmt.Fprintf(r.out, "\n%d packages in %s", r.ended, time.Since(r.began).Round(time.Second))
	if interrupted || left > 0 {
		fmt.Fprintf(r.out, "; %d did not run. Run it again to continue: packages that passed are not repeated", left)
	}
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped\n", r.passed, r.failures, skipped)
	return r.broken == 0 && len(r.errors) == 0 && left == 0
}

func (r *report) printSlowest(what string, all []took) {
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b took) int { return cmp.Compare(b.seconds, a.seconds) })
	fmt.Fprintf(r.out, "\nSlowest %s:\n", what)
	for _, t := range all[:min(slowest, len(all))] {
		fmt.Fprintf(r.out, "%8.1f s  %s\n", t.seconds, t.name)
	}
}
