package db

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func mustExec(t *testing.T, c *sqliteConn, sql string, args ...any) {
	t.Helper()
	if err := c.exec(sql, args); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func openForTest(t *testing.T, address, extra string) *sqliteConn {
	t.Helper()
	c, err := openSQLiteConn(t.Context(), address, extra)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func oneText(t *testing.T, c *sqliteConn, sql string) string {
	t.Helper()
	var text string
	if _, err := (Q{c}).Row(sql).Scan(&text); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return text
}

// SQLite writes pages of a transaction that does not fit into its cache to the WAL
// before the transaction ends. After a rollback another process writes to the same
// place, so none of them may be buffered.
func TestAnotherProcessMayWriteAfterTheRollbackOfALargeTransaction(t *testing.T) {
	v, err := newWALVFS(new(syncFailure))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.close)
	path := filepath.Join(t.TempDir(), "a b?c#d%41.db")
	ours := openForTest(t, v.uri(path), "PRAGMA cache_size = -256;")
	mustExec(t, ours, "CREATE TABLE pair (name TEXT PRIMARY KEY, value TEXT)")
	theirs := openForTest(t, "file:"+strings.NewReplacer("?", "%3f", "#", "%23", "%", "%25").Replace(path), "")
	mustExec(t, theirs, "INSERT INTO pair VALUES ('first', '')")
	mustExec(t, ours, "INSERT INTO pair VALUES ('second', '')")
	mustExec(t, theirs, "PRAGMA wal_checkpoint(RESTART)")

	mustExec(t, ours, "BEGIN IMMEDIATE")
	for i := range 200 {
		mustExec(t, ours, "INSERT INTO pair VALUES ($1, $2)", fmt.Sprint("rolled back ", i), strings.Repeat("x", 3000))
	}
	mustExec(t, ours, "ROLLBACK")
	for i := range 20 {
		mustExec(t, theirs, "INSERT INTO pair VALUES ($1, $2)", fmt.Sprint("kept ", i), strings.Repeat("y", 3000))
	}

	for name, c := range map[string]*sqliteConn{"ours": ours, "theirs": theirs} {
		if got := oneText(t, c, "SELECT count(*) FROM pair"); got != "22" {
			t.Errorf("%s has %s rows, want 22", name, got)
		}
		if got := oneText(t, c, "PRAGMA integrity_check"); got != "ok" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestTheBufferIsEmptyAfterAFailedCommit(t *testing.T) {
	failed := errors.New("failed")
	v := &walVFS{wal: &walFile{failed: new(syncFailure)}}
	err := v.commit(func() error {
		if _, err := v.wal.WriteAt([]byte("page"), 0); err != nil {
			t.Fatal(err)
		}
		return failed
	})
	if !errors.Is(err, failed) || len(v.wal.buffer) > 0 {
		t.Errorf("got %v, and %q is still in the buffer", err, v.wal.buffer)
	}
}

func TestACommitWithoutASyncIsAnError(t *testing.T) {
	v := &walVFS{wal: &walFile{failed: new(syncFailure)}}
	err := v.commit(func() error {
		_, err := v.wal.WriteAt([]byte("page"), 0)
		return err
	})
	if err == nil {
		t.Error("a commit whose pages are only in memory counts as done")
	}
}
