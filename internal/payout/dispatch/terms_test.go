package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/ledger"
	"bursar/internal/payout"
	"bursar/internal/rail"
)

// Each change is what an attacker with write access to the store could make to a payout that waits, or to one that has ended.
func TestAPayoutThatWasChangedInTheStoreIsNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		ended  bool // it failed before
		change []string
	}{
		"another amount":          {false, []string{`UPDATE payout SET amount = amount + 1 WHERE id = $1`}},
		"another payee":           {false, []string{`UPDATE payout SET account_name = 'Mallory' WHERE id = $1`}},
		"another bank":            {false, []string{`UPDATE payout SET institution_code = 'GXCHPHM2XXX' WHERE id = $1`}},
		"the number of another":   {false, []string{`UPDATE payout SET account_sealed = (SELECT account_sealed FROM payout p WHERE p.id <> $1 LIMIT 1) WHERE id = $1`}},
		"another rail":            {false, []string{`UPDATE payout SET rail = 'pesonet' WHERE id = $1`}},
		"an approval left out":    {false, []string{`UPDATE payout SET approvals_needed = 1 WHERE id = $1`}},
		"no code":                 {false, []string{`UPDATE payout SET terms_mac = NULL WHERE id = $1`}},
		"the code of another":     {false, []string{`UPDATE payout SET terms_mac = (SELECT terms_mac FROM payout p WHERE p.id <> $1 LIMIT 1) WHERE id = $1`}},
		"sent again after it had": {true, []string{`UPDATE payout SET status = 'pending', send_at = 1, attention = '' WHERE id = $1`}},
		"a reservation without a code": {true, []string{
			`UPDATE payout SET status = 'pending', send_at = 1 WHERE id = $1`,
			`INSERT INTO ledger_transaction (id, workspace_id, kind, reference, description, created_at) SELECT 'txn_forged', workspace_id, 'reserve', id, '', 1 FROM payout WHERE id = $1`,
			`INSERT INTO ledger_posting (account_id, number, transaction_id, bucket, amount, balance, created_at)
				SELECT account_id, 1000, 'txn_forged', 'reserved', amount, amount, 1 FROM payout WHERE id = $1`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				b := openBank(t, store)
				end := "0001"
				if c.ended {
					end = "9001"
				}
				id := b.pay(number(end))[0]
				other := b.pay(number("0002"))[0]
				if c.ended {
					b.turn()
					b.is(id, "failed INVALID_ACCOUNT AC01")
				}
				for _, sql := range c.change {
					b.write(func(tx *db.Tx) error { return tx.Exec(sql, id) })
				}
				b.line.submit = func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
					for _, p := range list {
						if p.PayoutID == id {
							t.Errorf("it was sent: %s to %s", p.EndToEndID, p.To.AccountName)
						}
					}
					return b.sim.Submit(ctx, r, list)
				}
				b.turn()
				b.isContradicted(id)
				b.is(other, "completed")
				if n := b.Contradicted.Load(); n != 1 {
					t.Errorf("%d alarms, want 1", n)
				}
			})
		})
	}
}

// A payout that waits when an operator accepts the ledger is sent, and one that is forged later is not.
func TestPayoutsThatWaitGetTheirCodeOnceWithANewKey(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		ids := b.pay(number("0001"), number("0002"))
		b.clock.advance(time.Second)
		b.unguard(store.Engine)
		for _, sql := range []string{`DELETE FROM vault_secret WHERE name = 'integrity_key'`, `UPDATE ledger_transaction SET mac = NULL`, `UPDATE payout SET terms_mac = NULL`} {
			b.write(func(tx *db.Tx) error { return tx.Exec(sql) })
		}
		if err := payout.LoadIntegrity(t.Context(), b.db, b.vault, true); err != nil {
			t.Fatal(err)
		}
		b.write(func(tx *db.Tx) error {
			return tx.Exec(`UPDATE payout SET account_name = 'Mallory' WHERE id = $1`, ids[1])
		})
		if err := payout.LoadIntegrity(t.Context(), b.db, b.vault, false); err != nil { // the next start
			t.Fatal(err)
		}
		b.turn()
		b.is(ids[0], "completed")
		b.isContradicted(ids[1])
		b.write(func(tx *db.Tx) error {
			return tx.Exec(`UPDATE payout SET account_name = 'Ada Lovelace' WHERE id = $1`, ids[1])
		})
		b.sound()
	})
}

// Anyone who deletes the key from the store must not get a new one that accepts what they have changed.
func TestAStoreWhoseIntegrityKeyWasDeletedIsRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		b.pay(number("0001"))
		b.write(func(tx *db.Tx) error { return tx.Exec(`DELETE FROM vault_secret WHERE name = 'integrity_key'`) })
		if err := payout.LoadIntegrity(t.Context(), b.db, b.vault, false); err == nil || !strings.Contains(err.Error(), "reauthenticate") {
			t.Errorf("the store gets a new key: %v", err)
		}
		if err := payout.LoadIntegrity(t.Context(), b.db, b.vault, true); err != nil {
			t.Errorf("an operator accepts it: %v", err)
		}
		b.turn()
		b.sound()
	})
}

