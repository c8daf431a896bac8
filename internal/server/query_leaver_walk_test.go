package server_test

import (
	"net/http"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/operator"
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

// compromised reports a key with which owners and members were added, and decides about them.
func (w *tour) compromised() {
	n, x := w.node, w.node.Tenant(w.t)
	w.begin("a compromised key")
	other := x.Member("viewer")
	x.Owner.Post(x.OrganizationPath("/owners"), body{"user_id": other.UserID}).OK()
	x.Define("helper", "ws.read", "ws.members.read", "ws.members.write")
	x.Give(other, "helper")
	stolen := func() (key string, thief *servertest.Client) {
		key, secret, err := n.Identity.CreateKeyFor(w.t.Context(), db.Caller{}, other.Email(), identity.NewKey{Name: "stolen", Scope: audit.Scope{Administer: true}})
		w.must(err)
		return key, n.Login(w.t, secret)
	}
	revoked, thief := stolen()
	thief.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "helper"}).OK()
	x.Define("clerk", "ws.read")
	x.Give(other, "clerk")
	thief.Post(x.Path("/roles"), body{"user_id": x.Add(servertest.NewEmail(), "viewer"), "role": "clerk"}).OK()
	other.Delete("/v1/api-keys/" + revoked).OK()
	key, thief := stolen()
	x.Owner.Put(x.Path("/roles/clerk"), body{"name": "Clerk", "permissions": []string{"ws.read", "ws.members.read"}}).OK() // in a session of a key
	for range 2 {
		thief.Post(x.OrganizationPath("/owners"), body{"user_id": x.Member("viewer").UserID}).OK()
		user := n.User(w.t, servertest.NewEmail())
		user.Join(thief.Post(x.Path("/members"), body{"email": user.Email(), "role": "helper"}).OK().Text("user_id"))
	}
	thief.Post(x.Path("/roles"), body{"user_id": x.Member("viewer").UserID, "role": "helper"}).OK()
	other.Post("/v1/api-keys/"+key+"/compromised", nil).OK()
	for _, path := range []string{x.AuditPath(), x.OrganizationAuditPath(), "/v1/audit/feed?after=0&workspace_id=" + x.WorkspaceID} {
		x.Owner.Get(path + "&key_id=" + key).OK()
	}
	x.Owner.Get(x.AuditPath() + "&from=1&actor=usr_x&key_id=" + key).OK()
	person := n.Person(w.t, x.Owner)
	for _, list := range []string{x.Path("/suspended"), x.OrganizationPath("/suspended")} {
		for i, id := range person.Get(list).OK().Column("id") {
			person.Post(list+"/"+id+[]string{"/confirm", "/remove", "/confirm"}[i%3], nil).OK()
		}
	}
}

// operations opens the pages of operators, and does what they offer.
func (w *tour) operations() {
	x, n := w.town.large, w.node
	email := servertest.NewEmail()
	n.User(w.t, email).Operate("ops.access", "ops.money")
	other := n.User(w.t, servertest.NewEmail()).Operate("ops.access", "ops.money")
	session := n.Complete(w.t, n.OperatorsLink(w.t, email))
	w.begin("the pages of operators")
	x.Owner.Post(x.Path("/payout-stop"), body{"reason": "a drill", "mode": "sandbox"}).OK()
	approver := x.Member("admin")
	for _, path := range []string{"/ops", "/ops/organizations", "/ops/users?q=user", "/ops/users?q=" + approver.UserID, "/ops/requests", "/ops/audit"} {
		if status := n.Page(w.t, path, session); status != http.StatusOK {
			w.t.Errorf("%s: %d", path, status)
		}
	}
	send := func(path string, pairs ...string) {
		w.t.Helper()
		if status, _, _ := n.Form(w.t, path, session, pairs...); status >= http.StatusBadRequest {
			w.t.Errorf("%s: %d", path, status)
		}
	}
	send("/ops/approvers", "workspace_id", x.WorkspaceID, "email", approver.Email(), "role", "disbursement_authorizer")
	send("/ops/users/" + approver.UserID + "/reset")
	send("/ops/users/" + n.User(w.t, servertest.NewEmail()).UserID + "/reset")
	for _, one := range servertest.Decoded[[]api.OpsRequest](other.Get("/v1/ops/requests")) {
		other.Post("/v1/ops/requests/"+one.ID+"/approve", body{"digest": one.Digest}).OK()
	}
	send("/ops/users/" + approver.UserID + "/disable")
	x.Owner.Post(x.Path("/payout-resume"), body{"mode": "sandbox"})
	_, err := operator.List(w.t.Context(), n.DB)
	w.must(err)
	_, err = operator.Remove(w.t.Context(), n.DB, db.Caller{}, email)
	w.must(err)
}
