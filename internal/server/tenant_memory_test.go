package server_test

import (
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestAnIDAskedForAsTheWrongKindIsForgotten(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		ws, org := n.First.WorkspaceID, n.First.OrganizationID

		t.Run("a workspace as an organization", func(t *testing.T) {
			admin.On(t).Get("/v1/organizations/"+ws).Fails(404, "RESOURCE_NOT_FOUND")
			admin.On(t).Get("/v1/workspaces/" + ws).OK()
			admin.On(t).Get("/v1/organizations/"+ws).Fails(404, "RESOURCE_NOT_FOUND")
		})
		t.Run("an organization as a workspace", func(t *testing.T) {
			admin.On(t).Get("/v1/workspaces/"+org).Fails(404, "RESOURCE_NOT_FOUND")
			admin.On(t).Get("/v1/organizations/" + org).OK()
			admin.On(t).Get("/v1/workspaces/"+org).Fails(404, "RESOURCE_NOT_FOUND")
		})
	})
}

func TestLogoutWithAnIdempotencyKeyEndsTheSessionItWasSentWith(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		first, second := n.Admin(t), n.Admin(t)
		for _, session := range []*servertest.Client{first, second} {
			session.Do("POST", "/v1/auth/logout", nil, "Idempotency-Key", "bye").OK()
			session.Get("/v1/auth/me").Fails(401, "UNAUTHORIZED")
		}
	})
}

// loginsSeenBy counts the logins of someone that the owner of an organization
// can read.
func loginsSeenBy(x *servertest.Tenant, userID string) int {
	path := "/v1/audit?organization_id=" + x.OrganizationID + "&action=auth.session.created&actor=" + userID
	return len(x.Owner.Get(path).OK().List())
}

func TestAnInvitationOpensNoViewOnLogins(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		stranger, employer := n.Tenant(t), n.Tenant(t)
		email := servertest.NewEmail()
		stranger.Owner.Delete(stranger.Path("/members/" + stranger.Add(email, "viewer"))).OK()
		stranger.Add(email, "viewer")
		invitation := employer.Add(email, "viewer")
		user := n.User(t, email) // completes the account and logs in
		key := user.Post("/v1/api-keys", servertest.Body{"name": "laptop"}).OK().Text("api_key")
		user.Join(invitation)
		n.Login(t, key)

		if got := loginsSeenBy(stranger, user.UserID); got != 0 {
			t.Errorf("who invited first sees %d logins", got)
		}
		if got := loginsSeenBy(employer, user.UserID); got != 1 {
			t.Errorf("the employer sees %d logins, want 1", got)
		}
	})
}

// Someone who has an account does not show their logins to whomever they join, whatever
// happens to the account later. The organization that they make themselves sees them.
func TestJoiningOpensNoViewOnLogins(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		host := n.Tenant(t)
		user := n.User(t, servertest.NewEmail())
		user.Join(host.Add(user.Email(), "viewer"))
		host.Owner.Post(host.OrganizationPath("/owners"), servertest.Body{"user_id": user.UserID}).OK()
		session := n.Complete(t, n.OperatorsLink(t, user.Email()))
		if got := loginsSeenBy(host, user.UserID); got != 0 {
			t.Errorf("whom they joined sees %d logins", got)
		}
		me := n.CommandLine(t, session)
		own := me.Post("/v1/organizations", servertest.Body{"name": "Own"}).OK().Text("id")
		n.CommandLine(t, session)
		if got := len(me.Get("/v1/audit?organization_id=" + own + "&action=auth.session.created").OK().List()); got != 1 {
			t.Errorf("their own organization sees %d logins", got)
		}
	})
}

func TestLoginsAreRecordedElsewhereOnceAPersonHasLeft(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		former, employer := n.Tenant(t), n.Tenant(t)
		email := servertest.NewEmail()
		invitation := former.Add(email, "viewer")
		user := n.User(t, email) // which began with the invitation
		user.Join(invitation)
		key := user.Post("/v1/api-keys", servertest.Body{"name": "laptop"}).OK().Text("api_key")
		n.Login(t, key)
		user.Join(employer.Add(email, "viewer"))
		former.Owner.Delete(former.Path("/members/" + user.UserID)).OK()
		n.Login(t, key)

		if got := loginsSeenBy(former, user.UserID); got != 1 {
			t.Errorf("the former organization sees %d logins, want the one from before", got)
		}
		if got := loginsSeenBy(employer, user.UserID); got != 1 {
			t.Errorf("the present organization sees %d logins, want the one since", got)
		}
	})
}
