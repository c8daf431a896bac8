package db_test

import (
	"slices"
	"testing"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

// Attempts of the version before know neither submissions nor whether their rail has ever had them. A rail gives a reference to
// what it accepts.
func TestAttemptsOfBeforeAreAcknowledgedIfTheirRailHadThem(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store dbtest.Store) {
		attempts := []struct{ payout, status, state, reference, want string }{
			{"po_1", "processing", "accepted", "R", "accepted 1 "},
			{"po_2", "processing", "unknown", "R", "unknown 1 "}, // it was accepted, and a look-up failed
			{"po_3", "processing", "unknown", "", "unknown 0 "},
			{"po_4", "failed", "rejected", "R", "rejected 0 "},
			{"po_5", "pending", "never_came", "", "not_received 0 "},
			{"po_6", "pending", "never_came", "R", "not_received 1 contradicted"}, // it may have been paid
		}
		fillBefore(t, store, "0055", func(tx *db.Tx) error {
			for _, part := range []string{"workspace", "money"} {
				for _, statement := range ofBefore[part] {
					if err := tx.Exec(statement); err != nil {
						return err
					}
				}
			}
			for _, a := range attempts {
				if err := tx.Exec(`INSERT INTO payout (id, workspace_id, account_id, amount, currency, mode, description, rail, rail_asked, rail_why, institution_code, account_name, name_key,
					account_sealed, sealed_by, destination_key, status, attention, failure_code, failure_reason, failure_text, cancel_reason, maker_id, involved, approval_why, attempts,
					reserved_at, send_at, expected_at, version, created_at, updated_at, ended_at)
					VALUES ($1, 'ws_1', 'acc_1', 100, 'PHP', 'sandbox', '', 'instapay', '', '', 'BOPIPHMMXXX', 'Ada', 'ada', $3, NULL, $3, $2, '', '', '', '', '', 'usr_1', '', '', 1, 0, 0, 0, 1, 0, 0, 0)`,
					a.payout, a.status, []byte("x")); err != nil {
					return err
				}
				if err := tx.Exec(`INSERT INTO payout_attempt (id, payout_id, number, end_to_end_id, state, code, text, reference, node, ask_at, asked, created_at, answered_at, settled_at)
					VALUES ($1, $2, 1, $1, $3, '', '', $4, '', 0, 0, 7, 0, 0)`, "att_"+a.payout, a.payout, a.state, a.reference); err != nil {
					return err
				}
			}
			return nil
		})
		d := store.Open(t)
		var want []string
		for _, a := range attempts {
			want = append(want, a.want)
		}
		got := texts(t, d, `SELECT a.state || ' ' || CAST(a.accepted AS TEXT) || ' ' || p.attention FROM payout_attempt a JOIN payout p ON p.id = a.payout_id ORDER BY p.id`)
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if times := texts(t, d, `SELECT DISTINCT CAST(claimed_at AS TEXT) || ' ' || CAST(submission AS TEXT) FROM payout_attempt`); !slices.Equal(times, []string{"7 1"}) {
			t.Errorf("claimed and submitted: %q", times)
		}
	})
}
