package concurrent_test

import (
	"testing"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
	"bursar/internal/wait"
	"bursar/internal/web"
)

// operator is the identity service as `bursar admin` has it: on the store, and
// in no server.
func operator(t *testing.T, store dbtest.Store) *identity.Service {
	t.Helper()
	d := store.Open(t)
	return identity.New(d, store.Vault(d), web.NewCursors(nil), identity.Config{})
}

// someone is a user with one thing to lose, known to both nodes.
type somebody struct {
	email, keyID string
	here, there  *servertest.Client // one session, on two nodes
}

// loss is a change that takes something away.
type loss struct {
	path   string // what is asked for
	status int    // of the answer afterwards
	code   string
	change func(t *testing.T, who somebody)
}

func newSomebody(t *testing.T, here, there *servertest.Node, admin *servertest.Client) somebody {
	t.Helper()
	email, keyID, secret := here.NewKey(t, identity.NewKey{})
	invitation := admin.On(t).Post("/v1/workspaces/"+here.First.WorkspaceID+"/members", servertest.Body{"email": email, "role": "viewer"}).OK().Text("user_id")
	session := here.Login(t, secret)
	session.Join(invitation)
	other := there.Holder(t, session.Token)
	other.UserID = session.UserID
	return somebody{email, keyID, session, other}
}

// remember makes both nodes know the session and its permissions.
func (w somebody) remember(path string) {
	for range 2 {
		w.here.Get(path).OK()
		w.there.Get(path).OK()
	}
}

// It does not run beside others: on PostgreSQL their notices reach these nodes,
// too, and could hide that one of ours is missing.
func TestAccessChangesReachEveryNode(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		here, there := servertest.Start(t, store), servertest.Start(t, store)
		admin, desk := here.Admin(t), operator(t, store)
		me, directory := "/v1/auth/me", "/v1/directory?workspace_id="+here.First.WorkspaceID
		disable := func(by *identity.Service) func(t *testing.T, who somebody) {
			return func(t *testing.T, who somebody) {
				if _, err := by.DisableUser(t.Context(), db.Caller{}, who.email); err != nil {
					t.Fatalf("disable the user: %v", err)
				}
			}
		}
		revoke := func(by *identity.Service) func(t *testing.T, who somebody) {
			return func(t *testing.T, who somebody) {
				if _, err := by.RevokeAnyKey(t.Context(), db.Caller{}, who.keyID); err != nil {
					t.Fatalf("revoke the key: %v", err)
				}
			}
		}
		member := func(who somebody) string {
			return "/v1/workspaces/" + here.First.WorkspaceID + "/members/" + who.here.UserID
		}
		role := func(who somebody) string {
			return "/v1/workspaces/" + here.First.WorkspaceID + "/roles/" + who.here.UserID + "/viewer"
		}
		for name, c := range map[string]loss{
			"a logout": {me, 401, "UNAUTHORIZED", func(t *testing.T, who somebody) { who.here.Post("/v1/auth/logout", nil).OK() }},
			"a revoked key": {me, 401, "UNAUTHORIZED", func(t *testing.T, who somebody) {
				who.here.Delete("/v1/api-keys/" + who.keyID).OK()
			}},
			"a disabled user":  {me, 401, "UNAUTHORIZED", disable(here.Identity)},
			"a removed role":   {directory, 403, "FORBIDDEN", func(t *testing.T, who somebody) { admin.On(t).Delete(role(who)).OK() }},
			"a removed member": {directory, 404, "RESOURCE_NOT_FOUND", func(t *testing.T, who somebody) { admin.On(t).Delete(member(who)).OK() }},
		} {
			t.Run(name+" counts at once here and soon there", func(t *testing.T) {
				who := newSomebody(t, here, there, admin)
				who.remember(c.path)
				c.change(t, who)
				who.here.Get(c.path).Fails(c.status, c.code)
				wait.Until(t, name, func() bool { return who.there.Get(c.path).Status == c.status })
			})
		}
		for name, change := range map[string]func(t *testing.T, who somebody){
			"a revoked key":   revoke(desk),
			"a disabled user": disable(desk),
		} {
			t.Run(name+" counts soon everywhere when an operator does it", func(t *testing.T) {
				who := newSomebody(t, here, there, admin)
				who.remember(me)
				change(t, who)
				wait.Until(t, name+" here", func() bool { return who.here.Get(me).Status == 401 })
				wait.Until(t, name+" there", func() bool { return who.there.Get(me).Status == 401 })
			})
		}
		t.Run("a user who is enabled again has to log in again", func(t *testing.T) {
			who := newSomebody(t, here, there, admin)
			disable(here.Identity)(t, who)
			if _, err := here.Identity.EnableUser(t.Context(), db.Caller{}, who.email); err != nil {
				t.Fatalf("enable the user: %v", err)
			}
			who.here.Get(me).Fails(401, "UNAUTHORIZED")
		})
	})
}

func TestNodesShareSessions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		here, there := servertest.Start(t, store), servertest.Start(t, store)
		admin := here.Admin(t)
		t.Run("a session that begins here is good there", func(t *testing.T) {
			there.Holder(t, admin.Token).Get("/v1/auth/me").OK()
		})
		t.Run("a device login may begin here, be approved there and end here", func(t *testing.T) {
			code := here.NewDeviceCode(t, nil)
			there.Holder(t, admin.Token).Decide(code, "approve").OK()
			token := here.PollDevice(t, code).OK().Text("token")
			there.Holder(t, token).Get("/v1/auth/me").OK()
			there.PollDevice(t, code).DeviceStatus("consumed", false)
		})
		t.Run("a cursor made here is good there", func(t *testing.T) {
			cursor, more := admin.On(t).Get("/v1/auth/activity?limit=1").OK().Page()
			if !more {
				t.Fatal("there is no second page")
			}
			there.Holder(t, admin.Token).Get("/v1/auth/activity?limit=1&cursor=" + cursor).OK()
		})
		t.Run("an operator rotates the signing key under both", func(t *testing.T) {
			kid, err := operator(t, store).Tokens().Rotate(t.Context(), db.Caller{}, false)
			if err != nil {
				t.Fatalf("rotate: %v", err)
			}
			for _, n := range []*servertest.Node{here, there} {
				wait.Until(t, "a node signs with the new key", func() bool {
					return keyID(t, n.Login(t, here.First.APIKey).Token) == kid
				})
				n.Holder(t, admin.Token).Get("/v1/auth/me").OK()
			}
			token := here.Admin(t).Token
			wait.Until(t, "the other node takes the new key", func() bool {
				return there.Holder(t, token).Get("/v1/auth/me").Status == 200
			})
		})
	})
}
