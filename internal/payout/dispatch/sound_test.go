package dispatch_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/ledger"
)

// What must hold whatever has happened: each query counts what breaks it.
var soundness = []struct{ what, sql string }{
	{"transactions that do not sum to zero in a currency", `SELECT count(*) FROM (SELECT p.transaction_id FROM ledger_posting p JOIN ledger_account a ON a.id = p.account_id
		GROUP BY p.transaction_id, a.currency HAVING sum(p.amount) <> 0) x`},
	{"buckets that are not the sum of their postings", `SELECT count(*) FROM ledger_account a WHERE
		a.available <> coalesce((SELECT sum(p.amount) FROM ledger_posting p WHERE p.account_id = a.id AND p.bucket = 'available'), 0) OR
		a.reserved <> coalesce((SELECT sum(p.amount) FROM ledger_posting p WHERE p.account_id = a.id AND p.bucket = 'reserved'), 0) OR
		a.pending <> coalesce((SELECT sum(p.amount) FROM ledger_posting p WHERE p.account_id = a.id AND p.bucket = 'pending'), 0)`},
	{"customers with a bucket below zero", `SELECT count(*) FROM ledger_account WHERE kind = 'customer' AND (available < 0 OR reserved < 0 OR pending < 0)`},
	{"accounts whose reserved money is not that of their payouts", `SELECT count(*) FROM ledger_account a WHERE a.kind = 'customer' AND a.reserved <>
		coalesce((SELECT sum(p.amount) FROM payout p WHERE p.account_id = a.id AND p.status IN ('pending', 'processing') AND (p.reserved_at > 0 OR p.account_sealed IS NOT NULL)), 0)`},
	{"accounts whose pending money is not what was announced", `SELECT count(*) FROM ledger_account a WHERE a.pending <>
		coalesce((SELECT sum(d.amount) FROM ledger_deposit d WHERE d.account_id = a.id AND d.status = 'pending'), 0)`},
	{"accounts whose postings have gaps", `SELECT count(*) FROM ledger_account a WHERE a.postings <> (SELECT count(*) FROM ledger_posting p WHERE p.account_id = a.id)
		OR a.postings <> coalesce((SELECT max(p.number) FROM ledger_posting p WHERE p.account_id = a.id), 0)`},
	{"postings whose balance is not what came before", `SELECT count(*) FROM (SELECT balance, sum(amount) OVER (PARTITION BY account_id, bucket ORDER BY number) AS follows
		FROM ledger_posting) x WHERE balance <> follows`},
	{"payouts whose reservations are not ended once each", `SELECT count(*) FROM payout p WHERE
		(SELECT count(*) FROM ledger_transaction t WHERE t.reference = p.id AND t.kind = 'reserve') <>
		(SELECT count(*) FROM ledger_transaction t WHERE t.reference = p.id AND t.kind IN ('release', 'complete')) +
		CASE WHEN p.status IN ('pending', 'processing') AND (p.reserved_at > 0 OR p.account_sealed IS NOT NULL) THEN 1 ELSE 0 END`},
	{"payouts that the bank has accepted twice", `SELECT count(*) FROM (SELECT payout_id FROM simulated_payment WHERE state NOT IN ('rejected', 'lost', 'not_received')
		GROUP BY payout_id HAVING count(*) > 1) x`},
	{"payouts of which two attempts were accepted", `SELECT count(*) FROM (SELECT payout_id FROM payout_attempt WHERE state IN ('accepted', 'completed')
		GROUP BY payout_id HAVING count(*) > 1) x`},
	{"payouts whose attempts do not fit", `SELECT count(*) FROM payout p WHERE (p.status = 'processing') <>
		(1 = (SELECT count(*) FROM payout_attempt a WHERE a.payout_id = p.id AND a.state IN ('sending', 'accepted', 'unknown')))`},
	{"payouts that are completed and that the bank does not know", `SELECT count(*) FROM payout p WHERE p.status IN ('completed', 'reversed') AND NOT EXISTS
		(SELECT 1 FROM simulated_payment s WHERE s.payout_id = p.id AND s.state = 'completed')`},
	{"payouts that failed and that the bank has paid", `SELECT count(*) FROM payout p WHERE p.status IN ('failed', 'cancelled') AND EXISTS
		(SELECT 1 FROM simulated_payment s WHERE s.payout_id = p.id AND s.state IN ('completed', 'accepted'))`},
	{"payouts that wait for an approval that does not", `SELECT count(*) FROM payout p WHERE p.status = 'initiated' AND NOT EXISTS
		(SELECT 1 FROM approval a WHERE a.id = p.approval_id AND a.state = 'pending')`},
	{"payouts that go on without the approval that they need", `SELECT count(*) FROM payout p JOIN approval a ON a.id = p.approval_id
		WHERE p.status NOT IN ('initiated', 'cancelled') AND
		(a.state <> 'approved' OR a.needed > (SELECT count(*) FROM approval_vote v WHERE v.approval_id = a.id))`},
	{"payouts that their maker has approved", `SELECT count(*) FROM payout p JOIN approval_vote v ON v.approval_id = p.approval_id WHERE v.account_id = p.maker_id`},
	{"batches that are not the payouts that they tell of", `SELECT count(*) FROM payout_batch b WHERE
		b.payouts <> (SELECT count(*) FROM payout p WHERE p.batch_id = b.id) OR b.total <> (SELECT sum(p.amount) FROM payout p WHERE p.batch_id = b.id)`},
}

