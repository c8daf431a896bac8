package db_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

// A transaction that is larger than SQLite's memory goes to the log before it is
// committed, and is read back from there.
func TestTransactionLargerThanMemoryIsKeptWhole(t *testing.T) {
	store := dbtest.SQLite(t)
	d := store.Open(t)
	const rows, size = 3000, 16 << 10
	err := change(t.Context(), d, audit.None("a test"), func(tx *db.Tx) error {
		for i := range rows {
			if err := tx.Exec(`INSERT INTO setting (name, value) VALUES ($1, $2)`, fmt.Sprintf("large-%05d", i), strings.Repeat("x", size)); err != nil {
				return err
			}
		}
		var seen int
		_, err := tx.Row(`SELECT count(*) FROM setting WHERE name >= $1 AND length(value) = $2`, "large-", size).Scan(&seen)
		if err == nil && seen != rows {
			t.Errorf("the transaction sees %d of its %d rows", seen, rows)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := count(t, d, `SELECT count(*) FROM setting WHERE name >= $1 AND length(value) = $2`, "large-", size); got != rows {
		t.Errorf("%d of %d rows are kept", got, rows)
	}
}

// What is answered is in the files: another program reads it while the server is
// still running.
func TestCommittedRowsAreInTheFiles(t *testing.T) {
	store := dbtest.SQLite(t)
	d := store.Open(t)
	for i := range 50 {
		mustPut(t, d, fmt.Sprint(i))
		other, err := sqlite3.OpenFlags(filepath.Join(store.Config.Dir, db.SQLiteFile), sqlite3.OPEN_READONLY)
		if err != nil {
			t.Fatal(err)
		}
		stmt, _, err := other.Prepare(`SELECT count(*) FROM audit_log`)
		if err != nil {
			t.Fatal(err)
		}
		if !stmt.Step() || stmt.ColumnInt(0) != i+1 {
			t.Errorf("after %d commits another program sees %d rows", i+1, stmt.ColumnInt(0))
		}
		if err := stmt.Close(); err != nil {
			t.Fatal(err)
		}
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