func TestAStoreWhoseIntegrityKeyAndCodesWereDeletedIsRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		b.newAccount(5)
		b.pay(number("0001"))
		b.newAccount(6)
		b.unguard(store.Engine)
		b.exec(`DELETE FROM vault_secret WHERE name = 'integrity_key'`)
		b.exec(`UPDATE ledger_transaction SET mac = NULL`)
		if err := payout.LoadIntegrity(t.Context(), b.db, b.vault, false); !errors.Is(err, payout.ErrNoIntegrity) {
			t.Errorf("the key is made again: %v", err)
		}
	})
}

// Rows of the ledger that were written, changed or deleted without the program are found by both ways to look for them.
func TestVerificationFindsMoneyThatWasForgedInTheStore(t *testing.T) {
	const (
		first  = `(SELECT id FROM ledger_account WHERE kind = 'customer' ORDER BY id LIMIT 1)`
		other  = `(SELECT id FROM ledger_account WHERE kind = 'customer' ORDER BY id DESC LIMIT 1)`
		bank   = `(SELECT id FROM ledger_account WHERE kind = 'bank' LIMIT 1)`
		copied = `(SELECT mac FROM ledger_transaction ORDER BY id LIMIT 1)`
	)
	// forged are the rows of a transaction that moves an amount from a bucket of an account to another.
	forged := func(kind, reference, mac, from, fromBucket, to string) []string {
		list := []string{fmt.Sprintf(`INSERT INTO ledger_transaction (id, workspace_id, kind, reference, description, created_at, mac) VALUES ('txn_9', 'ws_1', '%s', %s, '', 1, %s)`, kind, reference, mac)}
		for _, p := range []struct{ account, bucket, change string }{{from, fromBucket, "- 12345"}, {to, "available", "+ 12345"}} {
			list = append(list,
				fmt.Sprintf(`INSERT INTO ledger_posting (account_id, number, transaction_id, bucket, amount, balance, created_at)
					SELECT id, postings + 1, 'txn_9', '%[1]s', 0 %[2]s, %[1]s %[2]s, updated_at FROM ledger_account WHERE id = %[3]s`, p.bucket, p.change, p.account),
				fmt.Sprintf(`UPDATE ledger_account SET %[1]s = %[1]s %[2]s, postings = postings + 1 WHERE id = %[3]s`, p.bucket, p.change, p.account))
		}
		return list
	}
	deposit := func(mac string) []string {
		return append(forged("deposit", "'dep_9'", mac, bank, "available", first),
			`INSERT INTO ledger_deposit (id, workspace_id, account_id, amount, source, reference, status, created_at, booked_at) VALUES ('dep_9', 'ws_1', `+first+`, 12345, 'bank', '', 'booked', 1, 1)`)
	}
	transfer := func(mac string) []string { return forged("transfer", "'trf_9'", mac, first, "available", other) }
	release := func(mac string) []string {
		return forged("release", `(SELECT id FROM payout WHERE status = 'processing')`, mac, first, "reserved", first)
	}
	of := func(a audit.Action) string {
		return fmt.Sprintf(` WHERE action_key = %d`, audit.FilterKey(audit.ByAction, "ws_1", string(a)))
	}
	unlog := func(a audit.Action) []string { return []string{`DELETE FROM audit_log` + of(a)} }
	relog := func(a audit.Action, amount, by string) []string {
		return []string{`UPDATE audit_log SET personal = replace(personal, '` + amount + `', '` + by + `')` + of(a)}
	}
	for name, c := range map[string]struct {
		change []string
		want   string
	}{
		"a balanced deposit":                       {deposit("NULL"), "1 transactions have no authentication code"},
		"a balanced deposit with a code":           {deposit(copied), "its authentication code is wrong"},
		"a transfer":                               {transfer("NULL"), "1 transactions have no authentication code"},
		"a transfer with a code":                   {transfer(copied), "its authentication code is wrong"},
		"a release":                                {release("NULL"), "the payout is processing, but its transactions are 1 × reserve, 1 × release"},
		"a release with a code":                    {release(copied), "its authentication code is wrong"},
		"a deposit that is larger":                 {[]string{`UPDATE ledger_deposit SET amount = amount + 1`}, "but the deposit"},
		"a deposit without a row in the log":       {unlog(audit.DepositBooked), "the audit log has no row of the deposit"},
		"a transfer without a row in the log":      {unlog(audit.TransferCreated), "the audit log has no row of the transfer"},
		"a deposit of which the log has another":   {relog(audit.DepositBooked, "100000000", "100000001"), "is for 100000000, but the audit log says 100000001"},
		"a transfer of which the log has another":  {relog(audit.TransferCreated, "700", "701"), "is for 700, but the audit log says 701"},
		"a payout of which the log has another":    {relog(audit.PayoutUpdated, "12345", "12346"), "it is for 12345, but the audit log says 12346"},
		"a completion that the log lacks":          {unlog(audit.PayoutCompleted), "1 × complete, but the audit log explains 0"},
		"a settlement that the log lacks":          {unlog(audit.PayoutSettled), "1 × settle, but the audit log explains 0"},
		"a release that the log lacks":             {unlog(audit.PayoutCancelled), "1 × release, but the audit log explains 0"},
		"a payout that was deleted":                {[]string{`DELETE FROM payout_attempt`, `DELETE FROM payout`}, "which the store does not have"},
		"a payout that was never reserved":         {[]string{`UPDATE payout SET status = 'pending', send_at = 1`}, "but its transactions are"},
		"a cancelled payout without its release":   {deletedRelease, "the payout is cancelled, but its transactions are 1 × reserve, 0 × release"},
		"one that waits again without its release": {append(deletedRelease, `UPDATE payout SET status = 'pending' WHERE status = 'cancelled'`), "the audit log says 1 × that this ended, and the ledger 0 × release"},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				b := openBank(t, store)
				to := b.newAccount(1_000)
				id := b.pay(number("0001"), number("9011"))[0]
				b.settle(10 * time.Second)
				b.write(func(tx *db.Tx) error {
					updated := audit.Event{Action: audit.PayoutUpdated, WorkspaceID: "ws_1", ResourceID: id, Description: "A test"}
					updated.Changes.Add("amount_cents", nil, amount)
					moved := audit.Event{Action: audit.TransferCreated, WorkspaceID: "ws_1", ResourceID: "trf_1", Description: "A test"}
					moved.Changes.Add("amount_cents", nil, 700)
					b.events = append(b.events, updated, moved)
					_, err := ledger.Post(tx, ledger.Transaction{Kind: ledger.KindTransfer, WorkspaceID: "ws_1", Reference: "trf_1", Moves: []ledger.Move{
						{AccountID: b.account.ID, Bucket: ledger.BucketAvailable, Amount: -700}, {AccountID: to.ID, Bucket: ledger.BucketAvailable, Amount: 700}}})
					return err
				})
				waits := b.pay(number("0002"))[0]
				b.write(func(tx *db.Tx) error {
					b.logs(audit.PayoutCancelled, waits)
					_, err := cancelPending(tx, waits)
					return err
				})
				b.sound()
				b.unguard(store.Engine)
				for _, sql := range c.change {
					b.write(func(tx *db.Tx) error { return tx.Exec(sql) })
				}
				report, err := ledger.Verify(t.Context(), b.db, false, func(int64, int64) {})
				if err != nil || !strings.Contains(mismatches(report), c.want) {
					t.Errorf("verification finds %q, want %q: %v", mismatches(report), c.want, err)
				}
				check := ledger.NewCheck(b.db)
				for more := true; more; {
					if more, err = check.Turn(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
						t.Fatal(err)
					}
				}
				if got := check.Mismatches(); got != len(report.Mismatches) {
					t.Errorf("the check in the background finds %d mismatches, want %d", got, len(report.Mismatches))
				}
			})
		})
	}
}

