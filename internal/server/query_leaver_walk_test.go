package server_test

import (
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

// leaver removes a person from an organization who has all that ends then.
func (w *tour) leaver() {
	x := w.town.large
	w.begin("a person who leaves")
	leaver := x.Member("admin")
	_, _, err := w.node.Identity.CreateKeyFor(w.t.Context(), db.Caller{}, leaver.Email(),
		identity.NewKey{Name: "limited", Scope: audit.Scope{WorkspaceIDs: []string{x.WorkspaceID}}})
	w.must(err)
	x.Owner.Post(x.OrganizationPath("/owners"), body{"user_id": leaver.UserID}).OK()
	leaver.Post(x.Path("/clients/"+aClient(x, nil).args[1]+"/rotate"), nil).OK()
	leaver.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "viewer"}).OK()
	for _, dry := range []bool{true, false} {
		x.Owner.Post(x.OrganizationPath("/leavers"), body{"email": leaver.Email(), "dry_run": dry}).OK()
	}
}
