package auditlog_test

import (
	"encoding/csv"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// The export has what the list has, under the same filters, and is on record in both
// logs.
func TestTheExportOfTheAPIIsWhatTheListShows(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		x := n.EventfulTenant(t)
		for _, filter := range []string{"workspace_id=" + x.WorkspaceID, "organization_id=" + x.OrganizationID,
			"outcome=denied&workspace_id=" + x.WorkspaceID, "action=directory.entry.created&workspace_id=" + x.WorkspaceID, "to=0&workspace_id=" + x.WorkspaceID} {
			rows := func() []api.AuditEntry {
				return servertest.Decoded[[]api.AuditEntry](x.Owner.Get("/v1/audit?limit=100&" + filter))
			}
			want := [][]string{auditlog.Columns()}
			for _, row := range rows() {
				want = append(want, auditlog.Cells(row))
			}
			answer := x.Owner.Get("/v1/audit/export?" + filter).OK()
			got, err := csv.NewReader(strings.NewReader(string(answer.Body))).ReadAll()
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s: the list (-) and the CSV (+) differ: %v\n%s", filter, err, diff)
			}
			if kind, name := answer.Header.Get("Content-Type"), answer.Header.Get("Content-Disposition"); kind != "text/csv; charset=utf-8" || name != `attachment; filename="audit.csv"` {
				t.Errorf("it is %s, %s", kind, name)
			}

			listed, exported := rows(), []api.AuditEntry{}
			for line := range strings.Lines(string(x.Owner.Get("/v1/audit/export?format=ndjson&" + filter).OK().Body)) {
				var row api.AuditEntry
				if err := json.Unmarshal([]byte(line), &row); err != nil {
					t.Fatal(err)
				}
				exported = append(exported, row)
			}
			if diff := cmp.Diff(listed, exported); diff != "" {
				t.Errorf("%s: the list (-) and the NDJSON (+) differ:\n%s", filter, diff)
			}
		}
		if got := x.Audit("&action=audit.exported"); len(got) != 8 || got[7]["actor_id"] != x.Owner.UserID {
			t.Errorf("the exports on record are %v", got)
		}
		if got := x.Owner.Get(x.OrganizationAuditPath()).Rows("audit.exported"); len(got) != 2 {
			t.Errorf("the exports of the organization on record are %v", got)
		}
	})
}

// Reading the log is not taking it away.
func TestAnExportNeedsItsOwnPermission(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		x := servertest.Start(t, store).Tenant(t)
		x.Define("reader", "ws.read", "ws.audit.read")
		reader := x.Member("reader")
		reader.Get(x.AuditPath()).OK()
		refused := reader.Get("/v1/audit/export?workspace_id="+x.WorkspaceID).Fails(http.StatusForbidden, "FORBIDDEN")
		if got := refused.Detail("permission"); got != "ws.audit.export" {
			t.Errorf("the missing permission is %s", got)
		}
		row := x.Audit("&outcome=denied")[0]
		if row["action"] != "audit.exported" || row["actor_id"] != reader.UserID {
			t.Errorf("the refusal left %v", row)
		}
		for _, query := range []string{"", "workspace_id=" + x.WorkspaceID + "&format=xlsx", "workspace_id=" + x.WorkspaceID + "&from=x"} {
			x.Owner.Get("/v1/audit/export?"+query).Fails(http.StatusBadRequest, "VALIDATION_ERROR")
		}
		if got := x.Owner.Do(http.MethodHead, "/v1/audit/export?workspace_id="+x.WorkspaceID, nil); got.Status != http.StatusOK || len(got.Body) != 0 || !slices.Contains(got.Header.Values("Cache-Control"), "no-store") {
			t.Errorf("HEAD: %d %v %s", got.Status, got.Header, got.Body)
		}
	})
}

// Anyone who acts chooses their name, which a spreadsheet must not run.
func TestAnExportRunsNothingInASpreadsheetUnlessItIsRaw(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	x := n.Tenant(t)
	event := audit.Event{Action: audit.TagCreated, WorkspaceID: x.WorkspaceID, Description: "-1"}
	if err := db.Record(t.Context(), n.DB, db.Caller{Actor: audit.SystemActor("=1+1")}, event, nil); err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string][]string{"csv": {"'=1+1", "'-1"}, "csv-raw": {"=1+1", "-1"}} {
		answer := x.Owner.Get("/v1/audit/export?action=directory.tag.created&format=" + format + "&workspace_id=" + x.WorkspaceID).OK()
		records, err := csv.NewReader(strings.NewReader(string(answer.Body))).ReadAll()
		if err != nil || len(records) != 2 {
			t.Fatalf("%s: %d records, %v", format, len(records), err)
		}
		if got := []string{records[1][3], records[1][5]}; !slices.Equal(got, want) {
			t.Errorf("%s: the name and the description are %q, want %q", format, got, want)
		}
		if name := answer.Header.Get("Content-Disposition"); name != `attachment; filename="audit.csv"` {
			t.Errorf("%s: the file is %s", format, name)
		}
	}
}
