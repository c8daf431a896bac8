package ledger_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bursar/internal/db"
	"bursar/internal/ledger"
	"bursar/internal/server/servertest"
)

// A payout whose row does not say what the books do is found in each way to verify, and the mismatch
// names it, its account and its last transaction.
func TestVerifyComparesPayoutsWithTheBooks(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		ids := map[string]string{"completed": x.Sent("1234560001"), "failed": x.Sent("1234569001"), "pending": x.Sent("1234569011"), "reversed": x.Sent("1234569014")}
		n.Clock.Advance(time.Minute)
		n.RunPayouts(t)
		account := x.Account(1_000)
		ids["draft"] = x.Owner.Post("/v2/payout-requests", body{"source_account_id": account, "amount_cents": 1_000, "currency": "PHP", "status": "draft",
			"settlement_account": body{"bank_account_name": "Juan dela Cruz", "bank_account_number": "1234560001", "bank_code": "BOPIPHMMXXX"}}).Created().Text("id")
		set := func(sql string, args ...any) {
			t.Helper()
			inLedger(t, n, func(tx *db.Tx) error { return tx.Exec(sql, args...) })
		}
		set(`UPDATE payout SET status = 'pending' WHERE id = $1 AND status = 'processing'`, ids["pending"]) // for which the books are the same
		if report := verified(t, n.DB); report.Payouts != int64(len(ids)) {
			t.Errorf("%d payouts were looked at, want %d", report.Payouts, len(ids))
		}
		for name, c := range map[string]struct{ payout, column, value, problem string }{
			"one that waits is cancelled":      {"pending", "status", "'cancelled'", "is cancelled, but its transactions are 1 × reserve, 0 × release, 0 × complete, 0 × reopen, 0 × settle and 0 × return"},
			"one that waits is completed":      {"pending", "status", "'completed'", "is completed, but its transactions are 1 × reserve, 0 × release"},
			"one that is completed failed":     {"completed", "status", "'failed'", "is failed, but its transactions are 1 × reserve, 0 × release, 1 × complete, 0 × reopen, 1 × settle and 0 × return"},
			"one that is completed came back":  {"completed", "status", "'reversed'", "is reversed, but its transactions are 1 × reserve"},
			"one that is completed waits":      {"completed", "status", "'processing'", "is processing, but its transactions are 1 × reserve"},
			"one that failed waits":            {"failed", "status", "'pending'", "is pending, but its transactions are 1 × reserve, 1 × release"},
			"one that came back did not":       {"reversed", "status", "'completed'", "is completed, but its transactions are 1 × reserve, 0 × release, 1 × complete, 0 × reopen, 1 × settle and 1 × return"},
			"a draft is completed":             {"draft", "status", "'completed'", "is completed, but its transactions are 0 × reserve"},
			"a state that there is not":        {"failed", "status", "'gone'", "is gone, but its transactions are 1 × reserve"},
			"another amount":                   {"completed", "amount", "99999", "is for 99999, but this settle moves 100000"},
			"an account that is not its payer": {"completed", "account_id", "'" + account + "'", "is paid from this account, but its money was reserved in ACC"},
		} {
			id := ids[c.payout]
			var before, payer, last string
			err := n.DB.Read(t.Context(), func(q db.Q) error {
				if _, err := q.Row(`SELECT CAST(`+c.column+` AS TEXT), account_id FROM payout WHERE id = $1`, id).Scan(&before, &payer); err != nil {
					return err
				}
				_, err := q.Row(`SELECT coalesce(max(id), '') FROM ledger_transaction WHERE reference = $1 AND ($2 = '' OR kind = $2)`, id, map[bool]string{true: "reserve"}[c.column == "account_id"]).Scan(&last)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			where := "account " + payer + ", transaction " + last
			switch {
			case last == "":
				where = "account " + payer
			case c.column == "account_id":
				where = "account " + account + ", transaction " + last
			}
			want := where + ": payout " + id + ": the payout " + strings.ReplaceAll(c.problem, "ACC", payer)
			set(`UPDATE payout SET ` + c.column + ` = ` + c.value + ` WHERE id = '` + id + `'`)
			set(`DELETE FROM setting WHERE name = 'ledger_checked'`)
			for _, online := range []bool{false, true} {
				report, err := ledger.Verify(t.Context(), n.DB, online, func(done, total int64) {})
				if err != nil || !strings.Contains(fmt.Sprint(report.Mismatches), want) {
					t.Errorf("%s, online %t: %v, %v, want %s", name, online, report.Mismatches, err, want)
				}
			}
			if turns(t, ledger.NewCheck(n.DB)) == 0 {
				t.Errorf("%s: the check in the background finds nothing", name)
			}
			if c.column != "amount" {
				before = "'" + before + "'"
			}
			set(`UPDATE payout SET ` + c.column + ` = ` + before + ` WHERE id = '` + id + `'`)
		}
		verified(t, n.DB)
	})
}

// Anyone who writes that a payout was not paid after all is found, unless the payout says so, too.
func TestVerifyFindsForgedReopenings(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		const amount = 100_000
		reopen := func(payout, account string) {
			t.Helper()
			inLedger(t, n, func(tx *db.Tx) error {
				_, err := ledger.Post(tx, ledger.Transaction{Kind: ledger.KindReopen, WorkspaceID: x.WorkspaceID, Reference: payout, Moves: []ledger.Move{
					{AccountID: ledger.SystemAccount(ledger.Clearing, "PHP", "sandbox"), Bucket: ledger.BucketAvailable, Amount: -amount},
					{AccountID: account, Bucket: ledger.BucketAvailable, Amount: amount}}})
				return err
			})
		}
		found := func(what, want string) {
			t.Helper()
			report, err := ledger.Verify(t.Context(), n.DB, true, func(done, total int64) {})
			if err != nil || !strings.Contains(fmt.Sprint(report.Mismatches), want) {
				t.Errorf("%s: %v, %v, want %s", what, report.Mismatches, err, want)
			}
		}
		// A payout that is completed and not settled, so that clearing has its money.
		paid := x.Stuck("sandbox")
		x.Owner.Post("/v2/payout-requests/"+paid+"/resolve", body{"as": "paid", "evidence": "a statement"}).OK()
		verified(t, n.DB)
		account := x.Owner.Get("/v2/payout-requests/" + paid).OK().Text("source_account_id")
		reopen(paid, account)
		found("a completed one", "is completed, but its transactions are 1 × reserve, 0 × release, 1 × complete, 1 × reopen")
		inLedger(t, n, func(tx *db.Tx) error { return tx.Exec(`UPDATE payout SET status = 'failed' WHERE id = $1`, paid) })
		verified(t, n.DB)

		other := x.Stuck("sandbox")
		x.Owner.Post("/v2/payout-requests/"+other+"/resolve", body{"as": "paid", "evidence": "a statement"}).OK()
		thief := x.Account(0)
		reopen(other, thief)
		inLedger(t, n, func(tx *db.Tx) error { return tx.Exec(`UPDATE payout SET status = 'failed' WHERE id = $1`, other) })
		found("to another account", "its money went back to "+thief)
	})
}
