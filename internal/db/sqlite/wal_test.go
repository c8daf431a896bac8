package sqlite

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"bursar/internal/db/engine"
)

func mustExec(t *testing.T, c *conn, sql string, args ...any) {
	t.Helper()
	if err := c.Exec(sql, args); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func openForTest(t *testing.T, address, extra string) *conn {
	t.Helper()
	c, err := openConn(t.Context(), address, extra)
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

func text(t *testing.T, c *conn, sql string) string {
	t.Helper()
	r, err := c.Query(sql, nil)
	must(t, err)
	defer r.Close()
	if !r.Next() {
		t.Fatalf("%s: no row: %v", sql, r.Err())
	}
	return r.Text(0)
}

// SQLite writes pages of a transaction that does not fit into its cache to the WAL
// before the transaction ends. After a rollback another process writes to the same
// place.
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

	for name, c := range map[string]*conn{"ours": ours, "theirs": theirs} {
		if got := text(t, c, "SELECT count(*) FROM pair"); got != "22" {
			t.Errorf("%s has %s rows, want 22", name, got)
		}
		if got := text(t, c, "PRAGMA integrity_check"); got != "ok" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestATransactionLargerThanTheCacheIsWhole(t *testing.T) {
	e := open(t)
	const rows, size = 3000, 16 << 10
	const count = "SELECT count(*) FROM pair WHERE length(value) = 16384"
	must(t, e.Write(t.Context(), func(c engine.Conn) error {
		for i := range rows {
			if err := c.Exec("INSERT INTO pair VALUES ($1, $2)", []any{fmt.Sprint(i), strings.Repeat("x", size)}); err != nil {
				return err
			}
		}
		seen, err := c.(*conn).queryInt(count)
		if err == nil && seen != rows {
			t.Errorf("the transaction sees %d of its %d rows", seen, rows)
		}
		return err
	}))
	must(t, e.Read(t.Context(), func(c engine.Conn) error {
		seen, err := c.(*conn).queryInt(count)
		if err == nil && seen != rows {
			t.Errorf("%d of %d rows are there after the commit", seen, rows)
		}
		return err
	}))
}

// A program that knows nothing of our VFS reads every commit from the files.
func TestAnotherProgramSeesEveryCommitInTheFiles(t *testing.T) {
	e := open(t)
	for i := range 50 {
		must(t, <-startInsert(e, fmt.Sprint(i)))
		other, err := sqlite3.OpenFlags(e.path, sqlite3.OPEN_READONLY)
		must(t, err)
		stmt, _, err := other.Prepare("SELECT count(*) FROM pair")
		must(t, err)
		if !stmt.Step() || stmt.ColumnInt(0) != i+1 {
			t.Errorf("after %d commits another program sees %d rows", i+1, stmt.ColumnInt(0))
		}
		must(t, stmt.Close())
		must(t, other.Close())
	}
}
