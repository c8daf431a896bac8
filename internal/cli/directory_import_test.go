package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}

func numbers(n int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
	}
}

func TestWorkInParallelComesInOrder(t *testing.T) {
	var got []int
	err := inOrder(t.Context(), 7, numbers(5000), func(_ context.Context, n int) (int, error) { return 2 * n, nil },
		func(n int) error { got = append(got, n); return nil })
	if err != nil || len(got) != 5000 || !slices.IsSorted(got) || got[4999] != 9998 {
		t.Errorf("%d results, %v", len(got), err)
	}
}

func TestWorkInParallelHoldsLittle(t *testing.T) {
	release := make(chan struct{})
	var begun atomic.Int64
	source := func(yield func(int, error) bool) {
		for n := range 100_000 {
			if begun.Add(1) == 4*ahead+1 {
				close(release) // as many as are held were read while the first was worked on
			}
			if !yield(n, nil) {
				return
			}
		}
	}
	err := inOrder(t.Context(), 4, source, func(_ context.Context, n int) (int, error) {
		if n == 0 {
			<-release
			if read := begun.Load(); read > 4*ahead+6 {
				return 0, fmt.Errorf("%d items were read", read)
			}
		}
		return n, nil
	}, func(int) error { return nil })
	if err != nil {
		t.Error(err)
	}
}

