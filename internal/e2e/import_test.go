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
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/setup"
	"bursar/internal/torture"
	"bursar/internal/wait"
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

// awaitLines waits until the server has dealt with so many lines.
func (i *importing) awaitLines(t *testing.T, n float64) {
	t.Helper()
	client := servertest.Remote(t, i.url, i.made).Admin(t)
	wait.Until(t, fmt.Sprint(n, " lines are done"), func() bool {
		rows := everyRow(client, "/v1/directory/imports?limit=100&workspace_id="+i.made.WorkspaceID)
		return len(rows) > 0 && rows[0]["lines"].(float64) >= n
	})
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

// Killed at any moment, the server goes on with no line twice and none lost, and the command line
// waits for it.
func TestAKilledServerGoesOnWithAnImport(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		made := initialise(t, store)
		p := start(t, store)
		rounds := torture.Rounds(3, 20)
		i := newImporting(t, made, p.URL, 3000)
		r := i.start(t)
		for n := range rounds {
			i.awaitLines(t, float64(1+n*i.lines/(rounds+1)))
			p.kill()
			p = start(t, store, "--listen", strings.TrimPrefix(p.URL, "http://"))
		}
		r.succeeds(t, "3,000 created, 0 updated, 0 unchanged, 0 refused")
		i.check(t)
	})
}

// A node that is killed leaves its import to the other one, which ends it with exactly the file.
func TestAnotherNodeGoesOnWithAnImport(t *testing.T) {
	t.Parallel()
	store := dbtest.Postgres(t)
	made := initialise(t, store)
	here, there := startNode(t, store), startNode(t, store)
	i := newImporting(t, made, there.URL, 2000)
	file, err := os.ReadFile(i.file)
	if err != nil {
		t.Fatal(err)
	}
	// The node that has taken the file begins at once.
	servertest.Remote(t, here.URL, made).Admin(t).Do("POST", "/v1/directory/imports?workspace_id="+made.WorkspaceID, string(file), "Content-Type", "text/csv").OK()
	i.awaitLines(t, 1)
	here.kill()
	client := servertest.Remote(t, there.URL, made).Admin(t)
	wait.Until(t, "the other node has ended the import", func() bool {
		return everyRow(client, "/v1/directory/imports?limit=100&workspace_id="+made.WorkspaceID)[0]["status"] == "completed"
	})
	i.check(t)
}

// A command that is killed leaves the import to the server; the same command watches it again.
func TestAnImportOutlivesItsCommand(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	i := newImporting(t, initialise(t, store), start(t, store).URL, 2000)
	r := i.start(t)
	i.awaitLines(t, 1)
	if err := r.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = r.Wait() // it was killed
	i.start(t).succeeds(t, "2,000 created, 0 updated, 0 unchanged, 0 refused")
	i.check(t)
}

func TestAnImportGivesUpOnAServerThatStaysAway(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	made := initialise(t, store)
	p := start(t, store)
	i := newImporting(t, made, p.URL, 20_000)
	r := i.start(t, "--wait", "1s")
	i.awaitLines(t, 1)
	p.kill()
	if err := r.Wait(); err == nil || r.ProcessState.ExitCode() != 1 || !strings.Contains(r.said.String(), "has not answered for 1s") {
		t.Errorf("the import ended with %v\n%s", err, r.said)
	}
}

func TestAnImportShowsABarOnATerminal(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	i := newImporting(t, initialise(t, store), start(t, store).URL, 20_000)
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
	for _, part := range []string{"█", "%", "/s", " left", "\x1b[K", "20,000 created"} {
		if !strings.Contains(shown.String(), part) {
			t.Errorf("%q is not shown:\n%q", part, &shown)
		}
	}
}
