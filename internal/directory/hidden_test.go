package directory_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

// Characters that reverse a text, or that no one sees, make one payee look like another. No name, label, tag or account has them.
func TestNamesHaveNoInvisibleCharacters(t *testing.T) {
	const reversed, invisible = "Acme \u202erewoP", "Ac\u200bme"
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		workspace := n.First.WorkspaceID
		entry := c.Entry(servertest.Body{"name": "Acme"})
		method := c.AddMethod(entry, servertest.Body{"provider": "bank", "account_name": "Acme", "account_id": "0001"})
		tag := c.Post("/v1/directory/tags", servertest.Body{"workspace_id": workspace, "name": "vip"}).OK().Text("id")
		for _, bad := range []string{reversed, invisible} {
			for field, body := range map[string]servertest.Body{
				"name":              {"name": bad},
				"label":             {"label": bad},
				"external_id":       {"external_id": bad},
				"tags":              {"tags": []string{bad}},
				"fields.name":       {"fields": servertest.Body{"name": bad}},
				"fields.first-name": {"fields": servertest.Body{"first-name": bad}},
				"fields.last-name":  {"fields": servertest.Body{"last-name": bad}},
				"fields.phone":      {"fields": servertest.Body{"phone": bad}},
			} {
				c.Patch("/v1/directory/"+entry, body).Invalid(field)
				body["workspace_id"], body["type"] = workspace, "organization"
				if body["fields"] == nil {
					body["fields"] = servertest.Body{}
				}
				c.Post("/v1/directory", body).Invalid(field)
			}
			for field, body := range map[string]servertest.Body{
				"provider":     {"provider": bad, "account_name": "Acme", "account_id": "0002"},
				"account_name": {"provider": "bank", "account_name": bad, "account_id": "0002"},
				"account_id":   {"provider": "bank", "account_name": "Acme", "account_id": bad},
			} {
				c.Post("/v1/directory/"+entry+"/receiving-methods", body).Invalid(field)
				c.Patch("/v1/directory/"+entry+"/receiving-methods/"+method, servertest.Body{field: bad}).Invalid(field)
			}
			c.Post("/v1/directory/tags", servertest.Body{"workspace_id": workspace, "name": bad}).Invalid("name")
			c.Patch("/v1/directory/tags/"+tag, servertest.Body{"name": bad}).Invalid("name")
			c.Patch("/v1/workspaces/"+workspace, servertest.Body{"name": bad}).Invalid("name")
			c.Patch("/v1/organizations/"+n.First.OrganizationID+"/settings", servertest.Body{"name": bad}).Invalid("name")
			role := servertest.Body{"name": bad, "permissions": []string{"ws.read"}}
			c.Put("/v1/workspaces/"+workspace+"/roles/clerk", role).Invalid("name")
			c.Post("/v1/api-keys", servertest.Body{"name": bad}).Invalid("name")
			c.Post("/v2/accounts", servertest.Body{"workspace_id": workspace, "name": bad, "currency": "PHP"}).Invalid("name")
			payee := servertest.Body{"bank_account_name": bad, "bank_account_number": "1234567890", "bank_code": "BOPIPHMMXXX"}
			payout := servertest.Body{"source_account_id": "acc_1", "amount_cents": 100, "currency": "PHP", "settlement_account": payee}
			c.Post("/v2/payout-requests", payout).Invalid("settlement_account.bank_account_name")
			done := c.Import("type,name,method.provider,method.account_name,method.account_id\norganization," + bad + ",,,\n" +
				"organization,Good,bank,Good," + bad + "\norganization,Good,bank,Good,0003\n")
			if got := servertest.Counts(done); got != "completed 1 0 0 2" {
				t.Errorf("the import of %q is %s", bad, got)
			}
			refused := string(c.Do(http.MethodGet, "/v1/directory/imports/"+done.Text("id")+"/refused", nil).Body)
			if strings.Count(refused, "invisible formatting characters") != 2 {
				t.Errorf("the refused lines are %s", refused)
			}
		}
		c.Patch("/v1/directory/"+entry, servertest.Body{"name": "می\u200cخواهم", "label": "👩\u200d🚀 Ada"}).OK()
	})
}

// What was stored before is read, found and changed in its other properties.
func TestEntriesWithInvisibleCharactersFromBeforeCanBeChanged(t *testing.T) {
	const old = "Ac\u200bme"
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		entry := c.Entry(servertest.Body{"name": "Old", "label": "Old", "external_id": "OLD", "tags": []string{"old"}, "fields": servertest.Body{"name": "Old"}})
		_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			err := tx.Exec(`UPDATE directory_entry SET name = $1, label = $1, external_id = $1, fields = $2 WHERE external_id = 'OLD'`, old, fmt.Sprintf(`{"name":%q}`, "Ac\\u200bme"))
			if err == nil {
				err = tx.Exec(`UPDATE directory_tag SET name = $1, name_key = $2`, old, strings.ToLower(old))
			}
			return struct{}{}, audit.None("as an earlier version stored it"), err
		})
		if err != nil {
			t.Fatal(err)
		}
		path := "/v1/directory/" + entry
		c.Patch(path, servertest.Body{"fields": servertest.Body{"industry": "Power"}}).OK()
		c.Patch(path, servertest.Body{"tags": []string{old, "new"}}).OK()
		c.Patch(path, servertest.Body{"status": "inactive"}).OK()
		got := c.Get(path).OK()
		if got.Text("name") != old || got.Text("label") != old || got.Text("status") != "inactive" {
			t.Errorf("the entry is %s", got.Body)
		}
		if found := c.Entries("external_id", old).OK().Column("id"); len(found) != 1 {
			t.Errorf("its external id finds %v", found)
		}
		c.Patch(path, servertest.Body{"name": "Acme", "label": "Acme"}).OK()
	})
}
