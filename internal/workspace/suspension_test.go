package workspace_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

// stolenKey makes an API key of a person, and returns its id and a session of the thief.
func stolenKey(t *testing.T, n *servertest.Node, owner *servertest.Client) (id string, thief *servertest.Client) {
	t.Helper()
	id, secret, err := n.Identity.CreateKeyFor(t.Context(), db.Caller{}, owner.Email(), identity.NewKey{Name: "stolen", Scope: audit.Scope{Administer: true}})
	if err != nil {
		t.Fatal(err)
	}
	return id, n.Login(t, secret)
}

func suspended(x *servertest.Tenant) []api.SuspendedAccess {
	return servertest.Decoded[[]api.SuspendedAccess](x.Owner.Get(x.Path("/suspended")))
}

// ghost adds a new user to a workspace with a role, and lets them accept.
func ghost(t *testing.T, x *servertest.Tenant, by *servertest.Client, role string) *servertest.Client {
	t.Helper()
	user := x.Node.User(t, servertest.NewEmail())
	user.Join(by.On(t).Post(x.Path("/members"), body{"email": user.Email(), "role": role}).OK().Text("user_id"))
	return user
}

func TestRevokingAKeyEndsTheInvitationsThatWereMadeWithIt(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		key, thief := stolenKey(t, n, x.Owner)
		guest, accepted := n.User(t, servertest.NewEmail()), ghost(t, x, thief, "viewer")
		id := thief.Post(x.Path("/members"), body{"email": guest.Email(), "role": "viewer"}).OK().Text("user_id")
		child := n.Login(t, thief.Post("/v1/api-keys", body{"name": "child"}).OK().Text("api_key"))
		byChild := child.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "viewer"}).OK().Text("user_id")
		kept := x.Add(servertest.NewEmail(), "viewer")
		x.Owner.Delete("/v1/api-keys/" + key).OK()
		accept(guest, id).Fails(404, "RESOURCE_NOT_FOUND")
		members := x.Owner.Get(x.Path("/members")).OK().Column("id")
		if slices.Contains(members, id) || slices.Contains(members, byChild) {
			t.Error("an invitation is left")
		}
		if !slices.Contains(members, kept) || !slices.Contains(members, accepted.UserID) {
			t.Error("what was not made with the key, or was accepted, has gone")
		}
	})
}

// Who let a key end as planned did not take back what was done with it.
func TestRotatingAKeyAndItsExpiryLeaveItsInvitations(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		key, program := stolenKey(t, n, x.Owner)
		one, two := n.User(t, servertest.NewEmail()), n.User(t, servertest.NewEmail())
		invite := func(by *servertest.Client, guest *servertest.Client) string {
			return by.Post(x.Path("/members"), body{"email": guest.Email(), "role": "viewer"}).OK().Text("user_id")
		}
		byRotated := invite(program, one)
		next := program.Post("/v1/api-keys/"+key+"/rotate", body{"grace_seconds": 0}).OK().Text("api_key")
		accept(one, byRotated).OK()
		_, secret, err := n.Identity.CreateKeyFor(t.Context(), db.Caller{}, x.Owner.Email(),
			identity.NewKey{Name: "short", Scope: audit.Scope{Administer: true}, ExpiresAt: n.DB.Now() + time.Minute.Milliseconds()})
		if err != nil {
			t.Fatal(err)
		}
		expiring := n.Login(t, secret)
		byExpired := invite(expiring, two)
		n.Clock.Advance(2 * time.Minute)
		expiring.Get("/v1/auth/me").Fails(401, "UNAUTHORIZED")
		accept(two, byExpired).OK()
		n.Login(t, next).Get(x.Path("")).OK()
	})
}