func TestTheFirstErrorEndsWorkInParallel(t *testing.T) {
	broken := errors.New("broken")
	for name, run := range map[string]func(emit func(int) error) error{
		"of the work": func(emit func(int) error) error {
			return inOrder(t.Context(), 3, numbers(1000), func(_ context.Context, n int) (int, error) {
				if n == 5 {
					return 0, broken
				}
				return n, nil
			}, emit)
		},
		"of the source": func(emit func(int) error) error {
			return inOrder(t.Context(), 3, func(yield func(int, error) bool) {
				for n := range 5 {
					yield(n, nil)
				}
				yield(0, broken)
			}, func(_ context.Context, n int) (int, error) { return n, nil }, emit)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int
			err := run(func(n int) error { got = append(got, n); return nil })
			if !errors.Is(err, broken) || len(got) < 5 || !slices.Equal(got[:5], []int{0, 1, 2, 3, 4}) || !slices.IsSorted(got) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	ctx, cancel := contextOf(t)
	n := 0
	err := inOrder(ctx, 3, numbers(1000), func(_ context.Context, n int) (int, error) { return n, nil }, func(int) error {
		if n++; n == 10 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || n == 1000 {
		t.Errorf("%d, %v", n, err)
	}
}

func testJournal(t *testing.T, name string) *journal {
	t.Helper()
	j, err := openJournal(name, journalHead{Version: journalVersion, WorkspaceID: "ws_1", UserID: "usr_1"}, false)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestAJournalRemembers(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	j := testJournal(t, name)
	if j.begun() {
		t.Error("a new journal has rows")
	}
	digest := "0123456789abcdef"
	for number, mark := range map[int]byte{1: rowCreated, 3: rowUpdated, 1000: rowUnchanged, 4: rowSent} {
		if err := j.put(number, mark, digest); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(j.put(5, rowSent, digest), j.put(5, rowUnknown, "")); err != nil {
		t.Fatal(err)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	// The power failed as a record was written: its end is missing.
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	copy(text[place(6):], "c0123456789abcdef 17")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	j = testJournal(t, name)
	defer j.close()
	for number, want := range map[int]byte{1: rowCreated, 2: rowUnknown, 3: rowUpdated, 4: rowSent, 5: rowUnknown, 6: rowUnknown, 1000: rowUnchanged, 1001: rowUnknown, 9999: rowUnknown} {
		got, err := j.look(number)
		if err != nil || got.mark != want || (want != rowUnknown && (got.digest != digest || time.Since(got.at) > time.Hour)) {
			t.Errorf("row %d: %+v, %v", number, got, err)
		}
	}
	if _, err := openJournal(name, journalHead{Version: 1, WorkspaceID: "ws_2"}, false); !errors.Is(err, errOtherWorkspace) {
		t.Errorf("the journal of another workspace: %v", err)
	}
	other := filepath.Join(t.TempDir(), "letter")
	if err := os.WriteFile(other, []byte("Dear Ada"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openJournal(other, j.head, true); err == nil {
		t.Error("a letter was taken for a journal")
	}
}

// table writes people to a file.
func people(t *testing.T, names ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "people.csv")
	write(t, file, "type,name\nperson,"+strings.Join(names, "\nperson,")+"\n")
	return file
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func labels(t *testing.T, n *servertest.Node) []string {
	t.Helper()
	list := n.Admin(t).Entries("limit", "100").OK().Column("label")
	slices.Sort(list)
	return list
}

// wants runs a command and holds its exit code and what it says against what is
// wanted.
func wants(t *testing.T, n *servertest.Node, code int, said string, args ...string) {
	t.Helper()
	out, errs, got := at(t, n, args...)
	if got != code || !strings.Contains(errs, said) {
		t.Errorf("bursar %s: exit code %d\n%s%s", strings.Join(args, " "), got, out, errs)
	}
}

func TestAnImportIsDoneOnceHoweverLate(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	file := people(t, "Ada", "Grace", "Linus")
	wants(t, n, exitOK, "3 created", "directory", "import", file)
	n.Clock.Advance(25 * time.Hour) // the server has forgotten the keys
	wants(t, n, exitOK, "0 created, 0 updated, 0 unchanged, 0 refused, 3 imported before", "directory", "import", file)
	if got := labels(t, n); len(got) != 3 {
		t.Errorf("there are %v", got)
	}
}

func TestALostJournalMakesNothingTwiceForADay(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	file := people(t, "Ada", "Ada", "Linus")
	wants(t, n, exitOK, "3 created", "directory", "import", file)
	if err := os.Remove(file + ".bursar-import"); err != nil {
		t.Fatal(err)
	}
	wants(t, n, exitOK, "3 imported before", "directory", "import", file)
	wants(t, n, exitOK, "3 created", "directory", "import", file, "--again")
	wants(t, n, exitOK, "3 imported before", "directory", "import", file)
	if got := labels(t, n); len(got) != 6 {
		t.Errorf("there are %v", got)
	}
}

func TestAnUncertainLineIsLeftToPeople(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	file := people(t, "Ada", "Grace")
	wants(t, n, exitOK, "2 created", "directory", "import", file)
	// As if the program had been killed before the answer for Grace came, a day ago.
	journal := file + ".bursar-import"
	text, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	record := text[place(2):]
	record[0] = rowSent
	write(t, journal, string(text))
	wants(t, n, exitOK, "2 imported before", "directory", "import", file)
	record[0] = rowSent
	copy(record[18:], fmt.Sprintf("%010d", time.Now().Add(-25*time.Hour).Unix()))
	write(t, journal, string(text))
	wants(t, n, exitFailed, "more than a day ago", "directory", "import", file)
	if got := labels(t, n); len(got) != 2 {
		t.Errorf("there are %v", got)
	}
}

func TestAChangedFileIsNoticedBeforeAnythingIsDone(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	file := people(t, "Ada", "Grace,too much", "Linus")
	wants(t, n, exitFailed, "1 line was refused", "directory", "import", file)
	write(t, file, "type,name\nperson,Zoe\nperson,Ada\nperson,Grace\nperson,Linus\n")
	wants(t, n, exitFailed, "line 2 is not what it was", "directory", "import", file)
	wants(t, n, exitFailed, "line 2 is not what it was", "directory", "import", file, "--dry-run")
	if got := labels(t, n); !slices.Equal(got, []string{"Ada", "Linus"}) {
		t.Errorf("there are %v", got)
	}
	// What was refused may be mended, and lines may be added.
	write(t, file, "type,name\nperson,Ada\nperson,Grace\nperson,Linus\nperson,Zoe\n")
	wants(t, n, exitOK, "2 created, 0 updated, 0 unchanged, 0 refused, 2 imported before", "directory", "import", file)
	if _, err := os.Stat(file + ".refused.csv"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the refused lines of the first run are still there: %v", err)
	}
}

func TestAnImportHonoursRateLimits(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t), servertest.RateLimit("40/s"))
	var names []string
	for i := range 150 {
		names = append(names, fmt.Sprint("Person ", i))
	}
	file := people(t, names...)
	wants(t, n, exitOK, "150 created", "directory", "import", file, "--parallel", "16")
	if !strings.Contains(n.Log.String(), `"status":429`) {
		t.Error("the server limited nothing, so the import had no limit to honour")
	}
}

func TestAnEntryOfAnotherWorkspaceIsNotTouched(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	admin := n.Admin(t)
	id := admin.Entry(servertest.Body{"name": "Ada"})
	other := admin.Post("/v1/workspaces", servertest.Body{"name": "Archive", "organization_id": n.First.OrganizationID}).OK().Text("id")
	file := filepath.Join(t.TempDir(), "a.csv")
	write(t, file, "id,name\n"+id+",Grace\n")
	wants(t, n, exitFailed, "there is no entry "+id+" in Archive", "directory", "import", file, "-w", other)
	if got := admin.Get("/v1/directory/" + id).OK().Text("name"); got != "Ada" {
		t.Errorf("it is %s now", got)
	}
}

// A line with a tag that the user may not make is refused; the others are imported.
func TestALineWithANewTagNeedsThePermission(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	admin := n.Admin(t)
	admin.Post("/v1/directory/tags", servertest.Body{"workspace_id": n.First.WorkspaceID, "name": "known"}).OK()
	entry := admin.Entry(servertest.Body{"name": "Linus"})
	member := n.Member(t, "member@example.com", "member")
	file := filepath.Join(t.TempDir(), "people.csv")
	write(t, file, "id,type,name,tags\n,person,Ada,known\n,person,Grace,known|fresh\n"+entry+",,,fresh\n,person,Alan,\n")
	terminal, _, stderr := pipes("BURSAR_URL", n.URL, "BURSAR_TOKEN", member.Token, "BURSAR_CONFIG_DIR", t.TempDir(), "BURSAR_KEYRING", "off")
	if code := Run(t.Context(), []string{"directory", "import", file}, terminal); code != exitFailed || !strings.Contains(stderr.String(), "2 created, 0 updated, 0 unchanged, 2 refused") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for _, line := range []string{"line 3: ", "line 4: "} {
		if !strings.Contains(stderr.String(), line+"permission ws.tags.write is required to create the tag fresh") {
			t.Errorf("it does not say why %s is refused: %s", line, stderr)
		}
	}
	// Somebody who may goes on with what was refused.
	wants(t, n, exitOK, "1 created, 1 updated", "directory", "import", file+".refused.csv")
}
