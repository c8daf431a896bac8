package db_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

// oldAudit takes a store back to the audit log of migration 0009.
const oldAudit = `
	DROP VIEW audit_entry;
	DROP TABLE audit_log;
	CREATE TABLE audit_log (
		id TEXT PRIMARY KEY, workspace_id TEXT, organization_id TEXT, action TEXT NOT NULL, outcome TEXT NOT NULL, description TEXT NOT NULL,
		actor_type TEXT NOT NULL, actor_id TEXT NOT NULL, actor_name TEXT NOT NULL, actor_email TEXT NOT NULL, resource_type TEXT NOT NULL,
		resource_id TEXT NOT NULL, request_id TEXT NOT NULL, ip TEXT NOT NULL, at BIGINT NOT NULL, sent TEXT
	);
	DELETE FROM schema_migration WHERE name = '0010_audit_entry';`

// oldRows are rows of that log: of a workspace, of an organization and of neither,
// with texts that JSON must escape.
func oldRows(engine string) []oldRow {
	texts := []string{"", "Ada", `a "quoted" \ back/slash`, "line\nbreak\ttab\r\b\f\x01\x1f\x7f", "<&>\u2028é漢😀", `ends in \`}
	if engine == "sqlite" {
		texts = append(texts, "a\x00b", "usr\xffx") // PostgreSQL stores no such texts
	}
	var rows []oldRow
	for i, text := range texts {
		for j, place := range [][2]string{{"ws_1", ""}, {"", "org_1"}, {"", ""}} {
			outcome := []audit.Outcome{audit.Success, audit.Denied, audit.Failure}[(i+j)%3]
			at := int64(1_700_000_000_000 + 10*i + j)
			rows = append(rows, oldRow{place[0], place[1], api.AuditEntry{
				ID: db.FirstID("aud", at), Action: "directory.entry.created", ActorName: text, ActorEmail: text, Description: text, Outcome: string(outcome), Timestamp: at,
				ActorID: text, ActorType: "user", ResourceType: "directory_entry", ResourceID: text, RequestID: text, IP: text,
			}})
		}
	}
	return rows
}

type oldRow struct {
	workspace, organization string
	entry                   api.AuditEntry
}

// newRow is what the store must make of an old row.
type newRow struct {
	ID, Workspace, Organization, Entry    string
	Actor, Action, Type, Resource, Denied int64
}

func (o oldRow) want() newRow {
	e := o.entry
	key := func(by audit.Filter, value string) int64 { return audit.FilterKey(by, o.workspace, value) }
	outcome, _ := audit.OutcomeKey(o.workspace, audit.Outcome(e.Outcome)).(int64)
	return newRow{e.ID, o.workspace, o.organization, string(audit.AppendStored(nil, e)),
		key(audit.ByActor, e.ActorID), key(audit.ByAction, e.Action), key(audit.ByResourceType, e.ResourceType), key(audit.ByResource, e.ResourceID), outcome}
}

func TestOldAuditRowsAreMigratedAsNewOnesAreWritten(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		old := store.Open(t)
		var want []newRow
		for sql := range strings.SplitSeq(strings.TrimSuffix(oldAudit, ";"), ";") {
			if err := change(t.Context(), old, audit.None("a test"), func(tx *db.Tx) error { return tx.Exec(sql) }); err != nil {
				t.Fatal(err)
			}
		}
		err := change(t.Context(), old, audit.None("a test"), func(tx *db.Tx) error {
			for _, o := range oldRows(store.Engine) {
				want = append(want, o.want())
				e := o.entry
				if err := tx.Exec(`INSERT INTO audit_log (id, workspace_id, organization_id, action, outcome, description, actor_type, actor_id, actor_name,
					actor_email, resource_type, resource_id, request_id, ip, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
					e.ID, db.NullText(o.workspace), db.NullText(o.organization), e.Action, e.Outcome, e.Description, e.ActorType, e.ActorID, e.ActorName,
					e.ActorEmail, e.ResourceType, e.ResourceID, e.RequestID, e.IP, e.Timestamp); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}

		migrated := store.Open(t)
		var got []newRow
		err = migrated.Read(t.Context(), func(q db.Q) (err error) {
			got, err = db.Collect(q, func(r db.Rows) newRow {
				return newRow{r.Text(0), r.Text(1), r.Text(2), r.Text(3), r.Int(4), r.Int(5), r.Int(6), r.Int(7), r.Int(8)}
			}, `SELECT id, workspace_id, organization_id, entry, actor_id_key, action_key, resource_type_key, resource_id_key, outcome_key FROM audit_log ORDER BY id`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("rows as they would be written (-) and as they were migrated (+):\n%s", diff)
		}
		for _, sql := range []string{`UPDATE audit_log SET entry = '[]'`, `DELETE FROM audit_log`} {
			if err := change(t.Context(), migrated, audit.None("a forgery"), func(tx *db.Tx) error { return tx.Exec(sql) }); err == nil {
				t.Errorf("after the migration the store accepted %s", sql)
			}
		}
	})
}