// unsound lists what does not hold.
func (b *bank) unsound() (list []string) {
	b.t.Helper()
	for _, one := range soundness {
		if b.count(one.sql) != 0 {
			list = append(list, one.what)
		}
	}
	return list
}

// sound checks what must hold whatever has happened.
func (b *bank) sound() {
	b.t.Helper()
	for _, what := range b.unsound() {
		b.t.Errorf("there are %s", what)
	}
	if report, err := ledger.Verify(context.Background(), b.db, true, func(int64, int64) {}); err != nil || len(report.Mismatches) > 0 {
		b.t.Errorf("the ledger does not verify: %v, %v", report.Mismatches, err)
	}
}

// A check that finds nothing wrong is worth something only if it can.
func TestEachKindOfDamageIsFound(t *testing.T) {
	dbtest.TakesSeconds(t)
	const customer = `(SELECT account_id FROM payout LIMIT 1)`
	tampered := map[string]string{
		"transactions that do not sum to zero in a currency":         `UPDATE ledger_posting SET amount = amount + 1 WHERE account_id = ` + customer + ` AND number = 1`,
		"buckets that are not the sum of their postings":             `UPDATE ledger_account SET available = available + 1 WHERE id = ` + customer,
		"customers with a bucket below zero":                         `UPDATE ledger_account SET pending = -1 WHERE id = ` + customer,
		"accounts whose reserved money is not that of their payouts": `UPDATE payout SET amount = amount + 1 WHERE status = 'processing'`,
		"accounts whose pending money is not what was announced":     `UPDATE ledger_deposit SET status = 'booked'`,
		"accounts whose postings have gaps":                          `UPDATE ledger_posting SET number = 1000 WHERE account_id = ` + customer + ` AND number = 2`,
		"postings whose balance is not what came before":             `UPDATE ledger_posting SET balance = balance + 1 WHERE account_id = ` + customer + ` AND number = 2`,
		"payouts whose reservations are not ended once each": `INSERT INTO ledger_transaction (id, kind, reference, description, created_at)
			SELECT 'txn_again', 'release', id, '', 0 FROM payout WHERE status = 'completed' LIMIT 1`,
		"payouts that the bank has accepted twice": `INSERT INTO simulated_payment (end_to_end_id, payout_id, rail, amount, currency, digits, state, code, return_code, taken_at)
			SELECT 'again', payout_id, rail, amount, currency, digits, state, code, return_code, taken_at FROM simulated_payment WHERE state = 'completed' LIMIT 1`,
		"payouts of which two attempts were accepted": `INSERT INTO payout_attempt (id, payout_id, number, end_to_end_id, state, code, text, reference, node, ask_at, asked, created_at, answered_at, settled_at)
			SELECT 'att_again', payout_id, 2, 'again', state, code, text, reference, node, ask_at, asked, created_at, answered_at, settled_at FROM payout_attempt WHERE state = 'completed' LIMIT 1`,
		"payouts whose attempts do not fit":                          `UPDATE payout_attempt SET state = 'rejected' WHERE state = 'accepted'`,
		"payouts that are completed and that the bank does not know": `DELETE FROM simulated_payment WHERE state = 'completed'`,
		"payouts that failed and that the bank has paid":             `UPDATE payout SET status = 'failed' WHERE status = 'completed'`,
		"payouts that wait for an approval that does not":            `UPDATE approval SET state = 'rejected' WHERE state = 'pending'`,
		"payouts that go on without the approval that they need":     `DELETE FROM approval_vote`,
		"payouts that their maker has approved":                      `UPDATE approval_vote SET account_id = (SELECT maker_id FROM payout WHERE approval_id IS NOT NULL LIMIT 1) WHERE account_id = 'usr_b'`,
		"batches that are not the payouts that they tell of":         `UPDATE payout SET batch_id = NULL`,
	}
	for _, one := range soundness {
		t.Run(one.what, func(t *testing.T) {
			b := openBank(t, dbtest.SQLite(t))
			o := openOffice(b)
			b.pay(number("0001"), number("9011"))
			o.announce(0, 500)
			first, second := o.pay("usr_a", 2), o.pay("usr_a", 2)
			for _, who := range []string{"usr_b", "usr_c"} {
				if err := o.approve(who, first); err != nil {
					t.Fatal(err)
				}
			}
			if err := o.approve("usr_b", second); err != nil {
				t.Fatal(err)
			}
			if _, err := o.batch("usr_a", 0, false, 100, 200); err != nil {
				t.Fatal(err)
			}
			b.settle(lease)
			b.sound()
			for _, sql := range []string{`DROP TRIGGER ledger_posting_keep_update`, `PRAGMA ignore_check_constraints = ON`, tampered[one.what]} {
				b.write(func(tx *db.Tx) error { return tx.Exec(sql) })
			}
			if found := b.unsound(); !slices.Contains(found, one.what) {
				t.Errorf("%s is not found, but %s", one.what, fmt.Sprint(found))
			}
		})
	}
}
