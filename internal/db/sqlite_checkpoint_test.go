package db_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

// The log is copied into the database beside the writes, and begins anew: it does
// not grow with what is written.
func TestLogDoesNotGrowWithoutEnd(t *testing.T) {
	store := dbtest.SQLite(t)
	d := store.Open(t)
	log := filepath.Join(store.Config.Dir, db.SQLiteFile+"-wal")
	var written, longest int64
	for i := 0; written < 300<<20; i++ {
		value := strings.Repeat(strconv.Itoa(i%10), 100<<10) // SQLite does not write what is there already
		err := change(t.Context(), d, audit.None("a test"), func(tx *db.Tx) error {
			return tx.Exec(`INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
				fmt.Sprint("name-", i%20), value)
		})
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(log)
		if err != nil {
			t.Fatal(err)
		}
		written += int64(len(value))
		longest = max(longest, info.Size())
	}
	if longest > 100<<20 {
		t.Errorf("after %d MiB the log has %d MiB", written>>20, longest>>20)
	}
}
