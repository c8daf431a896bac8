package console_test

import (
	"slices"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestAPayeeIsMadeInOneForm(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := open(t, n, adminEmail, "/directory/new")
	page.ExpectStatus(422)
	page.Shoot("directory-form-new")
	page.Fill("First name", "Ada")
	page.Fill("Email", "ada@example.com")
	page.Fill("Tags", "vip")
	page.Fill("Bank or wallet", "BPI")
	page.Fill("Account number", "DE89 3704 0044 0532 0130 01")
	page.ClickText("Add to directory")
	page.WaitText("its check digits do not fit")
	page.Accessible("a form with a wrong account number")
	page.Fill("Account number", "123456")
	page.ClickText("Add to directory")
	page.WaitText("An account number at BPI has 10 digits as far as we know.")
	page.Accessible("a form with a doubtful account number")
	page.Shoot("directory-form-doubt")
	page.Fill("Account number", "1234567890")
	page.ClickText("Add anyway")
	page.WaitText("Added to the directory.")
	page.WaitText("•••• 7890")
	page.WaitText("vip")
}

func TestTheFormOfAPayeeWithoutScripts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := startOn(t, store)
		v := browse(t, n, adminEmail)
		path := room(n, "/directory")
		holds(t, "the form", v.get(room(n, "/directory/new")), 200, "Bank account", `name="account_id"`)
		half := v.post(path, "type", "person", "field-first-name", "Ada", "provider", "BPI")
		holds(t, "a bank without a number", half, 422, "Enter the number of the account", `value="BPI"`)
		holds(t, "a number without a bank", v.post(path, "type", "person", "field-first-name", "Ada", "account_id", "123456789"), 422, "Enter the bank or wallet")
		doubt := []string{"type", "organization", "field-name", "Engines", "provider", "BPI", "account_id", "123"}
		holds(t, "a doubtful number", v.post(path, doubt...), 422, "Add anyway", "has 10 digits")
		holds(t, "another doubt was seen", v.post(path, append(doubt, "seen", "something else")...), 422, "Add anyway")
		made := v.post(path, append(doubt, "seen", "An account number at BPI has 10 digits as far as we know.")...)
		holds(t, "added anyway", made, 200, "Added to the directory.", "BPI", "Engines")
		shared := v.post(path, "type", "person", "field-first-name", "Ada", "provider", "Another bank", "account_id", "12-3")
		holds(t, "the account of another payee", shared, 422, "The bank account is also that of Engines.", "Add anyway")
		id := n.Admin(t).Entries().OK().Column("id")
		if len(id) != 1 {
			t.Fatalf("the directory has %v", id)
		}
		if got := n.Audited(t, id[0]); !slices.Equal(got, []string{"directory.entry.created"}) {
			t.Errorf("the log tells %v", got)
		}
		methods := n.Admin(t).Get("/v1/directory/" + id[0]).OK().Object()["receiving_methods"].([]any)
		if m := methods[0].(map[string]any); m["account_name"] != "Engines" || m["account_id"] != "123" || m["is_default"] != true {
			t.Errorf("the method is %v", m)
		}

		// Nothing is made if the account cannot be: a clerk may not add accounts.
		n.Admin(t).Do("PUT", "/v1/workspaces/"+n.First.WorkspaceID+"/roles/clerk", servertest.Body{"name": "Clerk", "permissions": []string{"ws.read", "ws.directory.read", "ws.directory.write"}}).OK()
		clerk := browse(t, n, member(t, n, "clerk"))
		lacks(t, "a clerk's form", clerk.get(room(n, "/directory/new")), `name="account_id"`)
		holds(t, "a clerk", clerk.post(path, "type", "person", "field-first-name", "Eve", "provider", "bank", "account_id", "123456789"), 403)
		if got := n.Admin(t).Entries().OK().Column("label"); len(got) != 1 {
			t.Errorf("the directory has %v", got)
		}
	})
}
