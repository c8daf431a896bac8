package console_test

import (
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

func TestAccessThatCameThroughACompromisedKeyIsDecidedInTheConsole(t *testing.T) {
	n := start(t)
	_, secret, err := n.Identity.CreateKeyFor(t.Context(), db.Caller{}, adminEmail, identity.NewKey{Name: "Stolen", Scope: audit.Scope{Administer: true}})
	if err != nil {
		t.Fatal(err)
	}
	x, thief := n.FirstTenant(t), n.Login(t, secret)
	add := func(role string) *servertest.Client {
		user := n.User(t, servertest.NewEmail())
		user.Join(thief.Post(x.Path("/members"), servertest.Body{"email": user.Email(), "role": role}).OK().Text("user_id"))
		return user
	}
	honest, crook := add("viewer"), add("viewer")
	page := open(t, n, adminEmail, "/keys")
	page.Click("tr:has([aria-label$=Stolen]) td.actions summary")
	page.ClickText("Report as compromised: key Stolen")
	page.ClickText("Report")
	page.WaitText("API key revoked. The members and roles that came through it are suspended")
	honest.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")

	page.Goto(n.PublicURL + room(n, "/members/suspended"))
	page.Accessible("suspended access")
	page.Shoot("members-suspended")
	page.ClickText("Confirm the access of User " + honest.Email())
	page.WaitText("Access confirmed.")
	page.ClickText("Remove the access of User " + crook.Email())
	page.ClickText("Remove")
	page.WaitText("Access removed.")
	page.WaitText("Nothing is suspended")
	honest.Get(x.Path("")).OK()
	crook.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
}

func TestASuspendedOwnerIsDecidedInTheConsole(t *testing.T) {
	n := start(t)
	id, secret, err := n.Identity.CreateKeyFor(t.Context(), db.Caller{}, adminEmail, identity.NewKey{Name: "Stolen", Scope: audit.Scope{Administer: true}})
	if err != nil {
		t.Fatal(err)
	}
	x, thief := n.FirstTenant(t), n.Login(t, secret)
	owner := x.Member("viewer")
	thief.Post(x.OrganizationPath("/owners"), servertest.Body{"user_id": owner.UserID}).OK()
	x.Owner.Post("/v1/api-keys/"+id+"/compromised", nil).OK()
	page := open(t, n, adminEmail, "/organization")
	page.Accessible("a suspended owner")
	page.Shoot("organization-suspended")
	page.ClickText("Confirm the owner User " + owner.Email())
	page.WaitText("Owner confirmed.")
	owner.Get("/v1/audit?organization_id=" + x.OrganizationID).OK()
}
