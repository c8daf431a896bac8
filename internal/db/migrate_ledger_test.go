package db_test

import (
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/ledger"
)

// A bank of before may go above zero at once, and whatever else was refused before still is. So it is also
// for a process that has had the store open since before, and after the store was opened again.
func TestABankOfBeforeMayGoAboveZero(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store dbtest.Store) {
		leftBefore(t, store, "0052", "workspace", "money")
		move := func(d *db.DB, amount int64) error {
			return change(t.Context(), d, audit.None("a test"), func(tx *db.Tx) error {
				_, err := ledger.Suspend(tx, "PHP", "sandbox", amount, "NTRY-1", "a charge")
				return err
			})
		}
		running := openBefore(t, store, "0052")
		defer func() {
			if err := running.Close(); err != nil {
				t.Error(err)
			}
		}()
		if err := move(running, -701); err == nil {
			t.Error("the store of before lets the bank be above zero")
		}
		first := store.Open(t)
		for i, d := range []*db.DB{first, running, store.Open(t)} {
			if err := move(d, -701); err != nil {
				t.Errorf("store %d: %v", i, err)
			}
			for _, sql := range []string{
				`UPDATE ledger_account SET available = -1 WHERE kind = 'customer'`,
				`UPDATE ledger_account SET available = 1000000000000000001 WHERE kind = 'bank'`,
				`UPDATE ledger_account SET reserved = 1 WHERE kind = 'bank'`,
				`DELETE FROM ledger_account`,
			} {
				if err := change(t.Context(), d, audit.None("a test"), func(tx *db.Tx) error { return tx.Exec(sql) }); err == nil {
					t.Errorf("store %d lets this happen: %s", i, sql)
				}
			}
		}
		if report, err := ledger.Verify(t.Context(), first, false, func(int64, int64) {}); err != nil || len(report.Mismatches) > 0 {
			t.Errorf("the ledger does not verify: %v, %v", report.Mismatches, err)
		}
		if store.Engine == "sqlite" {
			if got := append(texts(t, first, `PRAGMA integrity_check`), texts(t, first, `PRAGMA foreign_key_check`)...); len(got) != 1 || got[0] != "ok" {
				t.Errorf("SQLite finds %q", got)
			}
		}
	})
}
