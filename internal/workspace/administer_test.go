package workspace_test

import (
	"testing"
	"time"

	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

// plainKey signs a person in with a new key that does not administer.
func plainKey(t *testing.T, n *servertest.Node, c *servertest.Client) *servertest.Client {
	t.Helper()
	_, key, err := n.Identity.CreateKeyFor(t.Context(), db.Caller{}, c.Email(), identity.NewKey{Name: "plain"})
	if err != nil {
		t.Fatal(err)
	}
	return n.Login(t, key)
}

func TestAKeyWithoutAdministerDecidesNothing(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		key := plainKey(t, n, x.Owner)
		for _, permission := range []string{"ws.members.write", "ws.roles.write", "ws.keys.write", "ws.write", "ws.receiving.write",
			"ws.receiving.approve", "ws.payouts.create", "ws.payouts.approve", "ws.accounts.write"} {
			x.Define("decider", permission)
			key.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "decider"}).Lacks("administer")
			x.Define("decider", "ws.read")
			key.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "decider"}).OK()
			key.Put(x.Path("/roles/decider"), body{"name": "Decider", "permissions": []string{permission}}).Lacks("administer")
			key.Put(x.Path("/roles/spare"), body{"name": "Spare", "permissions": []string{permission}}).OK() // which nobody holds
		}
		viewer := x.Member("viewer")
		for _, role := range []string{"admin", "disbursement_manager", "disbursement_authorizer", "directory_manager"} {
			key.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": role}).Lacks("administer")
			key.Post(x.Path("/roles"), body{"user_id": viewer.UserID, "role": role}).Lacks("administer")
		}
		for _, role := range []string{"viewer", "auditor", "member"} {
			key.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": role}).OK()
		}
		key.Post(x.Path("/roles"), body{"user_id": viewer.UserID, "role": "auditor"}).OK()
	})
}

func TestAnUnattendedSessionCannotDecide(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		viewer := x.Member("viewer")
		person := n.Person(t, x.Owner)
		person.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "directory_manager"}).OK()
		n.Clock.Advance(16 * time.Minute)
		person.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "admin"}).Fails(403, "RECENT_LOGIN_REQUIRED")
		person.Post(x.Path("/roles"), body{"user_id": viewer.UserID, "role": "admin"}).Fails(403, "RECENT_LOGIN_REQUIRED")
		person.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "member"}).OK()
		person.Put(x.Path("/roles/clerk"), body{"name": "Clerk", "permissions": []string{"ws.read"}}).OK()
		person.Post(x.Path("/roles"), body{"user_id": viewer.UserID, "role": "clerk"}).OK()
		person.Put(x.Path("/roles/clerk"), body{"name": "Clerk", "permissions": []string{"ws.read", "ws.write"}}).Fails(403, "RECENT_LOGIN_REQUIRED")
	})
}
