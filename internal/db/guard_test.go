package db_test

import (
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

const (
	copyRow = ` audit_log (id, workspace_number, actor_id_key, action_key, resource_type_key, resource_id_key, entry)
		SELECT id, workspace_number, actor_id_key, action_key, resource_type_key, resource_id_key, '["forged"]' FROM audit_log WHERE true`
	taken = ` ON CONFLICT (workspace_number, id) WHERE workspace_number IS NOT NULL`
)

// makeWorkspace makes the workspace that happened speaks of.
func makeWorkspace(t *testing.T, d *db.DB) {
	t.Helper()
	err := change(t.Context(), d, audit.None("a test"), func(tx *db.Tx) error {
		if err := each(tx, insertOrganization, "org_1"); err != nil {
			return err
		}
		return each(tx, insertWorkspace, happened.WorkspaceID)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// forgeries are ways to falsify the audit log.
var forgeries = map[string]struct{ engine, sql string }{
	"update":   {"", `UPDATE audit_log SET entry = '["forged"]'`},
	"personal": {"", `UPDATE audit_log SET personal = '["forged"]'`},
	"no proof": {"", `UPDATE audit_log SET personal = NULL, salt = NULL`},
	"a column": {"", `UPDATE audit_log SET action_key = 1`},
	"delete":   {"", `DELETE FROM audit_log`},
	"upsert":   {"", `INSERT INTO` + copyRow + taken + ` DO UPDATE SET entry = '["forged"]'`},
	"replace":  {"sqlite", `INSERT OR REPLACE INTO` + copyRow},
	"truncate": {"postgres", `TRUNCATE audit_log`},
}

func TestAuditRowsCanNeitherBeChangedNorDeleted(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		makeWorkspace(t, d)
		mustPut(t, d, "something")
		for name, forgery := range forgeries {
			if forgery.engine != "" && forgery.engine != store.Engine {
				continue
			}
			t.Run(name, func(t *testing.T) {
				err := change(t.Context(), d, audit.None("a forgery"), func(tx *db.Tx) error { return tx.Exec(forgery.sql) })
				if err == nil {
					t.Error("the database let it happen")
				}
				if got := count(t, d, `SELECT count(*) FROM audit_entry WHERE action = $1`, string(happened.Action)); got != 1 {
					t.Error("the row is not what it was")
				}
			})
		}
	})
}

func TestAuditRowDescribesTheEvent(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		makeWorkspace(t, d)
		by := db.Caller{Actor: audit.Actor{
			Type: audit.APIKey, ID: "usr_1", Name: "Ada", Email: "ada@example.com", HomeOrgID: "org_1", RequestID: "req_1", IP: "192.0.2.1",
		}}
		if err := db.Record(t.Context(), d, by, happened, nil); err != nil {
			t.Fatal(err)
		}
		if got := count(t, d, `SELECT count(*) FROM audit_entry WHERE workspace_id = $1 AND organization_id IS NULL AND action = $2 AND outcome = $3
			AND description = $4 AND actor_type = $5 AND actor_id = $6 AND actor_name = $7 AND actor_email = $8 AND resource_type = $9
			AND resource_id = $10 AND request_id = $11 AND ip = $12`,
			"ws_1", "directory.tag.created", "success", "Created a tag", "api_key", "usr_1", "Ada", "ada@example.com",
			"directory_tag", "tag_1", "req_1", "192.0.2.1"); got != 1 {
			t.Error("the row does not say what happened")
		}
	})
}

// A change that belongs to no workspace is filed with the actor's organization.
func TestRowWithoutAWorkspaceIsFiledAtHome(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		by := db.Caller{Actor: audit.Actor{Type: audit.User, ID: "usr_1", HomeOrgID: "org_home"}}
		if err := db.Record(t.Context(), d, by, audit.Event{Action: audit.KeyCreated}, nil); err != nil {
			t.Fatal(err)
		}
		if got := count(t, d, `SELECT count(*) FROM audit_log WHERE workspace_number IS NULL AND organization_id = $1`, "org_home"); got != 1 {
			t.Error("the row is not filed with the actor's organization")
		}
	})
}
