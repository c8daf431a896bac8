package ledger_test

import (
	"strings"
	"testing"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/ledger"
)

// Anyone who reaches the database past the ledger cannot make money, lose it or rewrite what happened.
func TestConstraintsHoldForEveryWriter(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := open(t, store)
		a := newAccount(t, d, 100)
		reserve(t, d, a, 40)
		mustWrite(t, d, func(tx *db.Tx) error { return ledger.Complete(tx, of(a, 10)) })
		before := [2]ledger.Account{find(t, d, a.ID), find(t, d, "sys_bank_PHP_sandbox")}
		for name, sql := range map[string]string{
			"available below zero":     `UPDATE ledger_account SET available = -1 WHERE kind = 'customer'`,
			"reserved below zero":      `UPDATE ledger_account SET reserved = reserved - 31 WHERE kind = 'customer'`,
			"pending below zero":       `UPDATE ledger_account SET pending = -1 WHERE kind = 'customer'`,
			"more than any sum":        `UPDATE ledger_account SET available = 1000000000000000001 WHERE kind = 'customer'`,
			"the bank above any sum":   `UPDATE ledger_account SET available = 1000000000000000001 WHERE kind = 'bank'`,
			"clearing below zero":      `UPDATE ledger_account SET available = available - 11 WHERE kind = 'clearing'`,
			"the bank reserves":        `UPDATE ledger_account SET reserved = 1 WHERE kind = 'bank'`,
			"closed with money":        `UPDATE ledger_account SET status = 'closed' WHERE kind = 'customer'`,
			"from sandbox to live":     `UPDATE ledger_account SET mode = 'live'`,
			"another currency":         `UPDATE ledger_account SET currency = 'USD'`,
			"another workspace":        `UPDATE ledger_account SET workspace_id = 'ws_2' WHERE kind = 'customer'`,
			"an account deleted":       `DELETE FROM ledger_account`,
			"a transaction changed":    `UPDATE ledger_transaction SET reference = 'po_2'`,
			"a transaction deleted":    `DELETE FROM ledger_transaction`,
			"a posting changed":        `UPDATE ledger_posting SET amount = amount + 1`,
			"a posting deleted":        `DELETE FROM ledger_posting`,
			"a posting of nothing":     `INSERT INTO ledger_posting VALUES ('` + a.ID + `', 99, 'txn_1', 'available', 0, 0, 0)`,
			"a number twice":           `INSERT INTO ledger_posting VALUES ('` + a.ID + `', 1, 'txn_1', 'available', 1, 1, 0)`,
			"a posting of no account":  `INSERT INTO ledger_posting VALUES ('acc_none', 1, 'txn_1', 'available', 1, 1, 0)`,
			"sqlite: replaced posting": `INSERT OR REPLACE INTO ledger_posting VALUES ('` + a.ID + `', 1, 'txn_1', 'available', 1, 1, 0)`,
			"sqlite: replaced transaction": `INSERT OR REPLACE INTO ledger_transaction (id, workspace_id, kind, reference, description, created_at)
				SELECT id, workspace_id, kind, 'po_2', description, created_at FROM ledger_transaction`,
			"postgres: truncated postings":     `TRUNCATE ledger_posting`,
			"postgres: truncated transactions": `TRUNCATE ledger_transaction`,
		} {
			if engine, _, only := strings.Cut(name, ":"); only && engine != store.Engine {
				continue
			}
			if err := write(t, d, func(tx *db.Tx) error { return tx.Exec(sql) }); err == nil {
				t.Errorf("%s: the database let it happen", name)
			}
		}
		if now := [2]ledger.Account{find(t, d, a.ID), find(t, d, "sys_bank_PHP_sandbox")}; now != before {
			t.Errorf("the accounts are %+v, and were %+v", now, before)
		}
		verified(t, d)
	})
}

// verified demands that the ledger agrees with itself, both ways.
func verified(t *testing.T, d *db.DB) ledger.Report {
	t.Helper()
	var report ledger.Report
	for _, online := range []bool{false, true} {
		var err error
		if report, err = ledger.Verify(t.Context(), d, online, func(done, total int64) {}); err != nil || len(report.Mismatches) > 0 {
			t.Errorf("online %t: %v, %v", online, report.Mismatches, err)
		}
	}
	return report
}
