package ledger_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/ledger"
)

// unguarded drops what keeps the ledger as it is, as someone who owns the database can.
func unguarded(t *testing.T, d *db.DB, engine string) {
	t.Helper()
	drop := map[string][]string{
		"sqlite": {`DROP TRIGGER ledger_posting_keep_update`, `DROP TRIGGER ledger_posting_keep_delete`, `DROP TRIGGER ledger_transaction_keep_delete`,
			`DROP TRIGGER ledger_account_keep_update`},
		"postgres": {`DROP TRIGGER ledger_posting_keep ON ledger_posting`, `DROP TRIGGER ledger_transaction_keep ON ledger_transaction`,
			`DROP TRIGGER ledger_account_keep_update ON ledger_account`},
	}
	for _, sql := range drop[engine] {
		mustWrite(t, d, func(tx *db.Tx) error { return tx.Exec(sql) })
	}
}

// Each kind of damage is found by both ways to verify and, except for one that takes memory, by the check in
// the background, and the mismatch names where it is.
func TestVerifyFindsPlantedDamage(t *testing.T) {
	const ofThird = ` WHERE account_id = 'ACC' AND number = 3`
	for name, c := range map[string]struct{ sql, problem string }{
		"an amount":            {`UPDATE ledger_posting SET amount = amount - 5` + ofThird, "posting 3 of account ACC, transaction TXN3: reserved was 0 and changed by 35, but the balance is 40"},
		"its transaction":      {`UPDATE ledger_posting SET amount = amount - 5` + ofThird, "transaction TXN3: its postings sum to -5"},
		"a balance":            {`UPDATE ledger_posting SET balance = balance + 5` + ofThird, "posting 3 of account ACC, transaction TXN3: reserved was 0 and changed by 40, but the balance is 45"},
		"a bucket":             {`UPDATE ledger_account SET available = available + 1 WHERE id = 'ACC'`, "account ACC: available is 61, but 60 follows from its postings"},
		"the count":            {`UPDATE ledger_account SET postings = 99 WHERE id = 'ACC'`, "account ACC: the number of the last posting is 99, but 4 follows from its postings"},
		"a missing posting":    {`DELETE FROM ledger_posting` + ofThird, "posting 4 of account ACC, transaction TXN4: the posting before it is 2"},
		"half a transaction":   {`DELETE FROM ledger_posting` + ofThird, "transaction TXN3: it has 1 postings"},
		"a missing txn":        {`DELETE FROM ledger_transaction WHERE id = 'TXN3'`, "posting 3 of account ACC, transaction TXN3: its transaction does not exist"},
		"a currency":           {`UPDATE ledger_account SET currency = 'USD' WHERE id = 'ACC'`, "posting 1 of account sys_bank_PHP_sandbox, transaction TXN1: it moves money between currencies or modes"},
		"a time":               {`UPDATE ledger_posting SET created_at = 1` + ofThird, "posting 3 of account ACC, transaction TXN3: it is older than the posting before it"},
		"more than was booked": {``, "posting 5 of account ACC, transaction TXN5: more was taken from what is reserved for po_2 than was reserved"},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				d := open(t, store)
				a := newAccount(t, d, 100)
				reserve(t, d, a, 40)
				mustWrite(t, d, func(tx *db.Tx) error { return ledger.Complete(tx, of(a, 10)) })
				if report := verified(t, d); report.Accounts != 3 || report.Transactions != 3 || report.Postings != 6 {
					t.Errorf("the report is %+v", report)
				}
				unguarded(t, d, store.Engine)
				if c.sql == "" { // which nothing but the order of payouts keeps from happening
					other := of(a, 10)
					other[0].Reference = "po_2"
					mustWrite(t, d, func(tx *db.Tx) error { return ledger.Release(tx, other) })
				} else {
					mustWrite(t, d, func(tx *db.Tx) error { return tx.Exec(named(t, d, a.ID, c.sql)) })
				}
				want := named(t, d, a.ID, c.problem)
				for _, online := range []bool{false, true} {
					report, err := ledger.Verify(t.Context(), d, online, func(done, total int64) {})
					if err != nil || !strings.Contains(fmt.Sprint(report.Mismatches), want) {
						t.Errorf("online %t: %v, %v, want %s", online, report.Mismatches, err, want)
					}
				}
				check := ledger.NewCheck(d)
				if found := turns(t, check); found == 0 && c.sql != "" {
					t.Error("the check in the background finds nothing")
				}
			})
		})
	}
}

// seen remembers the transactions of an account by the number of the posting, also once they are gone.
var seen = map[string]string{}

// named puts ids into a text.
func named(t *testing.T, d *db.DB, account, text string) string {
	t.Helper()
	err := d.Read(t.Context(), func(q db.Q) error {
		return q.Each(func(r db.Rows) error {
			seen[account+fmt.Sprint(r.Int(0))] = r.Text(1)
			return nil
		}, `SELECT number, transaction_id FROM ledger_posting WHERE account_id = $1`, account)
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 9 {
		text = strings.ReplaceAll(text, fmt.Sprint("TXN", n), seen[account+fmt.Sprint(n)])
	}
	return strings.ReplaceAll(text, "ACC", account)
}

// turns checks the ledger once in the background.
func turns(t *testing.T, c *ledger.Check) int {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = c.Turn(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	return c.Mismatches()
}

// A check goes on where another node has left it, and one that is at work keeps others from it.
func TestTheCheckGoesOnElsewhere(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		var clock clock
		d := openAt(t, store, clock.now)
		a := newAccount(t, d, 100)
		mustWrite(t, d, func(tx *db.Tx) error {
			for range 700 {
				if _, err := ledger.Post(tx, deposit(a, 1)); err != nil {
					return err
				}
			}
			return nil
		})
		one, other, quiet := ledger.NewCheck(d), ledger.NewCheck(d), slog.New(slog.DiscardHandler)
		if more, err := one.Turn(t.Context(), quiet); err != nil || !more {
			t.Fatalf("the first step: %t, %v", more, err)
		}
		if more, err := other.Turn(t.Context(), quiet); err != nil || more {
			t.Fatalf("another node works at the same time: %t, %v", more, err)
		}
		unguarded(t, d, store.Engine)
		mustWrite(t, d, func(tx *db.Tx) error {
			return tx.Exec(`UPDATE ledger_posting SET amount = 2 WHERE account_id = $1 AND number = 500`, a.ID)
		})
		clock.advance(5)
		if found := turns(t, other); found == 0 {
			t.Error("the other node finds nothing")
		}
		if more, err := one.Turn(t.Context(), quiet); err != nil || more || one.Mismatches() != other.Mismatches() {
			t.Errorf("the first node: %t, %v, %d mismatches", more, err, one.Mismatches())
		}
	})
}
