package db_test

import (
	"testing"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

// What could be paid before the upgrade is paid after it without a second person, even in a
// workspace that from now on demands one, and the default stays the default.
func TestMethodsOfBeforeAreActiveAndPaidAtOnce(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store dbtest.Store) {
		entry := oldEntry(0)
		fillBefore(t, store, "0031", func(tx *db.Tx) error {
			for _, statement := range []string{
				`INSERT INTO organization (id, name, slug, created_at) VALUES ('org_1', '', 'org', 0)`,
				`INSERT INTO workspace (id, number, organization_id, name, slug, member_version, created_at) VALUES ('ws_00000000000000000000000001', 7, 'org_1', '', 'one', 0, 0)`,
				`INSERT INTO account (id, kind, email, name, status, created_at, email_proof)
					VALUES ('usr_00000000000000000000000001', 'person', 'ada@example.com', '', 'active', 0, '*'), ('usr_00000000000000000000000002', 'person', 'bob@example.com', '', 'active', 0, '*')`,
				`INSERT INTO workspace_member (workspace_id, account_id, member_id, invitation_id, invited_by, invitation_expires_at, joined_at, accepted)
					VALUES ('ws_00000000000000000000000001', 'usr_00000000000000000000000001', 'usr_00000000000000000000000001', 'inv_00000000000000000000000001', '', 0, 0, TRUE), ('ws_00000000000000000000000001', 'usr_00000000000000000000000002', 'usr_00000000000000000000000002', 'inv_00000000000000000000000002', '', 0, 0, TRUE)`,
				`INSERT INTO member_role (workspace_id, account_id, role) VALUES ('ws_00000000000000000000000001', 'usr_00000000000000000000000001', 'admin'), ('ws_00000000000000000000000001', 'usr_00000000000000000000000002', 'admin')`,
			} {
				if err := tx.Exec(statement); err != nil {
					return err
				}
			}
			if err := tx.Exec(`INSERT INTO directory_entry (id, workspace_number, type, label, label_sent, name, status, fields, words, created_at, updated_at)
				VALUES ($1, 7, 'person', 'Ada', FALSE, '', 'active', '{}', '', 0, 0)`, db.PackID("entry", entry)); err != nil {
				return err
			}
			return tx.Exec(`INSERT INTO receiving_method (id, entry_id, provider, account_name, account_id, is_default, created_at)
				VALUES ('rm_00000000000000000000000001', $1, 'bank', 'Ada', '1', FALSE, 1), ('rm_00000000000000000000000002', $1, 'bank', 'Ada', '2', TRUE, 1)`, db.PackID("entry", entry))
		})
		if err := store.Vault(store.Open(t)).Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		n := servertest.Start(t, store)
		_, key, err := n.Identity.CreateKeyFor(t.Context(), db.Caller{}, "ada@example.com", identity.NewKey{Name: "test"})
		if err != nil {
			t.Fatal(err)
		}
		ada := n.Login(t, key)
		if persons := servertest.Decoded[api.ReceivingPolicy](ada.Get("/v1/workspaces/ws_00000000000000000000000001/receiving-policy")).Persons; persons != 2 {
			t.Fatalf("the workspace demands %d persons", persons)
		}
		var shown api.Entry
		ada.Get("/v1/directory/" + entry).OK().Data(&shown)
		got := *shown.ReceivingMethods
		if len(got) != 2 || got[0].AccountID != "1" || got[0].IsDefault || got[1].AccountID != "2" || !got[1].IsDefault {
			t.Fatalf("paid are %+v", got)
		}
		for _, m := range got {
			if m.Status != api.MethodActive || m.PayableAt != 0 {
				t.Errorf("%s is %s and payable at %d", m.ID, m.Status, m.PayableAt)
			}
		}
		if waits := ada.Get("/v1/approvals?workspace_id=ws_00000000000000000000000001").OK().List(); len(waits) != 0 {
			t.Errorf("there waits %v", waits)
		}
	})
}
