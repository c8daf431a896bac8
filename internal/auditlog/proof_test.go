package auditlog_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/auditlog/tree"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// signed runs a test on every engine, each with a server that signs its log by itself.
func signed(t *testing.T, run func(t *testing.T, n *servertest.Node)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := signing(t, store)
		n.RunBackground(t)
		run(t, n)
	})
}

// proven asks for a proof until the newest rows are signed, which on PostgreSQL waits for transactions
// of other tests.
func proven(c *servertest.Client, path string) *servertest.Answer {
	answer := c.Get(path)
	for answer.Status == 503 {
		answer = c.Get(path)
	}
	return answer
}

// keyOf is the public key of the log.
func keyOf(n *servertest.Node) string { return n.Server.AuditSigner().Key().Verifier() }

// verifyRow verifies the proof in an answer, as someone does who has only the key.
func verifyRow(t *testing.T, n *servertest.Node, answer *servertest.Answer, since string) (api.AuditProof, tree.Report) {
	t.Helper()
	var sent struct{ Data json.RawMessage }
	if err := json.Unmarshal(answer.OK().Body, &sent); err != nil {
		t.Fatal(err)
	}
	report, err := tree.VerifyProof(sent.Data, tree.Trust{Key: keyOf(n), Since: []byte(since)})
	if err != nil {
		t.Fatalf("%v: %s", err, sent.Data)
	}
	return servertest.Decoded[api.AuditProof](answer), report
}

// verifyFile verifies the proof file in an answer.
func verifyFile(t *testing.T, n *servertest.Node, answer *servertest.Answer, since string) tree.Report {
	t.Helper()
	file := answer.OK().Body
	report, err := tree.VerifyFile(bytes.NewReader(file), int64(len(file)), tree.Trust{Key: keyOf(n), Since: []byte(since)})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func untouched(t *testing.T, report tree.Report) {
	t.Helper()
	for _, f := range report.Failures {
		t.Errorf("nothing was touched: %v", f)
	}
}

func TestEveryRowIsProvenWithTheKeyAlone(t *testing.T) {
	signed(t, func(t *testing.T, n *servertest.Node) {
		x, other := n.EventfulTenant(t), n.EventfulTenant(t)
		first := proven(x.Owner, "/v1/audit/"+x.Owner.Get(x.AuditPath()).OK().List()[0]["id"].(string)+"/proof?workspace_id="+x.WorkspaceID)
		proof, report := verifyRow(t, n, first, "")
		untouched(t, report)
		since := proof.Checkpoint
		other.Entry("Between")
		for _, log := range []struct{ path, scope, name string }{
			{x.AuditPath(), "workspace_id=" + x.WorkspaceID, "workspace " + x.WorkspaceID},
			{x.OrganizationAuditPath(), "organization_id=" + x.OrganizationID, "organization " + x.OrganizationID},
		} {
			for _, row := range x.Owner.Get(log.path).OK().List() {
				id := row["id"].(string)
				size := strings.Split(since, "\n")[1]
				proof, report := verifyRow(t, n, proven(x.Owner, "/v1/audit/"+id+"/proof?since="+size+"&"+log.scope), since)
				untouched(t, report)
				if proof.Row.ID != id || report.Stream.Name != log.name || !strings.Contains(proof.Row.Entry, row["action"].(string)) || report.Rows != 1 {
					t.Errorf("the proof of %v is %+v", row, proof)
				}
			}
		}
		stranger, reader := other.Owner, x.Member("auditor")
		id := proof.Row.ID
		verifyRow(t, n, proven(reader, "/v1/audit/"+id+"/proof?workspace_id="+x.WorkspaceID), "")
		stranger.Get("/v1/audit/"+id+"/proof?workspace_id="+x.WorkspaceID).Fails(404, "RESOURCE_NOT_FOUND")
		stranger.Get("/v1/audit/"+id+"/proof?workspace_id="+other.WorkspaceID).Fails(404, "RESOURCE_NOT_FOUND")
		x.Owner.Get("/v1/audit/aud_nothing/proof?workspace_id="+x.WorkspaceID).Fails(404, "RESOURCE_NOT_FOUND")
		x.Owner.Get("/v1/audit/"+id+"/proof?organization_id="+x.OrganizationID).Fails(404, "RESOURCE_NOT_FOUND")
		for _, wrong := range []string{"", "?workspace_id=" + x.WorkspaceID + "&since=0", "?workspace_id=" + x.WorkspaceID + "&since=x"} {
			x.Owner.Get("/v1/audit/"+id+"/proof"+wrong).Fails(400, "VALIDATION_ERROR")
		}
	})
}

func TestAWholeLogIsProvenWithTheKeyAlone(t *testing.T) {
	signed(t, func(t *testing.T, n *servertest.Node) {
		x := n.EventfulTenant(t)
		n.EventfulTenant(t)
		first := proven(x.Owner, "/v1/audit/proof?workspace_id="+x.WorkspaceID)
		report := verifyFile(t, n, first, "")
		untouched(t, report)
		if rows := int64(x.AuditCount()); report.Rows != rows || report.Stream.Name != "workspace "+x.WorkspaceID {
			t.Errorf("the file has %d rows of %s, want %d of %s", report.Rows, report.Stream.Name, rows, x.WorkspaceID)
		}
		if got := first.Header.Get("Content-Type"); got != "application/zip" {
			t.Errorf("the type is %q", got)
		}
		row := x.Owner.Get(x.AuditPath()).LastRow("audit.exported")
		if row["description"] != "Exported the audit log with its proof" || row["resource_id"] != x.WorkspaceID {
			t.Errorf("the export left %v", row)
		}

		_, since := checkpoint(t, n)
		size := strings.Split(since, "\n")[1]
		x.Entry("Later")
		again := proven(x.Owner, "/v1/audit/proof?since="+size+"&workspace_id="+x.WorkspaceID)
		untouched(t, verifyFile(t, n, again, since))
		_, newest := checkpoint(t, n)
		if old := verifyFile(t, n, first, newest); len(old.Failures) != 1 || old.Failures[0].Kind != tree.CutOff {
			t.Errorf("an old file shown as new: %v", old.Failures)
		}
		organization := verifyFile(t, n, proven(x.Owner, "/v1/audit/proof?organization_id="+x.OrganizationID), "")
		untouched(t, organization)
		if organization.Rows == 0 || organization.Stream.Name != "organization "+x.OrganizationID {
			t.Errorf("the log of the organization is %+v", organization)
		}

		reader := x.Member("viewer")
		refused := reader.Get("/v1/audit/proof?workspace_id="+x.WorkspaceID).Fails(403, "FORBIDDEN")
		if refused.Detail("permission") != "ws.audit.export" {
			t.Errorf("the missing permission is %q", refused.Detail("permission"))
		}
		if rows := x.Owner.Get(x.AuditPath() + "&outcome=denied").Rows("audit.exported"); len(rows) != 1 {
			t.Errorf("the refusal left %v", rows)
		}
		x.Owner.Get("/v1/audit/proof").Fails(400, "VALIDATION_ERROR")
	})
}

// A file may be larger than what is read at once, and than a tile.
func TestALongLogIsProven(t *testing.T) {
	signed(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		for i := range 1200 {
			err := db.Record(t.Context(), n.DB, db.Caller{}, rowOf(x, i), nil)
			if err != nil {
				t.Fatal(err)
			}
		}
		report := verifyFile(t, n, proven(x.Owner, "/v1/audit/proof?workspace_id="+x.WorkspaceID), "")
		untouched(t, report)
		if report.Rows < 1200 {
			t.Errorf("%d rows are proven", report.Rows)
		}
	})
}

