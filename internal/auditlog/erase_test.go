package auditlog_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// planted is a text that only rows of the log have.
const planted = "Zebediah Quillfeather"

// plant makes an entry with that label, with a method that stays and one that is removed, and
// gives all of it other names, so that only the log still has the planted one.
func plant(x *servertest.Tenant) (entry string) {
	entry = x.Owner.Post("/v1/directory", body{"workspace_id": x.WorkspaceID, "type": "person", "fields": body{}, "label": planted}).OK().Text("id")
	x.Owner.AddMethod(entry, servertest.Account("1"))
	removed := x.Owner.AddMethod(entry, servertest.Account("2"))
	x.Owner.Delete("/v1/directory/" + entry + "/receiving-methods/" + removed).OK()
	x.Owner.Patch("/v1/directory/"+entry, body{"label": "Somebody"}).OK()
	return entry
}

// operator is another process on the store, as 'bursar admin' is.
func operator(t *testing.T, n *servertest.Node, store dbtest.Store) *db.DB {
	t.Helper()
	return store.OpenAt(t, n.Clock.Now)
}

// inStore reports whether the store has a text: on SQLite in any of its files, on
// PostgreSQL in any table.
func inStore(t *testing.T, n *servertest.Node, store dbtest.Store, text string) bool {
	t.Helper()
	if store.Engine == "postgres" {
		return strings.Contains(n.Dump(t), text)
	}
	found := false
	err := filepath.WalkDir(store.Config.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		found = found || bytes.Contains(content, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func erase(t *testing.T, d *db.DB, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := auditlog.Erase(t.Context(), d, db.Caller{Actor: audit.SystemActor("operator")}, id); err != nil {
			t.Fatalf("erase %s: %v", id, err)
		}
	}
	if err := d.Shred(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestWhatWasErasedIsNowhereInTheStore(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		x := n.Tenant(t)
		entry := plant(x)
		d := operator(t, n, store)
		if !inStore(t, n, store, planted) {
			t.Fatal("the text was not planted")
		}
		ids, erased, err := auditlog.RowsAbout(t.Context(), d, entry)
		if err != nil || len(ids) != 5 || erased != 0 {
			t.Fatalf("rows about the entry: %v, and %d erased: %v", ids, erased, err)
		}
		erase(t, d, ids...)
		if inStore(t, n, store, planted) {
			t.Error("the store still has what was erased")
		}
		if vacuumed := `SELECT vacuum_count FROM pg_stat_user_tables WHERE schemaname = current_schema() AND relname = 'audit_log'`; store.Engine == "postgres" && n.Count(t, vacuumed) == 0 {
			t.Error("earlier versions of the rows are still in the table")
		}
		if ids, erased, err := auditlog.RowsAbout(t.Context(), d, entry); err != nil || len(ids) != 0 || erased != 5 {
			t.Errorf("afterwards there are %v, and %d erased: %v", ids, erased, err)
		}
		x.Entry("Another") // the server goes on
	})
}

// The oldest rows of a log were once in the first page of its table.
func TestTheOldestRowsAreErasedLikeAnyOther(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		x := n.Tenant(t)
		entry := plant(x)
		for range 300 {
			x.Owner.Patch("/v1/directory/"+x.Entry("Filler"), body{"label": strings.Repeat("long ", 30)}).OK()
		}
		d := operator(t, n, store)
		ids, _, err := auditlog.RowsAbout(t.Context(), d, entry)
		if err != nil {
			t.Fatal(err)
		}
		if erase(t, d, ids...); inStore(t, n, store, planted) {
			t.Error("the store still has what was erased")
		}
	})
}

func TestRowsAboutAPurgedEntryAreFound(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		n.Tenant(t)
		entry := plant(x)
		x.Owner.Delete("/v1/directory/" + entry).OK()
		n.Clock.Advance(31 * 24 * time.Hour)
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		if count := n.Count(t, `SELECT count(*) FROM directory_entry WHERE workspace_number = (SELECT number FROM workspace WHERE id = $1)`, x.WorkspaceID); count != 0 {
			t.Fatalf("%d entries are left", count)
		}
		ids, _, err := auditlog.RowsAbout(t.Context(), n.DB, entry)
		if err != nil || len(ids) != 7 {
			t.Errorf("rows about the entry: %v: %v", ids, err)
		}
	})
}

