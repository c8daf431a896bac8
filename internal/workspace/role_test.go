package workspace_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/server/servertest"
)

func rolesOf(t *testing.T, x *servertest.Tenant) []api.Role {
	t.Helper()
	return servertest.Decoded[[]api.Role](x.Owner.On(t).Get(x.Path("/roles")))
}

func TestBuiltInRoles(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		got, want := map[string][]string{}, map[string][]string{}
		for _, role := range rolesOf(t, x) {
			got[role.Key] = slices.Sorted(slices.Values(role.Permissions))
			if !role.BuiltIn || role.Name == "" || role.Color == "" {
				t.Errorf("role %+v lacks something", role)
			}
		}
		for key, permissions := range servertest.BuiltInRoles() {
			want[key] = slices.Sorted(slices.Values(permissions))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("decided (-), listed (+):\n%s", diff)
		}
		for key := range servertest.BuiltInRoles() {
			x.Owner.Put(x.Path("/roles/"+key), body{"name": "Mine", "permissions": []string{}}).Invalid("role")
			x.Owner.Delete(x.Path("/roles/" + key)).Invalid("role")
		}
	})
}

func TestRoleAssignment(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		assign := func(t *testing.T, userID, role string) *servertest.Answer {
			t.Helper()
			return x.Owner.On(t).Post(x.Path("/roles"), body{"user_id": userID, "role": role})
		}
		unassign := func(t *testing.T, userID, role string) *servertest.Answer {
			t.Helper()
			return x.Owner.On(t).Delete(x.Path("/roles/" + userID + "/" + role))
		}

		t.Run("it counts from the next request, without a new token", func(t *testing.T) {
			user := x.Member("viewer").On(t)
			create := body{"workspace_id": x.WorkspaceID, "type": "person", "fields": body{}}
			user.Post("/v1/directory", create).Fails(403, "FORBIDDEN")
			want := body{"workspace_id": x.WorkspaceID, "user_id": user.UserID, "role": "member"}
			if diff := cmp.Diff(want, assign(t, user.UserID, "member").OK().Object()); diff != "" {
				t.Errorf("assigned: want (-), got (+):\n%s", diff)
			}
			user.Post("/v1/directory", create).OK()
			if diff := cmp.Diff(want, unassign(t, user.UserID, "member").OK().Object()); diff != "" {
				t.Errorf("unassigned: want (-), got (+):\n%s", diff)
			}
			user.Post("/v1/directory", create).Fails(403, "FORBIDDEN")
		})

		t.Run("it counts in its own workspace alone", func(t *testing.T) {
			y := n.Tenant(t)
			user := x.Member("admin").On(t)
			user.Join(y.Add(user.Email(), "viewer"))
			user.Patch(x.Path(""), body{"name": "Renamed"}).OK()
			user.Patch(y.Path(""), body{"name": "Renamed"}).Fails(403, "FORBIDDEN")
		})

		t.Run("a role that is held changes nothing", func(t *testing.T) {
			user := x.Member("viewer")
			if added := x.RowsAdded(func() { assign(t, user.UserID, "viewer").OK() }); added != 0 {
				t.Errorf("%d audit rows were added", added)
			}
		})

		t.Run("only a member can be given a role", func(t *testing.T) {
			assign(t, n.User(t, servertest.NewEmail()).UserID, "viewer").Fails(404, "RESOURCE_NOT_FOUND")
			assign(t, "usr_nobody", "viewer").Fails(404, "RESOURCE_NOT_FOUND")
		})

		t.Run("only a known role can be given", func(t *testing.T) {
			user := x.Member("viewer")
			assign(t, user.UserID, "emperor").Invalid("role")
		})

		t.Run("only a role that is held can be taken", func(t *testing.T) {
			user := x.Member("viewer")
			for _, missing := range [][2]string{{user.UserID, "member"}, {user.UserID, "emperor"}, {"usr_nobody", "viewer"}} {
				unassign(t, missing[0], missing[1]).Fails(404, "RESOURCE_NOT_FOUND")
			}
		})

		t.Run("the last role leaves a member without any", func(t *testing.T) {
			user := x.Member("viewer").On(t)
			unassign(t, user.UserID, "viewer").OK()
			refused := user.Get(x.Path("")).Fails(403, "FORBIDDEN")
			if got := refused.Detail("permission"); got != "ws.read" {
				t.Errorf("the missing permission is %q", got)
			}
		})
	})
}

