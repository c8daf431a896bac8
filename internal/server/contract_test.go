package server_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/api/openapi"
	"bursar/internal/audit"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

type body = servertest.Body

func TestFiveMinuteTour(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		ws := n.First.WorkspaceID
		id := admin.Post("/v1/directory", servertest.Body{
			"workspace_id": ws, "type": "person", "fields": servertest.Body{"first-name": "Ada", "last-name": "Lovelace"}, "tags": []string{"vip"},
		}).OK().Text("id")
		if got := admin.Get("/v1/directory?workspace_id=" + ws).OK().Column("id"); !slices.Equal(got, []string{id}) {
			t.Errorf("the directory lists %v, want %s", got, id)
		}
		if got := admin.Get("/v1/audit?workspace_id=" + ws).OK().Column("action"); !slices.Equal(got, []string{"directory.entry.created", "money.deposit.booked"}) {
			t.Errorf("the audit log lists %v", got)
		}
		entry := admin.Get("/v1/directory/" + id).OK()
		if got := entry.Text("label"); got != "Ada Lovelace" {
			t.Errorf("label is %q", got)
		}
		admin.Post("/v1/directory/"+id+"/receiving-methods", servertest.Body{"provider": "bank", "account_name": "Ada", "account_id": "1"}).OK()
		admin.Patch("/v1/directory/"+id, servertest.Body{"status": "inactive"}).OK()
		admin.Delete("/v1/directory/" + id).OK()
		admin.Get("/v1/directory/"+id).Fails(404, "NOT_FOUND")
		admin.Post("/v1/directory/"+id+"/restore", nil).OK()
		admin.Get("/v1/nope").Fails(404, "RESOURCE_NOT_FOUND")
		admin.Put("/v1/directory", nil).Fails(405, "METHOD_NOT_ALLOWED")
	})
}

func TestContractNamesEveryActionThatIsAudited(t *testing.T) {
	var contract struct {
		Components struct {
			Schemas struct {
				AuditAction struct{ Enum []audit.Action }
			}
		}
	}
	document, err := openapi.JSON()
	if err == nil {
		err = json.Unmarshal(document, &contract)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(audit.Actions())), slices.Sorted(slices.Values(contract.Components.Schemas.AuditAction.Enum))); diff != "" {
		t.Errorf("the actions (-) and those of the contract (+) differ:\n%s", diff)
	}
}