func TestAnErasedRowKeepsWhatIsNotPersonal(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		entry := plant(x)
		before := x.Audit("&resource_id=" + entry)[0]
		id := before["id"].(string)
		erase(t, n.DB, id)
		n.SequenceAudit(t)

		want := body{"erased": true}
		for name, value := range before {
			if want[name] = value; name == "actor_name" || name == "actor_email" || name == "description" || name == "ip" {
				want[name] = ""
			}
		}
		delete(want, "changes")
		same := func(where string, rows []body) {
			t.Helper()
			for _, row := range rows {
				if row["id"] != id {
					continue
				}
				delete(row, "seq")
				for name, value := range want {
					if row[name] != value {
						t.Errorf("%s: %s is %v, want %v", where, name, row[name], value)
					}
				}
				if len(row) != len(want) {
					t.Errorf("%s: the row is %v", where, row)
				}
				return
			}
			t.Errorf("%s: the erased row is missing", where)
		}
		same("the list", x.Audit(""))
		same("the list by actor", x.Audit("&actor="+x.Owner.UserID))
		same("the list by resource", x.Audit("&resource_id="+entry))
		rows, _ := feed(x, 0, "")
		same("the feed", rows)
		for _, format := range []string{"ndjson", "csv"} {
			if export := x.Owner.Get("/v1/audit/export?format=" + format + "&workspace_id=" + x.WorkspaceID).OK(); !bytes.Contains(export.Body, []byte(id)) {
				t.Errorf("the export as %s does not have the row", format)
			}
		}

		told := x.Audit("&action=audit.erased")
		if len(told) != 1 || told[0]["resource_id"] != id || told[0]["resource_type"] != "audit" || told[0]["actor_name"] != "operator" || told[0]["description"] == "" {
			t.Errorf("the log says %v", told)
		}
	})
}

// Rows of an organization and of the operator are told of where they are.
func TestAnErasureIsRecordedInTheSameLog(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		organizations := x.Owner.Get(x.OrganizationAuditPath()).OK().List()[0]["id"].(string)
		erase(t, n.DB, organizations)
		if told := x.Owner.Get(x.OrganizationAuditPath()).LastRow("audit.erased"); told["resource_id"] != organizations {
			t.Errorf("the organization's log says %v", told)
		}
		n.Tenant(t).Owner.Get("/v1/directory/"+x.Entry("Theirs")).Fails(404, "NOT_FOUND")
		operators := func() (list []api.AuditEntry) {
			for row, err := range (auditlog.Outside{}).Rows(t.Context(), n.DB) {
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, row)
			}
			return list
		}
		probe := operators()[0]
		if probe.Action != "iam.access.denied" {
			t.Fatalf("the operator reads of %v", probe)
		}
		count := func() int {
			return n.Count(t, `SELECT count(*) FROM audit_log WHERE workspace_number IS NULL AND organization_id IS NULL`)
		}
		before := count()
		erase(t, n.DB, probe.ID)
		if told := operators()[0]; told.Action != "audit.erased" || told.ResourceID != probe.ID || count() != before+1 {
			t.Errorf("the operator reads of %v; %d rows are theirs, %d were", told, count(), before)
		}
	})
}

func TestWhatCannotBeErasedIsRefused(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		id := x.Audit("")[0]["id"].(string)
		erase(t, n.DB, id)
		told := x.Audit("&action=audit.erased")[0]["id"].(string)
		n.Unchanged(t, func() {
			for id, want := range map[string]string{id: "erased already", told: "says that others were erased", db.FirstID("aud", 1): "no such audit entry", "aud_1": "no such audit entry"} {
				err := auditlog.Erase(t.Context(), n.DB, db.Caller{}, id)
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %q", id, err, want)
				}
			}
		})
	})
}

// The server may be killed before the row that tells of an erasure has its place.
func TestAStoreIsInOrderRightAfterAnErasure(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := signing(t, store)
		x := n.EventfulTenant(t)
		n.SequenceAudit(t)
		id := x.Owner.Get(x.AuditPath()).OK().List()[2]["id"].(string)
		if err := auditlog.Erase(t.Context(), n.DB, db.Caller{Actor: audit.SystemActor("operator")}, id); err != nil {
			t.Fatal(err)
		}
		report, err := auditlog.VerifyStore(t.Context(), n.DB, n.Server.AuditSigner().Key(), nil)
		if err != nil || len(report.Failures) > 0 {
			t.Errorf("the erasure of %s is found as %v (%v)", id, report.Failures, err)
		}
	})
}
