package servertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/internal/auditlog"
	"bursar/internal/db"
)

// AuditPath is the path of the log of the tenant's workspace.
func (x *Tenant) AuditPath() string { return "/v1/audit?workspace_id=" + x.WorkspaceID }

// OrganizationAuditPath is the path of the log of the tenant's organization.
func (x *Tenant) OrganizationAuditPath() string {
	return "/v1/audit?organization_id=" + x.OrganizationID
}

// EventfulTenant is a tenant whose log has rows of several actors, kinds and outcomes.
func (n *Node) EventfulTenant(t testing.TB) *Tenant {
	t.Helper()
	x := n.Tenant(t)
	editor, viewer := x.Member("member"), x.Member("viewer")
	x.Define("helper", "ws.read")
	for i := range 3 {
		entry := x.Entry(fmt.Sprintf("Entry %d", i))
		editor.Patch("/v1/directory/"+entry, Body{"status": "inactive"}).OK()
		viewer.Patch("/v1/directory/"+entry, Body{"status": "active"}).Fails(403, "FORBIDDEN")
		viewer.Get(x.AuditPath()).Fails(403, "FORBIDDEN")
	}
	return x
}

// Rows returns the audit rows in the answer with an action.
func (a *Answer) Rows(action string) []Body {
	a.t.Helper()
	return slices.DeleteFunc(a.OK().List(), func(row Body) bool { return row["action"] != action })
}

// LastRow returns the newest audit row in the answer with an action.
func (a *Answer) LastRow(action string) Body {
	a.t.Helper()
	rows := a.Rows(action)
	if len(rows) == 0 {
		a.t.Fatalf("there is no %s in %s", action, a.Body)
	}
	return rows[0]
}

// Dump returns the content of some tables, or of all of them, as text.
func (n *Node) Dump(t testing.TB, tables ...string) string {
	t.Helper()
	var text strings.Builder
	catalogue := n.catalogue(t)
	err := n.DB.Read(t.Context(), func(q db.Q) error {
		columns, err := db.Collect(q, func(r db.Rows) [2]string { return [2]string{r.Text(0), r.Text(1)} }, catalogue)
		if err != nil {
			return err
		}
		for _, c := range columns {
			if len(tables) > 0 && !slices.Contains(tables, c[0]) {
				continue
			}
			err := q.Each(func(r db.Rows) error {
				fmt.Fprintf(&text, "%s.%s: %s\n", c[0], c[1], r.Text(0))
				return nil
			}, fmt.Sprintf(`SELECT CAST(%q AS TEXT) FROM %q`, c[1], c[0]))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("read the tables: %v", err)
	}
	return text.String()
}

// catalogue returns a query for the columns of all tables. Only SQLite has sqlite_master.
func (n *Node) catalogue(t testing.TB) string {
	err := n.DB.Read(t.Context(), func(q db.Q) error {
		_, err := q.Row(`SELECT name FROM sqlite_master`).Scan(new(string))
		return err
	})
	if err == nil {
		return `SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'`
	}
	return `SELECT table_name::text, column_name::text FROM information_schema.columns WHERE table_schema = current_schema()`
}

// TurnAudit sequences rows of the audit log until enough returns true.
func (n *Node) TurnAudit(t testing.TB, enough func() bool) {
	t.Helper()
	n.Clock.Advance(3 * time.Second) // longer than the lease of another node
	node := auditlog.NewSequencer(n.DB, n.Server.AuditSigner())
	turns := time.NewTicker(2 * time.Millisecond) // the work that a turn waits for needs the processor, too
	defer turns.Stop()
	for {
		if err := node.Turn(t.Context()); err != nil {
			t.Fatalf("sequence the log: %v", err)
		}
		if enough() {
			return
		}
		<-turns.C
	}
}

// SequenceAudit gives places in the audit log to all rows, as the background work does. On PostgreSQL, where tests share a server, a row waits
// for transactions of other tests.
func (n *Node) SequenceAudit(t testing.TB) {
	t.Helper()
	n.TurnAudit(t, func() bool {
		var left int64
		err := n.DB.Read(t.Context(), func(q db.Q) error {
			_, err := q.Row(`SELECT count(*) - (SELECT size FROM audit_sequence) FROM audit_log`).Scan(&left)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return left == 0
	})
}
