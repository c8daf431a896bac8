package console_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestAuditExportsWhatIsFiltered(t *testing.T) {
	t.Parallel()
	n := busy(t)
	page := open(t, n, adminEmail, "/audit")
	today := n.Clock.Now().UTC().Format(time.DateOnly)
	for _, filter := range [][]string{nil, {"action", "directory.entry.created"}, {"outcome", "denied"}, {"action", "iam.role.deleted"}} {
		page.Goto(n.PublicURL + room(n, "/audit?"+servertest.Query(filter...)))
		want := logged(t, n, filter...)

		name, data := page.DownloadBy(func() { page.ClickText("Export CSV") })
		if name != "audit-treasury-"+today+".csv" {
			t.Errorf("the file is called %s", name)
		}
		records, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		table := [][]string{auditlog.Columns()}
		for _, row := range want {
			table = append(table, auditlog.Cells(row))
		}
		if diff := cmp.Diff(table, records); diff != "" {
			t.Errorf("%v: the API (-) and the CSV (+) differ:\n%s", filter, diff)
		}
		page.WaitText("Audit")

		want = logged(t, n, filter...) // this includes the row of the export itself
		name, data = page.DownloadBy(func() { page.ClickText("Export NDJSON") })
		if name != "audit-treasury-"+today+".ndjson" {
			t.Errorf("the file is called %s", name)
		}
		var rows []api.AuditEntry
		for line := range strings.Lines(string(data)) {
			var row api.AuditEntry
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			rows = append(rows, row)
		}
		if diff := cmp.Diff(want, rows); diff != "" {
			t.Errorf("%v: the API (-) and the NDJSON (+) differ:\n%s", filter, diff)
		}
	}
	exports := logged(t, n, "action", "audit.exported")
	if len(exports) != 8 || exports[0].Description != "Exported the audit log as NDJSON (action iam.role.deleted)" {
		t.Errorf("the exports on record are %v", exports)
	}
}

func TestAuditExportOfManyRowsIsWhole(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := startOn(t, store)
		happened(t, store, n, time.Hour, outcomes(1100, 0)...)
		visitor := browse(t, n, adminEmail)
		want := logged(t, n)
		got := visitor.post(room(n, "/audit/export"), "format", "csv")
		records, err := csv.NewReader(strings.NewReader(got.body)).ReadAll()
		if err != nil || len(records) != len(want)+1 {
			t.Fatalf("%d lines, want %d and a head: %v", len(records), len(want), err)
		}
		if kind := got.header.Get("Content-Type"); kind != "text/csv; charset=utf-8" {
			t.Errorf("it is %s", kind)
		}
		if got := visitor.post(room(n, "/audit/export"), "format", "xlsx"); got.status != http.StatusBadRequest {
			t.Errorf("another format gives %d", got.status)
		}
	})
}

// fatten adds many long entries to the audit log of the first workspace.
func fatten(t *testing.T, n *servertest.Node, rows int) {
	t.Helper()
	long := api.AuditEntry{Action: "directory.entry.updated", Outcome: "success", Description: strings.Repeat("0", 2000), Timestamp: 1}
	_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), tx.Exec(`INSERT INTO audit_log (id, workspace_number, actor_id_key, action_key, resource_type_key, resource_id_key, entry, personal, salt)
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $2)
			SELECT CAST(printf('%016d', i) AS BLOB), (SELECT number FROM workspace WHERE id = $1), 0, 0, 0, 0, $3, $4, $5 FROM n`,
			n.First.WorkspaceID, rows, string(audit.AppendEntry(nil, long)), string(audit.AppendPersonal(nil, long)), db.NewSalt())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The table disappears during the export, so the connection must break instead of
// ending the file early.
func TestAFailedAuditExportDoesNotLookComplete(t *testing.T) {
	t.Parallel()
	n := start(t)
	fatten(t, n, 15_000) // more than the buffers of a connection hold
	visitor := browse(t, n, adminEmail)
	response, err := visitor.client.PostForm(n.PublicURL+room(n, "/audit/export"), url.Values{"format": {"ndjson"}})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("the export begins with %d", response.StatusCode)
	}
	_, err = db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), tx.Exec(`ALTER TABLE audit_log RENAME TO gone`)
	})
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("half an export of %d bytes looks whole", len(data))
	}
	if !strings.Contains(n.Log.String(), `"msg":"unexpected failure"`) {
		t.Error("the server did not log the failure")
	}
}