// deletedRelease makes the money of a cancelled payout reserved again, as if it had never been released.
var deletedRelease = []string{
	`DELETE FROM ledger_posting WHERE transaction_id = (SELECT id FROM ledger_transaction WHERE kind = 'release')`,
	`DELETE FROM ledger_transaction WHERE kind = 'release'`,
	`UPDATE ledger_account SET reserved = reserved + 12345, available = available - 12345, postings = postings - 2
		WHERE id = (SELECT account_id FROM payout WHERE status = 'cancelled')`,
}

// unguard removes the triggers that keep rows as they are, as an attacker does.
func (b *bank) unguard(engine string) {
	b.t.Helper()
	statements := []string{`ALTER TABLE audit_log DISABLE TRIGGER USER`, `ALTER TABLE ledger_transaction DISABLE TRIGGER USER`, `ALTER TABLE ledger_posting DISABLE TRIGGER USER`}
	if engine == "sqlite" {
		statements = []string{`DROP TRIGGER audit_log_keep_delete`, `DROP TRIGGER audit_log_keep_update`, `DROP TRIGGER ledger_transaction_keep_update`,
			`DROP TRIGGER ledger_transaction_keep_delete`, `DROP TRIGGER ledger_posting_keep_delete`}
	}
	for _, sql := range statements {
		b.write(func(tx *db.Tx) error { return tx.Exec(sql) })
	}
}

// isContradicted checks that a payout waits for a person.
func (b *bank) isContradicted(id string) {
	b.t.Helper()
	if p := b.payout(id); p.Status != payout.Pending || p.Attention != payout.Contradicted {
		b.t.Errorf("payout %s is %s %s, want pending contradicted", id, p.Status, p.Attention)
	}
}

func mismatches(r ledger.Report) string {
	var list []string
	for _, m := range r.Mismatches {
		list = append(list, m.Problem)
	}
	return strings.Join(list, "; ")
}
