package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/setup"
)

// importing is a file that is imported by the program as a process of its own.
type importing struct {
	made  setup.Result
	url   string
	file  string
	lines int
	env   []string
}

func newImporting(t *testing.T, made setup.Result, url string, lines int) *importing {
	t.Helper()
	folder := t.TempDir()
	i := &importing{made: made, url: url, file: filepath.Join(folder, "people.csv"), lines: lines}
	i.env = []string{"BURSAR_URL=" + url, "BURSAR_API_KEY=" + made.APIKey, "BURSAR_CONFIG_DIR=" + folder, "BURSAR_KEYRING=off", "BURSAR_WORKSPACE=" + made.WorkspaceID}
	var text strings.Builder
	text.WriteString("type,name,email,tags,json.n,status\n")
	for n := range lines {
		fmt.Fprintf(&text, "person,Person %d,p%d@example.com,all|t%d,%d,%s\n", n, n, n%7, n, statusOf(n))
	}
	if err := os.WriteFile(i.file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return i
}

// statusOf makes some entries inactive, which takes two calls.
func statusOf(n int) string {
	if n%10 == 3 {
		return "inactive"
	}
	return "active"
}

type running struct {
	*exec.Cmd
	said *servertest.LogBuffer
}

func (i *importing) command(more ...string) *running {
	cmd := exec.Command(program, append([]string{"directory", "import", i.file}, more...)...)
	r := &running{cmd, &servertest.LogBuffer{}}
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.Dir = environment(i.env), r.said, r.said, filepath.Dir(i.file)
	return r
}

func (i *importing) start(t *testing.T, more ...string) *running {
	t.Helper()
	r := i.command(more...)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.Process.Kill() // fails only where it has ended
		if said := r.said.String(); strings.Contains(said, "DATA RACE") || strings.Contains(said, "panic") {
			t.Errorf("the import has a race or panicked:\n%s", said)
		}
	})
	return r
}

// succeeds demands that the import ends well and says something.
func (r *running) succeeds(t *testing.T, says string) {
	t.Helper()
	if err := r.Wait(); err != nil || !strings.Contains(r.said.String(), says) {
		t.Errorf("the import: %v\n%s", err, r.said)
	}
}

// done says how many lines the journal knows to be made.
func (i *importing) done(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(i.file + ".bursar-import")
	if os.IsNotExist(err) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte("\nc")) + bytes.Count(text, []byte("\x00c"))
}

func (i *importing) awaitDone(t *testing.T, n int) {
	t.Helper()
	eventually(t, fmt.Sprint(n, " lines are done"), func() bool { return i.done(t) >= n })
}

// check demands that the directory holds exactly the lines of the file.
func (i *importing) check(t *testing.T) {
	t.Helper()
	client := servertest.Remote(t, i.url, i.made).Admin(t)
	rows := everyRow(client, "/v1/directory?workspace_id="+i.made.WorkspaceID+"&limit=100")
	var got, want []string
	for _, row := range rows {
		e := client.Get("/v1/directory/" + row["id"].(string)).OK().Object()
		got = append(got, line(t, e["type"], e["name"], e["label"], e["status"], e["tags"], e["fields"]))
	}
	for n := range i.lines {
		name, tags := fmt.Sprint("Person ", n), []string{"all", fmt.Sprint("t", n%7)}
		want = append(want, line(t, "person", name, name, statusOf(n), tags, servertest.Body{"email": fmt.Sprintf("p%d@example.com", n), "n": n}))
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the directory is not the file (-want +got):\n%s", diff)
	}
	created := everyRow(client, "/v1/audit?action=directory.entry.created&limit=100&workspace_id="+i.made.WorkspaceID)
	if len(created) != i.lines {
		t.Errorf("%d entries were made of %d lines", len(created), i.lines)
	}
}

func line(t *testing.T, values ...any) string {
	t.Helper()
	text, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAKilledImportGoesOnWithoutMakingAnythingTwice(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		made := initialise(t, store)
		i := newImporting(t, made, start(t, store).URL, 500)
		for _, n := range []int{1, 100, 250, 400} {
			r := i.start(t)
			i.awaitDone(t, n)
			if err := r.Process.Kill(); err != nil {
				t.Fatalf("the import ended too early: %v\n%s", err, r.said)
			}
			if err := r.Wait(); err == nil {
				t.Fatalf("the import ended too early:\n%s", r.said)
			}
		}
		i.start(t).succeeds(t, "0 refused")
		i.check(t)
		i.start(t).succeeds(t, "0 created, 0 updated, 0 unchanged, 0 refused, 500 imported before")
		if err := os.Remove(i.file + ".bursar-import"); err != nil {
			t.Fatal(err)
		}
		i.start(t).succeeds(t, "0 created, 0 updated, 0 unchanged, 0 refused, 500 imported before")
		i.check(t)
	})
}

func TestAnInterruptedImportSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	i := newImporting(t, initialise(t, store), start(t, store).URL, 400)
	r := i.start(t, "--parallel", "2")
	i.awaitDone(t, 50)
	if err := r.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := r.Wait(); err == nil || r.ProcessState.ExitCode() != 1 {
		t.Errorf("the import ended with %v\n%s", err, r.said)
	}
	for _, part := range []string{"Stopped after ", "run the same command again", i.file + ".bursar-import", "the import was interrupted"} {
		if !strings.Contains(r.said.String(), part) {
			t.Errorf("%q is not said:\n%s", part, r.said)
		}
	}
	text, err := os.ReadFile(i.file + ".bursar-import")
	if err != nil || bytes.Contains(text, []byte("\ns")) || bytes.Contains(text, []byte("\x00s")) {
		t.Errorf("a line was left on its way: %v", err)
	}
	i.start(t).succeeds(t, "imported before")
	i.check(t)
}

func TestAnImportOutlivesItsServer(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		made := initialise(t, store)
		p := start(t, store)
		i := newImporting(t, made, p.URL, 400)
		r := i.start(t)
		for _, n := range []int{50, 200} {
			i.awaitDone(t, n)
			p.kill()
			eventually(t, "the import notices", func() bool { return strings.Contains(r.said.String(), "does not answer") })
			p = start(t, store, "--listen", strings.TrimPrefix(p.URL, "http://"))
		}
		r.succeeds(t, "0 refused")
		i.check(t)
	})
}

func TestAnImportGivesUpOnAServerThatStaysAway(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	made := initialise(t, store)
	p := start(t, store)
	i := newImporting(t, made, p.URL, 300)
	r := i.start(t, "--wait", "1s")
	i.awaitDone(t, 20)
	p.kill()
	if err := r.Wait(); err == nil || r.ProcessState.ExitCode() != 1 || !strings.Contains(r.said.String(), "has not answered for 1s") {
		t.Errorf("the import ended with %v\n%s", err, r.said)
	}
	i.url = start(t, store, "--listen", strings.TrimPrefix(p.URL, "http://")).URL
	i.start(t).succeeds(t, "imported before")
	i.check(t)
}

func TestAnImportOfAnyLengthNeedsLittleMemory(t *testing.T) {
	t.Parallel()
	few, many := 20_000, 100_000
	if underRace() {
		few, many = 1000, 5000 // it is many times slower
	}
	store := dbtest.SQLite(t)
	i := newImporting(t, initialise(t, store), start(t, store).URL, few)
	short := i.needs(t, "would be created", "--dry-run", "--json")
	i = newImporting(t, i.made, i.url, many)
	long := i.needs(t, "would be created", "--dry-run", "--json")
	if long > 2*short {
		t.Errorf("%d KiB were needed for %d lines, and %d for %d", short, few, long, many)
	}
	const most = 64 << 10 // KiB; a program that looks for races needs more
	if !underRace() && long > most {
		t.Errorf("%d KiB were needed for %d lines", long, many)
	}
}

// needs runs an import and looks all the time how much memory, in KiB, it has needed
// at most. What the system tells at the end counts the parent's, too.
func (i *importing) needs(t *testing.T, says string, more ...string) int {
	t.Helper()
	r := i.command(more...)
	r.Stdout = nil
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	used := make(chan int, 1)
	go func() {
		peak := 0
		for {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.Process.Pid))
			_, after, found := strings.Cut(string(status), "VmHWM:")
			if err != nil || !found {
				used <- peak
				return
			}
			_, _ = fmt.Sscan(after, &peak)
			time.Sleep(10 * time.Millisecond)
		}
	}()
	r.succeeds(t, says)
	return <-used
}

func TestAnImportShowsABarOnATerminal(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	i := newImporting(t, initialise(t, store), start(t, store).URL, 1500)
	cmd := exec.Command(program, "directory", "import", i.file)
	cmd.Env, cmd.Dir = environment(append(i.env, "TERM=xterm", "LANG=C.UTF-8")), filepath.Dir(i.file)
	screen, err := onTerminal(cmd, 100, false)
	if err != nil {
		t.Fatal(err)
	}
	var shown bytes.Buffer
	_, _ = io.Copy(&shown, screen) // ends with an error once the program has
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, &shown)
	}
	for _, part := range []string{"█", "%", "/s", " left", "\x1b[K", "1,500 created"} {
		if !strings.Contains(shown.String(), part) {
			t.Errorf("%q is not shown:\n%q", part, &shown)
		}
	}
}
