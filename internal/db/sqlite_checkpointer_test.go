package db

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// until waits for a condition.
func until(t *testing.T, what string, met func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !met(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// After all of the WAL was copied, the next write starts it from its beginning, even
// before the writer was asked to copy the rest. The next WAL is again the
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
	for round := range 3 {
		mustExec(t, writer, "INSERT OR REPLACE INTO pair VALUES ('a', $1)", strings.Repeat(string(rune('a'+round)), (checkpointAfter+100)*4096))
		c.afterCommit(writer.db, checkpointAfter+100)
		until(t, "the checkpointer is done", func() bool { return !c.running.Load() })
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
