package db_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

// Who was shown the secret of an older client is found in the audit log: whoever made it or
// gave it a new one last.
func TestWhoWasShownASecretIsFoundInTheLog(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store dbtest.Store) {
		fillBefore(t, store, "0016", func(tx *db.Tx) error {
			if err := each(tx, insertOrganization, "org_1"); err != nil {
				return err
			}
			for _, statement := range []string{
				`INSERT INTO workspace (id, number, organization_id, name, slug, member_version, created_at) VALUES ('ws_1', 1, 'org_1', '', 'one', 0, 0)`,
				`INSERT INTO account (id, kind, email, name, status, created_at) VALUES ('usr_a', 'person', 'a@example.com', '', 'active', 0),
					('usr_b', 'person', 'b@example.com', '', 'active', 0), ('cli_made', 'client', '', '', 'active', 0), ('cli_rotated', 'client', '', '', 'active', 0),
					('cli_operator', 'client', '', '', 'active', 0)`,
				`INSERT INTO workspace_member (workspace_id, account_id, joined_at) VALUES ('ws_1', 'cli_made', 0), ('ws_1', 'cli_rotated', 0), ('ws_1', 'cli_operator', 0)`,
			} {
				if err := tx.Exec(statement); err != nil {
					return err
				}
			}
			for i, row := range [][3]string{
				{"auth.client.created", "usr_a", "cli_made"}, {"auth.client.created", "usr_a", "cli_rotated"},
				{"auth.client.rotated", "usr_b", "cli_rotated"}, {"auth.client.created", "", "cli_operator"},
			} {
				if err := tx.Exec(`INSERT INTO audit_log (id, workspace_number, actor_id_key, action_key, resource_type_key, resource_id_key, entry)
					VALUES ($1, 1, 0, 0, 0, $2, $3)`, db.PackID("aud", db.FirstID("aud", int64(i+1))), audit.FilterKey(audit.ByResource, "ws_1", row[2]),
					`["`+row[0]+`","","","","success",1,"`+row[1]+`","user","client","`+row[2]+`","",""]`); err != nil {
					return err
				}
			}
			return nil
		})
		var got []string
		err := store.Open(t).Read(t.Context(), func(q db.Q) (err error) {
			got, err = db.Collect(q, func(r db.Rows) string { return r.Text(0) }, `SELECT id || ' ' || COALESCE(secret_seen_by, 'nobody') FROM account WHERE kind = 'client' ORDER BY 1`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"cli_made usr_a", "cli_operator nobody", "cli_rotated usr_b"}, got); diff != "" {
			t.Errorf("want (-) and got (+):\n%s", diff)
		}
	})
}
