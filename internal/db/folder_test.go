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

// A log that was copied to its end begins anew with the next write, before the
// writer was asked to copy a rest: the next log is again copied beside it.
func TestEveryLogIsCopiedBesideTheWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	writer := openForTest(t, path, "PRAGMA wal_autocheckpoint = 0;")
	mustExec(t, writer, "CREATE TABLE pair (name TEXT PRIMARY KEY, value TEXT)")
	f := startFolder(path)
	defer func() {
		if err := f.stop(); err != nil {
			t.Error(err)
		}
	}()
	for round := range 3 {
		mustExec(t, writer, "INSERT OR REPLACE INTO pair VALUES ('a', $1)", strings.Repeat(string(rune('a'+round)), (foldAfter+100)*4096))
		f.after(writer.db, foldAfter+100)
		until(t, "the log is copied", func() bool { return !f.copying.Load() })
		if !f.copied.Load() {
			t.Fatalf("log %d is not copied by the folder", round)
		}
		mustExec(t, writer, "INSERT OR REPLACE INTO pair VALUES ('b', $1)", strings.Repeat("b", 10+round))
		f.after(writer.db, 3) // it began anew
		if f.copied.Load() {
			t.Fatalf("log %d counts as copied, which has just begun", round+1)
		}
	}
}

func TestAGroupThatWroteNothingDoesNotCopyTheLog(t *testing.T) {
	f := startFolder(filepath.Join(t.TempDir(), "x.db"))
	f.after(nil, 0)
	if f.copying.Load() {
		t.Error("the log is copied after a group that wrote nothing")
	}
	if err := f.stop(); err != nil {
		t.Error(err)
	}
}