func TestDefinedRoles(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		put := func(t *testing.T, key string, request body) *servertest.Answer {
			t.Helper()
			return x.Owner.On(t).Put(x.Path("/roles/"+key), request)
		}

		t.Run("one is listed behind the built-in ones", func(t *testing.T) {
			got := put(t, "cashier", body{"name": "Cashier", "color": "#00FFaa", "permissions": []string{"ws.read", "ws.payouts.read"}}).OK().Object()
			want := body{"id": "cashier", "key": "cashier", "name": "Cashier", "color": "#00FFaa",
				"permissions": []any{"ws.read", "ws.payouts.read"}, "built_in": false}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
			all := rolesOf(t, x)
			last := api.Role{Key: "cashier", Name: "Cashier", Color: "#00FFaa", Permissions: []string{"ws.read", "ws.payouts.read"}}
			if diff := cmp.Diff(last, all[len(all)-1]); diff != "" || len(all) != len(servertest.BuiltInRoles())+1 {
				t.Errorf("%d roles; want last (-), got (+):\n%s", len(all), diff)
			}
		})

		t.Run("it belongs to its workspace alone", func(t *testing.T) {
			x.Define("local", "ws.read")
			y := n.Tenant(t)
			if got := len(rolesOf(t, y)); got != len(servertest.BuiltInRoles()) {
				t.Errorf("another workspace has %d roles", got)
			}
			y.Owner.Delete(y.Path("/roles/local")).Fails(404, "RESOURCE_NOT_FOUND")
		})

		t.Run("a change keeps the color and counts from the next request", func(t *testing.T) {
			put(t, "reader", body{"name": "Reader", "color": "#112233", "permissions": []string{"ws.read"}}).OK()
			user := x.Member("reader").On(t)
			user.Get(x.Path("/members")).Fails(403, "FORBIDDEN")
			changed := servertest.Decoded[api.Role](put(t, "reader", body{"name": "Reader", "permissions": []string{"ws.members.read"}}))
			if changed.Color != "#112233" {
				t.Errorf("the color is %q", changed.Color)
			}
			user.Get(x.Path("/members")).OK()
			user.Get(x.Path("")).Fails(403, "FORBIDDEN")
		})

		t.Run("making, changing and keeping are told apart in the audit log", func(t *testing.T) {
			for _, step := range []struct {
				name string
				rows int
				last string
			}{{"One", 1, "iam.role.created"}, {"One", 0, "iam.role.created"}, {"Two", 1, "iam.role.updated"}} {
				added := x.RowsAdded(func() { put(t, "told", body{"name": step.name, "permissions": []string{}}).OK() })
				if newest := x.Audit("&resource_id=told")[0]["action"]; added != step.rows || newest != step.last {
					t.Errorf("naming it %s added %d rows, the newest is %v", step.name, added, newest)
				}
			}
		})

		t.Run("one that somebody holds cannot be deleted", func(t *testing.T) {
			x.Define("in_use", "ws.read")
			user := x.Member("in_use")
			x.Owner.On(t).Delete(x.Path("/roles/in_use")).Fails(422, "ROLE_IN_USE")
			x.Owner.On(t).Delete(x.Path("/roles/" + user.UserID + "/in_use")).OK()
			want := body{"workspace_id": x.WorkspaceID, "role": "in_use", "deleted": true}
			if diff := cmp.Diff(want, x.Owner.On(t).Delete(x.Path("/roles/in_use")).OK().Object()); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
			x.Owner.On(t).Delete(x.Path("/roles/in_use")).Fails(404, "RESOURCE_NOT_FOUND")
		})

		t.Run("what does not have the form is refused", func(t *testing.T) {
			good := body{"name": "Good", "permissions": []string{"ws.read"}}
			for _, key := range []string{"a", "Upper", "1st", "_x", "dash-ed", strings.Repeat("k", 49), "%C3%A9t%C3%A9"} {
				put(t, key, good).Invalid("role")
			}
			put(t, strings.Repeat("k", 48), good).OK()
			for _, color := range []string{"", "red", "#12345", "#1234567", "#12345g", "112233"} {
				put(t, "formed", body{"name": "Good", "permissions": []string{}, "color": color}).Invalid("color")
			}
			for _, permission := range []string{"", "ws.", "ws.everything", "WS.READ", "org.read", "org.settings.read", "org.settings.write", "*"} {
				put(t, "formed", body{"name": "Good", "permissions": []string{"ws.read", permission}}).Invalid("permissions")
			}
			for _, name := range servertest.BadNames() {
				put(t, "formed", body{"name": name, "permissions": []string{}}).Invalid("name")
			}
		})
	})
}

func TestNoOneGrantsWhatTheyDoNotHold(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		x.Define("people", "ws.members.read", "ws.members.write", "ws.roles.write")
		x.Define("strong", "ws.members.read", "ws.audit.read")
		x.Define("weak", "ws.members.read")
		user, target := x.Member("people"), x.Member("viewer")
		deny := func(t *testing.T, answer *servertest.Answer, permission string) {
			t.Helper()
			if got := answer.Fails(403, "FORBIDDEN").Detail("permission"); got != permission {
				t.Errorf("the missing permission is %q, want %q", got, permission)
			}
		}
		define := func(t *testing.T, key string, permissions ...string) *servertest.Answer {
			return user.On(t).Put(x.Path("/roles/"+key), body{"name": "Mine", "permissions": permissions})
		}

		t.Run("by assigning a role", func(t *testing.T) {
			for role, missing := range map[string]string{"admin": "ws.read", "viewer": "ws.read", "strong": "ws.audit.read"} {
				for _, id := range []string{target.UserID, user.UserID} {
					deny(t, user.On(t).Post(x.Path("/roles"), body{"user_id": id, "role": role}), missing)
				}
			}
			user.On(t).Post(x.Path("/roles"), body{"user_id": target.UserID, "role": "weak"}).OK()
		})

		t.Run("by adding a member", func(t *testing.T) {
			deny(t, user.On(t).Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "strong"}), "ws.audit.read")
			user.On(t).Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "weak"}).OK()
		})

		t.Run("by defining a role", func(t *testing.T) {
			deny(t, define(t, "fresh", "ws.members.read", "ws.directory.read"), "ws.directory.read")
			define(t, "fresh", "ws.members.read", "ws.members.write").OK()
		})

		t.Run("by changing a role that they hold", func(t *testing.T) {
			deny(t, define(t, "people", "ws.members.read", "ws.members.write", "ws.roles.write", "ws.write"), "ws.write")
			user.On(t).Patch(x.Path(""), body{"name": "Mine"}).Fails(403, "FORBIDDEN")
		})
	})
}