func TestRevokingAKeyEndsTheRolesThatItAddedToAnInvitation(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		key, thief := stolenKey(t, n, x.Owner)
		colleague, guest := x.Member("viewer"), x.Add(servertest.NewEmail(), "viewer")
		for _, id := range []string{colleague.UserID, guest} {
			thief.Post(x.Path("/roles"), body{"user_id": id, "role": "member"}).OK()
		}
		x.Owner.Delete("/v1/api-keys/" + key).OK()
		if got := x.MemberWith(t, guest).Roles; !slices.Equal(got, []string{"viewer"}) {
			t.Errorf("the invitation is for %v", got)
		}
		if got := x.MemberWith(t, colleague.UserID).Roles; len(got) != 2 {
			t.Errorf("the member has %v", got)
		}
		if rows := x.Audit("&action=iam.member.role_removed&resource_id=" + guest); len(rows) != 1 {
			t.Errorf("%d rows are in the log", len(rows))
		}
	})
}

func TestWhatCameThroughACompromisedKeyIsSuspended(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		colleague := x.Member("viewer")
		key, thief := stolenKey(t, n, x.Owner)
		first := ghost(t, x, thief, "admin")
		second := ghost(t, x, n.Person(t, first), "viewer") // by the ghost, without the key
		thief.Post(x.Path("/roles"), body{"user_id": colleague.UserID, "role": "member"}).OK()
		report := servertest.Decoded[api.CompromisedKey](x.Owner.Post("/v1/api-keys/"+key+"/compromised", nil))
		if len(report.Suspended) != 3 || report.Activity.Actor != x.Owner.UserID || report.Activity.To < report.Activity.From {
			t.Errorf("the report is %+v", report)
		}
		first.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
		second.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
		if got := x.MemberWith(t, colleague.UserID).Roles; !slices.Equal(got, []string{"viewer"}) {
			t.Errorf("the colleague has %v", got)
		}
		thief.Get("/v1/auth/me").Fails(401, "UNAUTHORIZED")
		if got := suspended(x); len(got) != 3 || got[0].KeyID != key {
			t.Errorf("listed is %+v", got)
		}
	})
}

// Anyone who came through a key cannot hide what they add behind a key of their own.
func TestWhatCameThroughAKeyOfAGhostIsSuspendedWithTheKeyOfTheGhost(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		helper(x)
		key, thief := stolenKey(t, n, x.Owner)
		first := ghost(t, x, thief, "helper")
		_, program := stolenKey(t, n, first)
		second := ghost(t, x, program, "helper")
		_, program = stolenKey(t, n, second)
		third := ghost(t, x, program, "viewer")
		report(t, n, x.Owner, key)
		for i, who := range []*servertest.Client{first, second, third} {
			if answer := who.Get(x.Path("")); answer.Code() != "RESOURCE_NOT_FOUND" {
				t.Errorf("ghost %d gets %d", i, answer.Status)
			}
		}
	})
}

// A member who was added through a key reports another one, of their own.
func TestTheReportOfALaterKeySuspendsWhatCameThroughIt(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		helper(x)
		_, program := stolenKey(t, n, x.Owner)
		honest := ghost(t, x, program, "helper")
		other := ghost(t, x, n.Person(t, honest), "viewer")
		key, thief := stolenKey(t, n, honest)
		first := ghost(t, x, thief, "helper")
		second := ghost(t, x, n.Person(t, first), "viewer")
		n.Person(t, first).Delete(x.Path("/members/" + first.UserID)).OK()
		report(t, n, honest, key)
		second.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
		honest.Get(x.Path("")).OK()
		other.Get(x.Path("")).OK()
	})
}

func TestARoleThatWasWidenedWithACompromisedKeyIsSuspended(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		x.Define("clerk", "ws.read")
		colleague := x.Member("clerk")
		x.Give(colleague, "viewer")
		key, thief := stolenKey(t, n, x.Owner)
		thief.Put(x.Path("/roles/clerk"), body{"name": "Clerk", "permissions": []string{"ws.read", "ws.members.read", "ws.members.write"}}).OK()
		report(t, n, x.Owner, key)
		if got := x.MemberWith(t, colleague.UserID).Roles; !slices.Equal(got, []string{"viewer"}) {
			t.Errorf("the colleague has %v", got)
		}
	})
}

