package db_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

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
	ID, Workspace, Organization, Entry, Personal string
	Salted                                       bool

	Actor, Action, Type, Resource, Denied int64
}

func (o oldRow) want() newRow {
	e := o.entry
	key := func(by audit.Filter, value string) int64 { return audit.FilterKey(by, o.workspace, value) }
	outcome, _ := audit.OutcomeKey(o.workspace, audit.Outcome(e.Outcome)).(int64)
	return newRow{e.ID, o.workspace, o.organization, string(audit.AppendEntry(nil, e)), string(audit.AppendPersonal(nil, e)), true,
		key(audit.ByActor, e.ActorID), key(audit.ByAction, e.Action), key(audit.ByResourceType, e.ResourceType), key(audit.ByResource, e.ResourceID), outcome}
}

func TestOldAuditRowsAreMigratedAsNewOnesAreWritten(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store dbtest.Store) {
		var want []newRow
		fillBefore(t, store, "0010", func(tx *db.Tx) error {
			if err := each(tx, insertOrganization, "org_1"); err != nil {
				return err
			}
			if err := each(tx, insertWorkspace, "ws_1"); err != nil {
				return err
			}
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

		migrated := store.Open(t)
		var got []newRow
		err := migrated.Read(t.Context(), func(q db.Q) (err error) {
			got, err = db.Collect(q, func(r db.Rows) newRow {
				return newRow{db.UnpackID("aud", r, 0), r.Text(1), r.Text(2), r.Text(3), r.Text(9), len(r.Raw(10)) == 16, r.Int(4), r.Int(5), r.Int(6), r.Int(7), r.Int(8)}
			}, `SELECT a.id, w.id, a.organization_id, entry, actor_id_key, action_key, resource_type_key, resource_id_key, outcome_key, personal, salt
				FROM audit_log a LEFT JOIN workspace w ON w.number = a.workspace_number ORDER BY a.id`)
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
