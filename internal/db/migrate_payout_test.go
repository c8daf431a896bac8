package db_test

import (
	"slices"
	"testing"

	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/ledger"
)

// ofBefore are the rows of a store without payouts: of a workspace, of its approvals (one person has approved a
// change of another, one change is rejected, and one waits) and of its money.
var ofBefore = map[string][]string{
	"workspace": {
		`INSERT INTO organization (id, name, slug, created_at) VALUES ('org_1', '', 'org', 0)`,
		`INSERT INTO workspace (id, number, organization_id, name, slug, member_version, created_at) VALUES ('ws_1', 1, 'org_1', '', 'one', 0, 0)`,
	},
	"approvals": {
		`INSERT INTO account (id, kind, email, name, status, created_at, email_proof) VALUES
			('usr_a', 'person', 'a@example.com', '', 'active', 0, '*'), ('usr_b', 'person', 'b@example.com', '', 'active', 0, '*')`,
		`INSERT INTO workspace_member (workspace_id, account_id, member_id, joined_at, accepted) VALUES ('ws_1', 'usr_a', 'usr_a', 0, TRUE), ('ws_1', 'usr_b', 'usr_b', 0, TRUE)`,
		`INSERT INTO member_role (workspace_id, account_id, role) VALUES ('ws_1', 'usr_a', 'admin'), ('ws_1', 'usr_b', 'admin')`,
		`INSERT INTO receiving_policy (workspace_id, approval, cooling_hours, two_seen_at, version) VALUES ('ws_1', 'two_persons', 7, 100, 3)`,
		`INSERT INTO receiving_approver (workspace_id, account_id, since) VALUES ('ws_1', 'usr_a', 0), ('ws_1', 'usr_b', 50)`,
		`INSERT INTO approval (id, workspace_id, kind, subject_id, subject_version, about_id, digest, maker_id, maker, involved, state, told, decided_by, decided_at, verification, reason, created_at, expires_at) VALUES
			('apr_1', 'ws_1', 'receiving_policy', 'ws_1', 1, '', '', 'usr_a', '{}', ' usr_a ', 'approved', 'approved', 'usr_b', 60, 'Called.', '', 10, 1000),
			('apr_2', 'ws_1', 'receiving_policy', 'ws_1', 2, '', '', 'usr_a', '{}', ' usr_a ', 'rejected', 'rejected', 'usr_b', 61, '', 'No.', 10, 1000),
			('apr_3', 'ws_1', 'receiving_policy', 'ws_1', 3, '', '', 'usr_a', '{}', ' usr_a ', 'pending', '', NULL, NULL, '', '', 10, 1000)`,
	},
	"money": {
		`INSERT INTO ledger_account (id, workspace_id, kind, name, currency, mode, status, available, reserved, pending, postings, version, created_at, updated_at) VALUES
			('acc_1', 'ws_1', 'customer', 'Main', 'PHP', 'sandbox', 'active', 700, 0, 0, 1, 1, 0, 0), ('sys_bank_PHP_sandbox', NULL, 'bank', '', 'PHP', 'sandbox', 'active', -700, 0, 0, 1, 1, 0, 0)`,
		`INSERT INTO ledger_transaction (id, workspace_id, kind, reference, description, created_at) VALUES ('txn_1', 'ws_1', 'deposit', 'dep_1', '', 0)`,
		`INSERT INTO ledger_posting (account_id, number, transaction_id, bucket, amount, balance, created_at) VALUES
			('acc_1', 1, 'txn_1', 'available', 700, 700, 0), ('sys_bank_PHP_sandbox', 1, 'txn_1', 'available', -700, -700, 0)`,
	},
}

// leftBefore makes a store as the last program left it before a migration.
func leftBefore(t *testing.T, store dbtest.Store, migration string, parts ...string) {
	t.Helper()
	fillBefore(t, store, migration, func(tx *db.Tx) error {
		for _, part := range parts {
			for _, statement := range ofBefore[part] {
				if err := tx.Exec(statement); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// texts returns the first column of rows.
func texts(t *testing.T, d *db.DB, sql string) (list []string) {
	t.Helper()
	err := d.Read(t.Context(), func(q db.Q) (err error) {
		list, err = db.Collect(q, func(r db.Rows) string { return r.Text(0) }, sql)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Whoever approved alone is the one vote of an approval that needed one, and who waits needs one as before.
func TestApprovalsOfBeforeHaveTheVoteOfWhoApproved(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store dbtest.Store) {
		leftBefore(t, store, "0045", "workspace", "approvals")
		d := store.Open(t)
		for sql, want := range map[string][]string{
			`SELECT approval_id || ' ' || account_id || ' ' || at || ' ' || verification FROM approval_vote`:  {"apr_1 usr_b 60 Called."},
			`SELECT id || ' ' || needed || ' ' || votes || role FROM approval WHERE NOT keys_may ORDER BY id`: {"apr_1 1 1", "apr_2 1 0", "apr_3 1 0"},
		} {
			if got := texts(t, d, sql); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", sql, got, want)
			}
		}
	})
}

// Whoever counted as an approver of receiving methods still does; who approves payouts is only noted from now on.
func TestApproversOfBeforeStillCount(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store dbtest.Store) {
		leftBefore(t, store, "0045", "workspace", "approvals")
		d := store.Open(t)
		if got := texts(t, d, `SELECT pair || ' ' || account_id || ' ' || since FROM approver ORDER BY account_id`); !slices.Equal(got, []string{"receiving usr_a 0", "receiving usr_b 50"}) {
			t.Errorf("approvers are %q", got)
		}
		err := d.Read(t.Context(), func(q db.Q) error {
			methods, err := access.FindSecondPerson(q, access.Receiving, "ws_1", 200)
			if err != nil {
				return err
			}
			if methods.Approval != access.TwoPersons || methods.CoolingHours() != 7 || methods.CountsFrom("usr_a") != 0 || methods.CountsFrom("usr_b") != 50+7*3600*1000 {
				t.Errorf("receiving methods are guarded by %+v", methods)
			}
			payouts, err := access.FindSecondPerson(q, access.Payouts, "ws_1", 200)
			if !payouts.Demanded() || payouts.CountsFrom("usr_a") != 0 || payouts.CountsFrom("usr_b") != 0 {
				t.Errorf("payouts are guarded by %+v", payouts)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// An account of before has its money, and payouts can be paid from it.
func TestAccountsOfBeforePayPayouts(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store dbtest.Store) {
		leftBefore(t, store, "0046", "workspace", "money")
		d := store.Open(t)
		err := change(t.Context(), d, audit.None("a test"), func(tx *db.Tx) error {
			a, err := ledger.FindAccount(tx.Q, "acc_1")
			if err != nil {
				return err
			}
			refused, err := ledger.Reserve(tx, a, []ledger.Want{{Reference: "po_1", Amount: 700}, {Reference: "po_2", Amount: 1}})
			if err == nil && (refused[0] != nil || refused[1] == nil) {
				t.Errorf("of 700 and 1 were refused %v", refused)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if report, err := ledger.Verify(t.Context(), d, false, func(int64, int64) {}); err != nil || len(report.Mismatches) > 0 {
			t.Errorf("the ledger does not verify: %v, %v", report.Mismatches, err)
		}
		if got := texts(t, d, `SELECT id FROM payout`); len(got) != 0 {
			t.Errorf("there are payouts: %q", got)
		}
	})
}