func TestNothingIsProvenWithoutAKey(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		id := x.Owner.Get(x.AuditPath()).OK().List()[0]["id"].(string)
		x.Owner.Get("/v1/audit/proof?workspace_id="+x.WorkspaceID).Fails(422, "AUDIT_UNSIGNED")
		x.Owner.Get("/v1/audit/"+id+"/proof?workspace_id="+x.WorkspaceID).Fails(422, "AUDIT_UNSIGNED")
	})
}

// eraseNamed removes the personal part of rows, and leaves a row that names whatever it is told.
func eraseNamed(t *testing.T, n *servertest.Node, x *servertest.Tenant, named string, ids ...string) {
	t.Helper()
	_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		event := audit.Event{Action: "audit.erased", ResourceID: named, Description: "Erased", WorkspaceID: x.WorkspaceID}
		for _, id := range ids {
			var salt, personal []byte
			err := tx.Each(func(r db.Rows) error {
				salt, personal = slices.Clone(r.Raw(0)), slices.Clone(r.Raw(1))
				return nil
			}, `SELECT salt, personal FROM audit_log WHERE id = $1`, db.PackID("aud", id))
			if err != nil {
				return struct{}{}, event, err
			}
			digest := tree.PersonalDigest(salt, personal)
			err = tx.Exec(`UPDATE audit_log SET personal = NULL, salt = NULL, erased = $1 WHERE id = $2`, digest[:], db.PackID("aud", id))
			if err != nil {
				return struct{}{}, event, err
			}
		}
		return struct{}{}, event, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnErasedRowIsProvenWhereARowNamesIt(t *testing.T) {
	signed(t, func(t *testing.T, n *servertest.Node) {
		x := n.EventfulTenant(t)
		rows := x.Owner.Get(x.AuditPath()).OK().List()
		proven(x.Owner, "/v1/audit/proof?workspace_id="+x.WorkspaceID).OK() // now all have places
		eraseNamed(t, n, x, rows[2]["id"].(string), rows[2]["id"].(string))
		report := verifyFile(t, n, proven(x.Owner, "/v1/audit/proof?workspace_id="+x.WorkspaceID), "")
		untouched(t, report)
		if report.Erased != 1 {
			t.Errorf("the report is %+v", report)
		}
		eraseNamed(t, n, x, "aud_another", rows[3]["id"].(string))
		report = verifyFile(t, n, proven(x.Owner, "/v1/audit/proof?workspace_id="+x.WorkspaceID), "")
		if len(report.Failures) != 1 || report.Failures[0].Kind != tree.Edited || report.Failures[0].ID != rows[3]["id"] {
			t.Errorf("a row was erased without a word: %v", report.Failures)
		}
		for _, neighbour := range []int{1, 4} {
			_, report := verifyRow(t, n, proven(x.Owner, "/v1/audit/"+rows[neighbour]["id"].(string)+"/proof?workspace_id="+x.WorkspaceID), "")
			untouched(t, report)
		}
	})
}

// rowOf is an event of the tenant.
func rowOf(x *servertest.Tenant, i int) audit.Event {
	return audit.Event{Action: audit.EntryUpdated, ResourceID: "entry_" + strconv.Itoa(i), Description: "Updated " + strconv.Itoa(i), WorkspaceID: x.WorkspaceID}
}