// Each grant stores the keys through which its giver came. Their number is limited.
func TestAccessComesThroughALimitedNumberOfKeys(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		helper(x)
		_, program := stolenKey(t, n, x.Owner)
		first := ghost(t, x, program, "helper")
		if _, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (any, audit.Event, error) {
			var origin string
			_, err := tx.Row(`SELECT origin_id FROM workspace_member WHERE workspace_id = $1 AND account_id = $2`, x.WorkspaceID, first.UserID).Scan(&origin)
			var keys [][]any
			for i := range 99 {
				keys = append(keys, []any{origin, fmt.Sprint("key_", i)})
			}
			if err == nil {
				err = tx.InsertRows(`INSERT INTO access_origin (id, key_id) VALUES `, `($1, $2)`, keys)
			}
			return nil, audit.None("a test"), err
		}); err != nil {
			t.Fatal(err)
		}
		_, program = stolenKey(t, n, first)
		program.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "viewer"}).Fails(403, "FORBIDDEN")
	})
}

func TestARevokedKeyCanBeReportedAsCompromised(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		key, thief := stolenKey(t, n, x.Owner)
		user := ghost(t, x, thief, "viewer")
		x.Owner.Delete("/v1/api-keys/" + key).OK()
		user.Get(x.Path("")).OK()
		x.Owner.Post("/v1/api-keys/"+key+"/compromised", nil).OK()
		user.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
	})
}

func TestTheSuccessorOfACompromisedKeyIsCompromised(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		key, thief := stolenKey(t, n, x.Owner)
		next := n.Login(t, thief.Post("/v1/api-keys/"+key+"/rotate", nil).OK().Text("api_key"))
		user := ghost(t, x, next, "viewer")
		x.Owner.Post("/v1/api-keys/"+key+"/compromised", nil).OK()
		next.Get("/v1/auth/me").Fails(401, "UNAUTHORIZED")
		user.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
	})
}

// A machine client that was made with the key, or by a member who came through it, loses its access until an admin confirms it.
func TestAMachineClientThatCameThroughACompromisedKeyIsSuspended(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		key, thief := stolenKey(t, n, x.Owner)
		puppet := ghost(t, x, thief, "directory_manager")
		made := func(by, keyID string) string {
			t.Helper()
			id, _, err := n.Identity.CreateClient(t.Context(), db.Caller{Actor: audit.Actor{Type: audit.User, ID: by, KeyID: keyID}}, x.WorkspaceID, "Robot", "viewer")
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		byKey, byPuppet, other := made(x.Owner.UserID, key), made(puppet.UserID, ""), made(x.Owner.UserID, "")
		roles := func(id string) int {
			return n.Count(t, `SELECT count(*) FROM member_role WHERE workspace_id = $1 AND account_id = $2`, x.WorkspaceID, id)
		}
		report(t, n, x.Owner, key)
		if roles(byKey) != 0 || roles(byPuppet) != 0 || roles(other) != 1 {
			t.Errorf("they have %d, %d and %d roles", roles(byKey), roles(byPuppet), roles(other))
		}
		for _, one := range suspended(x) {
			if one.UserID == byPuppet {
				n.Person(t, x.Owner).Post(x.Path("/suspended/"+one.ID+"/confirm"), nil).OK()
			}
		}
		if roles(byKey) != 0 || roles(byPuppet) != 1 {
			t.Errorf("after the confirmation they have %d and %d roles", roles(byKey), roles(byPuppet))
		}
	})
}

func TestTheLastAdminIsNotSuspended(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		key, thief := stolenKey(t, n, x.Owner)
		other := ghost(t, x, thief, "admin")
		n.Person(t, other).Delete(x.Path("/members/" + x.Owner.UserID)).OK()
		report := servertest.Decoded[api.CompromisedKey](x.Owner.Post("/v1/api-keys/"+key+"/compromised", nil))
		if len(report.Suspended) != 1 || !report.Suspended[0].LastAdmin {
			t.Errorf("the report is %+v", report)
		}
		other.Get(x.Path("")).OK()
	})
}

