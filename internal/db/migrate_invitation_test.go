package db_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

// Whoever could act as a member still can, and whoever was invited still is: also an
// address that one organization vouched for keeps what it had accepted, and no more.
func TestMembersStayAndInvitationsGetAnID(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store dbtest.Store) {
		fillBefore(t, store, "0018", func(tx *db.Tx) error {
			if err := each(tx, insertOrganization, "org_1"); err != nil {
				return err
			}
			for _, statement := range []string{
				`INSERT INTO workspace (id, number, organization_id, name, slug, member_version, created_at)
					VALUES ('ws_a', 1, 'org_1', 'a', 'a', 0, 0), ('ws_b', 2, 'org_1', 'b', 'b', 0, 0)`,
				`INSERT INTO account (id, kind, email, name, status, email_proof, created_at) VALUES
					('usr_proved', 'person', 'proved@example.com', '', 'active', '*', 0), ('usr_shown', 'person', 'shown@example.com', '', 'active', 'org_1', 0),
					('usr_new', 'person', 'new@example.com', '', 'invited', '', 0), ('usr_off', 'person', 'off@example.com', '', 'disabled', '*', 0),
					('cli_1', 'client', '', '', 'active', '*', 0)`,
				`INSERT INTO workspace_member (workspace_id, account_id, joined_at, accepted) VALUES
					('ws_a', 'usr_proved', 0, FALSE), ('ws_b', 'usr_proved', 0, TRUE), ('ws_a', 'usr_shown', 0, TRUE), ('ws_b', 'usr_shown', 0, FALSE),
					('ws_a', 'usr_new', 0, FALSE), ('ws_b', 'usr_new', 0, FALSE), ('ws_a', 'usr_off', 0, FALSE), ('ws_a', 'cli_1', 0, FALSE)`,
				`INSERT INTO account_link (id, account_id, workspace_id, hash, mailed, made_by, created_at, expires_at) VALUES
					('inv_1', 'usr_new', 'ws_a', 'hash', TRUE, 'Ada', 0, 77)`,
			} {
				if err := tx.Exec(statement); err != nil {
					return err
				}
			}
			return nil
		})
		var live, invited, homeless []string
		text := func(r db.Rows) string { return r.Text(0) }
		err := store.Open(t).Read(t.Context(), func(q db.Q) (err error) {
			if live, err = db.Collect(q, text, `SELECT l.workspace_id || ' ' || m.member_id FROM live_member l
				JOIN workspace_member m ON m.workspace_id = l.workspace_id AND m.account_id = l.account_id ORDER BY 1`); err != nil {
				return err
			}
			if invited, err = db.Collect(q, text, `SELECT workspace_id || ' ' || account_id || ' ' || COALESCE(invited_by, 'nobody') || ' ' || invitation_expires_at
				FROM workspace_member WHERE accepted = FALSE AND member_id = invitation_id AND invitation_id LIKE 'inv_0%' AND length(invitation_id) = 30 ORDER BY 1`); err != nil {
				return err
			}
			homeless, err = db.Collect(q, text, `SELECT id FROM account WHERE awaits_home = TRUE`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"ws_a cli_1", "ws_a usr_off", "ws_a usr_proved", "ws_a usr_shown", "ws_b usr_proved"}, live); diff != "" {
			t.Errorf("members, want (-) and got (+):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"ws_a usr_new Ada 77", "ws_b usr_new nobody 0", "ws_b usr_shown nobody 0"}, invited); diff != "" {
			t.Errorf("invitations, want (-) and got (+):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"usr_new"}, homeless); diff != "" {
			t.Errorf("accounts that have no home yet, want (-) and got (+):\n%s", diff)
		}
	})
}
