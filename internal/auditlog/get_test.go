package auditlog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

func TestOneRowOfTheLog(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, y := n.Tenant(t), n.Tenant(t)
		entry := x.Entry("Ada")
		var changes audit.Changes
		changes.Add("status", "active", "inactive")
		changes.Add("fields.phone", nil, "+63 917 555 0101")
		event := audit.Event{Action: audit.EntryUpdated, WorkspaceID: x.WorkspaceID, ResourceID: entry, Description: "Updated person Ada", Changes: changes}
		if err := db.Record(t.Context(), n.DB, db.Caller{Actor: audit.SystemActor("test")}, event, nil); err != nil {
			t.Fatal(err)
		}
		get := func(c *servertest.Client, id, log string) *servertest.Answer {
			return c.Get("/v1/audit/" + id + "?" + log)
		}
		ofWorkspace, ofOrganization := "workspace_id="+x.WorkspaceID, "organization_id="+x.OrganizationID

		inside := servertest.Decoded[[]api.AuditEntry](x.Owner.Get(x.AuditPath()))
		outside := servertest.Decoded[[]api.AuditEntry](x.Owner.Get(x.OrganizationAuditPath()))
		for log, rows := range map[string][]api.AuditEntry{ofWorkspace: inside, ofOrganization: outside} {
			for _, row := range rows {
				if diff := cmp.Diff(row, servertest.Decoded[api.AuditEntry](get(x.Owner, row.ID, log))); diff != "" {
					t.Errorf("a row of %s: the list (-) and the row (+) differ:\n%s", log, diff)
				}
			}
		}
		if got := inside[0].Changes; len(got) != 2 || got[1].Field != "fields.phone" || string(got[1].Before) != "null" || string(got[1].After) != `"+63 917 555 0101"` {
			t.Errorf("the changes are %+v", got)
		}
		n.SequenceAudit(t)
		if got := servertest.Decoded[api.AuditEntry](get(x.Owner, inside[0].ID, ofWorkspace)); got.Seq == 0 {
			t.Errorf("a row with a place is %+v", got)
		}

		for name, c := range map[string]struct{ id, log string }{
			"a row of no workspace":  {outside[0].ID, ofWorkspace},
			"a row of a workspace":   {inside[0].ID, ofOrganization},
			"no row":                 {"aud_00000000000000000000000000", ofWorkspace},
			"what is no id":          {"nothing", ofWorkspace},
			"an id with its letters": {"AUD_" + inside[0].ID[4:], ofWorkspace},
		} {
			t.Run(name, func(t *testing.T) { get(x.Owner.On(t), c.id, c.log).Fails(404, "RESOURCE_NOT_FOUND") })
		}
		get(y.Owner, inside[0].ID, "workspace_id="+y.WorkspaceID).Fails(404, "RESOURCE_NOT_FOUND")
		get(y.Owner, outside[0].ID, "organization_id="+y.OrganizationID).Fails(404, "RESOURCE_NOT_FOUND")
		get(y.Owner, inside[0].ID, ofWorkspace).Fails(404, "RESOURCE_NOT_FOUND")
		get(x.Member("viewer"), inside[0].ID, ofWorkspace).Fails(403, "FORBIDDEN")
		get(x.Owner, inside[0].ID, "").Invalid("workspace_id")
		get(x.Owner, inside[0].ID, ofWorkspace+"&"+ofOrganization).Invalid("organization_id")
	})
}
