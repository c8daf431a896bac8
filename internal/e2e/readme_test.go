package e2e_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/db/dbtest"
	"bursar/internal/wait"
)

// section is a part of the README, up to the next heading.
func section(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatalf("read the README: %v", err)
	}
	_, after, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("the README has no section %q", heading)
	}
	part, _, _ := strings.Cut(after, "\n## ")
	return part
}

// blocks are the code blocks of a kind.
func blocks(text, kind string) (found []string) {
	for _, match := range regexp.MustCompile("(?s)```"+kind+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}

// fresh starts a server on an empty store, as the README tells a newcomer to, and
// returns the API key and the workspace that it prints.
func fresh(t *testing.T) (p *process, key, workspace string) {
	t.Helper()
	p = spawn(t, nil, append(at(dbtest.SQLite(t)), "--listen", "127.0.0.1:0")...)
	welcome := p.welcome(t)
	return p, apiKey.FindString(welcome), regexp.MustCompile(`\bws_\w+`).FindString(welcome)
}

// tourist runs a command as a newcomer does, in a folder, with the program on the PATH,
// on a terminal of 100 columns. A command of a tour may fail on purpose, so only what
// it prints counts.
func tourist(t *testing.T, dir, command string, env ...string) string {
	t.Helper()
	cmd := exec.Command("bash", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(environment(env), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"), "HOME="+dir,
		"XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+dir, "TZ=UTC", "LC_ALL=C.UTF-8", "NO_COLOR=1", "TERM=xterm")
	screen, err := onTerminal(cmd, 100, false)
	if err != nil {
		t.Fatalf("run %s: %v", command, err)
	}
	defer screen.Close()
	limit := time.AfterFunc(wait.Limit(), func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	var shown bytes.Buffer
	_, _ = io.Copy(&shown, screen) // ends with an error once the command has
	_ = cmd.Wait()
	return strings.ReplaceAll(shown.String(), "\r\n", "\n")
}

// masked replaces what differs from one run to the next, such as bars that were shown and wiped
// away, and the lengths of gaps between columns.
func masked(text, address string) string {
	text = strings.ReplaceAll(text, address, "http://127.0.0.1:8080")
	for _, one := range []struct{ what, by string }{
		{`\b([a-z]{2,6})_[0-9a-hjkmnp-tv-z]{26}\b`, "${1}_ID"},
		{`\b([a-z]{2,6})_…[0-9a-hjkmnp-tv-z]{6}`, "${1}_SHORT"},
		{`\bbln_\w+|\bbln_…`, "bln_SECRET"},
		{`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`, "TIME"},
		{`(?m)^.* is (pending|processing) \(sandbox\).*\n`, ""}, // a payout may be faster than whoever watches it
		{`(SIM)?[0-9A-HJKMNP-TV-Z]{26}A\d+`, "${1}END_TO_END"},
		{`file-[0-9a-f]{20}`, "file-DIGEST"},
		{`(\r\x1b\[K[^\r\n]*)*\r\x1b\[K`, ""},
	} {
		text = regexp.MustCompile(one.what).ReplaceAllString(text, one.by)
	}
	return text
}

// retell runs the commands of a tour of the README, in a folder, and compares what they print. It
// returns how many commands that were.
func retell(t *testing.T, tour, dir, address string, env ...string) (commands int) {
	t.Helper()
	var got strings.Builder
	for line := range strings.Lines(tour) {
		command, found := strings.CutPrefix(line, "$ ")
		if !found {
			continue
		}
		if commands++; commands > 1 {
			got.WriteString("\n")
		}
		got.WriteString(line + tourist(t, dir, command, env...))
	}
	want, have := masked(tour, address), masked(got.String(), address)
	if want != have {
		t.Errorf("the tour prints something else (-README +program):\n%s\n%s", cmp.Diff(strings.Split(want, "\n"), strings.Split(have, "\n")), got.String())
	}
	return commands
}

func TestTheTourOfTheCommandLinePrintsWhatTheREADMESays(t *testing.T) {
	t.Parallel()
	p, key, _ := fresh(t)
	tours := blocks(section(t, "Two minutes at the command line"), "console")
	if len(tours) != 1 {
		t.Fatalf("the README has %d tours of the command line", len(tours))
	}
	dir := t.TempDir()
	for _, file := range blocks(section(t, "Two minutes at the command line"), "csv") {
		write(t, filepath.Join(dir, "people.csv"), file) // as the reader is told to
	}
	if n := retell(t, tours[0], dir, p.URL, "BURSAR_URL="+p.URL, "BURSAR_API_KEY="+key); n < 5 {
		t.Fatalf("the tour has %d commands", n)
	}
}

func TestSixCommandsOfTheREADMECompleteAPayout(t *testing.T) {
	t.Parallel()
	text := section(t, "A first payout")
	p, key, _ := fresh(t) // the first two commands: they start a server and take its key
	begin, tours := blocks(text, "sh"), blocks(text, "console")
	if len(begin) != 1 || strings.Count(begin[0], "\n") != 2 || len(tours) != 2 {
		t.Fatalf("the README begins with %q and has %d tours", begin, len(tours))
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "payroll.csv"), blocks(text, "csv")[0])
	env := []string{"BURSAR_URL=" + p.URL, "BURSAR_API_KEY=" + key}
	if n := retell(t, tours[0], dir, p.URL, env...); n != 4 {
		t.Errorf("it takes %d commands", 2+n)
	}
	if got := tourist(t, dir, "bursar payouts show first --jq .status", env...); got != "completed\n" {
		t.Errorf("the payout is %s", got)
	}
	retell(t, tours[1], dir, p.URL, env...)
}

func TestTheTourOfTheAPISucceedsAtEveryStep(t *testing.T) {
	t.Parallel()
	p, key, workspace := fresh(t)
	text := section(t, "A five-minute tour of the API")
	steps := blocks(text, "sh")
	if len(steps) < 5 {
		t.Fatalf("the tour has %d steps", len(steps))
	}
	script := "set -eu\nBASE=" + p.URL + "/v1\nKEY=" + key + "\nWS=" + workspace + "\n"
	for _, step := range steps[1:] { // the first is where the reader fills in the three values
		script += step + "\necho\n"
	}
	out := tourist(t, t.TempDir(), script)
	answers := strings.Count(out, `"ok":true`)
	if want := strings.Count(script, "\ncurl "); answers != want || strings.Contains(out, `"ok":false`) {
		t.Errorf("%d of %d answers are successes:\n%s", answers, want, out)
	}
}
