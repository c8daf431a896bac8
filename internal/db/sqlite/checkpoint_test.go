package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bursar/internal/db/engine"
	"bursar/internal/wait"
)

// After all of the WAL was copied, the next write starts it from its beginning, even
// before the writer copied the rest. The next WAL is again the
// checkpointer's to copy.
func TestTheCheckpointerCopiesEveryWAL(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	writer := openForTest(t, path, "PRAGMA wal_autocheckpoint = 0;")
	mustExec(t, writer, "CREATE TABLE pair (name TEXT PRIMARY KEY, value TEXT)")
	c := startCheckpointer(path, new(syncFailure))
	defer func() {
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	}()
	for round := range 2 {
		mustExec(t, writer, "INSERT OR REPLACE INTO pair VALUES ('a', $1)", strings.Repeat(string(rune('a'+round)), (checkpointAfter+100)*4096))
		c.afterCommit(writer.db, checkpointAfter+100)
		wait.Until(t, "the checkpointer is done", func() bool { return !c.running.Load() })
		if !c.mostlyDone.Load() {
			t.Fatalf("the checkpointer did not copy WAL %d", round)
		}
		mustExec(t, writer, "INSERT OR REPLACE INTO pair VALUES ('b', $1)", strings.Repeat("b", 10+round))
		c.afterCommit(writer.db, 3) // the WAL has started from its beginning
		if c.mostlyDone.Load() {
			t.Fatalf("WAL %d counts as copied although it has just begun", round+1)
		}
	}
}

func TestAGroupThatWroteNothingCausesNoCheckpoint(t *testing.T) {
	c := startCheckpointer(filepath.Join(t.TempDir(), "x.db"), new(syncFailure))
	c.afterCommit(nil, 0)
	if c.running.Load() {
		t.Error("the checkpointer runs after a group that wrote nothing")
	}
	if err := c.stop(); err != nil {
		t.Error(err)
	}
}

// The WAL starts from its beginning after it was copied, so it does not grow with
// what is written.
func TestTheWALDoesNotGrowWithoutBound(t *testing.T) {
	e := open(t)
	var written, longest int64
	for i := 0; written < 150<<20; i++ {
		value := strings.Repeat(strconv.Itoa(i%10), 100<<10) // SQLite does not write a value that is there already
		must(t, e.Write(t.Context(), func(c engine.Conn) error {
			return c.Exec("INSERT OR REPLACE INTO pair VALUES ($1, $2)", []any{fmt.Sprint("name-", i%20), value})
		}))
		info, err := os.Stat(e.path + "-wal")
		must(t, err)
		written += int64(len(value))
		longest = max(longest, info.Size())
	}
	if longest > 100<<20 {
		t.Errorf("after %d MiB the WAL has %d MiB", written>>20, longest>>20)
	}
}