func TestAnAdminConfirmsOrRemovesSuspendedAccess(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		key, thief := stolenKey(t, n, x.Owner)
		honest, crook := ghost(t, x, thief, "directory_manager"), ghost(t, x, thief, "viewer")
		viewer := x.Member("viewer")
		x.Owner.Post("/v1/api-keys/"+key+"/compromised", nil).OK()
		decide := func(c *servertest.Client, user, verb string) *servertest.Answer {
			for _, one := range suspended(x) {
				if one.UserID == user {
					return c.Post(x.Path("/suspended/"+one.ID+"/"+verb), nil)
				}
			}
			t.Fatalf("%s is not suspended", user)
			return nil
		}
		decide(viewer, honest.UserID, "confirm").Fails(403, "FORBIDDEN")
		decide(n.Person(t, x.Owner), honest.UserID, "confirm").OK()
		decide(n.Person(t, x.Owner), crook.UserID, "remove").OK()
		if got := x.MemberWith(t, honest.UserID).Roles; !slices.Equal(got, []string{"directory_manager"}) {
			t.Errorf("who was confirmed has %v", got)
		}
		crook.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
		if left := suspended(x); len(left) != 0 {
			t.Errorf("still waiting is %+v", left)
		}
		for action, id := range map[string]string{"iam.member.reinstated": honest.UserID, "iam.member.removed": crook.UserID} {
			if rows := x.Audit("&action=" + action + "&resource_id=" + id); len(rows) != 1 {
				t.Errorf("%s: %d rows", action, len(rows))
			}
		}
	})
}

func TestStrangersNeitherReportAKeyNorDecideAboutAWorkspace(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, stranger := n.Tenant(t), n.Tenant(t).Owner
		key, thief := stolenKey(t, n, x.Owner)
		ghost(t, x, thief, "viewer")
		stranger.Post("/v1/api-keys/"+key+"/compromised", nil).Fails(404, "RESOURCE_NOT_FOUND")
		x.Owner.Post("/v1/api-keys/"+key+"/compromised", nil).OK()
		id := suspended(x)[0].ID
		stranger.Get(x.Path("/suspended")).Fails(404, "RESOURCE_NOT_FOUND")
		for _, verb := range []string{"confirm", "remove"} {
			n.Person(t, stranger).Post(x.Path("/suspended/"+id+"/"+verb), nil).Fails(404, "RESOURCE_NOT_FOUND")
			other := n.Tenant(t)
			n.Person(t, other.Owner).Post(other.Path("/suspended/"+id+"/"+verb), nil).Fails(404, "RESOURCE_NOT_FOUND")
		}
	})
}

func TestOneMoreRoleThatCameThroughAKeyIsSuspendedAlone(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		x.Define("helper", "ws.read", "ws.members.read", "ws.members.write", "ws.directory.read", "ws.payouts.read", "ws.accounts.read")
		helper := x.Member("helper") // in a session of a key
		helper.Post(x.Path("/roles"), body{"user_id": x.Owner.UserID, "role": "viewer"}).OK()
		key := helper.Get("/v1/api-keys").OK().Column("id")[0]
		report := servertest.Decoded[api.CompromisedKey](helper.Post("/v1/api-keys/"+key+"/compromised", nil))
		if len(report.Suspended) != 1 || report.Suspended[0].Kind != "role" {
			t.Errorf("the report is %+v", report)
		}
		if got := x.MemberWith(t, x.Owner.UserID).Roles; !slices.Equal(got, []string{"admin"}) {
			t.Errorf("the founder has %v", got)
		}
	})
}

func TestConfirmingSuspendedAccessMakesNoApprover(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, _ := n.Pair(t)
		key, thief := stolenKey(t, n, x.Owner)
		puppet := ghost(t, x, thief, "viewer")
		x.Give(puppet, "disbursement_authorizer")
		x.Owner.Post("/v1/api-keys/"+key+"/compromised", nil).OK()
		n.Person(t, maker).Post(x.Path("/suspended/"+suspended(x)[0].ID+"/confirm"), nil).Fails(403, "FORBIDDEN")
		puppet.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
	})
}
