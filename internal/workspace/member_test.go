package workspace_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

func TestAddMember(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		add := func(t *testing.T, x *servertest.Tenant, email, role string) *servertest.Answer {
			t.Helper()
			return x.Owner.On(t).Post(x.Path("/members"), body{"email": email, "role": role})
		}

		t.Run("somebody whom the organization knows joins at once", func(t *testing.T) {
			x := n.Tenant(t)
			user := x.Member("viewer").On(t)
			email := user.Email()
			x.WorkspaceID = x.Owner.Post("/v1/workspaces", body{"name": "Second", "organization_id": x.OrganizationID}).OK().Text("id")
			user.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
			want := body{"workspace_id": x.WorkspaceID, "email": email, "role": "viewer", "user_id": user.UserID}
			if diff := cmp.Diff(want, add(t, x, email, "viewer").OK().Object()); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
			user.Get(x.Path("")).OK()
			listed := api.Member{ID: user.UserID, Name: "User " + email, Email: email, Roles: []string{"viewer"}, Status: "active", EmailProved: new(true)}
			if diff := cmp.Diff(listed, x.MemberWith(t, user.UserID)); diff != "" {
				t.Errorf("want (-), listed (+):\n%s", diff)
			}
		})

		t.Run("an unknown email is invited and listed", func(t *testing.T) {
			x, email := n.Tenant(t), servertest.NewEmail()
			id := add(t, x, email, "member").OK().Text("user_id")
			want := api.Member{ID: id, Email: email, Roles: []string{"member"}, Status: "invited"}
			if diff := cmp.Diff(want, x.MemberWith(t, id)); diff != "" {
				t.Errorf("want (-), listed (+):\n%s", diff)
			}
		})

		t.Run("case does not make another user", func(t *testing.T) {
			x, email := n.Tenant(t), servertest.NewEmail()
			id := add(t, x, strings.ToUpper(email), "viewer").OK().Text("user_id")
			if again := add(t, x, email, "member").OK().Text("user_id"); again != id {
				t.Errorf("the same address is user %s, then %s", id, again)
			}
			if got := x.MemberWith(t, id).Email; got != email {
				t.Errorf("the address is %q, want %q", got, email)
			}
		})

		t.Run("a member gets the role as well", func(t *testing.T) {
			x := n.Tenant(t)
			user := x.Member("viewer")
			email := user.Email()
			added := x.RowsAdded(func() { add(t, x, email, "auditor").OK() })
			if got := x.MemberWith(t, user.UserID).Roles; !slices.Equal(got, []string{"viewer", "auditor"}) {
				t.Errorf("roles are %v", got)
			}
			if newest := x.Audit("")[0]["action"]; added != 1 || newest != "iam.member.role_assigned" {
				t.Errorf("%d rows were added, the newest is %v", added, newest)
			}
		})

		t.Run("a role that is held changes nothing", func(t *testing.T) {
			x := n.Tenant(t)
			user := x.Member("viewer")
			email := user.Email()
			if added := x.RowsAdded(func() { add(t, x, email, "viewer").OK() }); added != 0 {
				t.Errorf("%d audit rows were added", added)
			}
			if got := x.MemberWith(t, user.UserID).Roles; !slices.Equal(got, []string{"viewer"}) {
				t.Errorf("roles are %v", got)
			}
		})

		t.Run("an unknown role is refused and invites nobody", func(t *testing.T) {
			x, y, email := n.Tenant(t), n.Tenant(t), servertest.NewEmail()
			y.Define("elsewhere", "ws.read")
			for _, role := range []string{"owner", "Viewer", "elsewhere"} {
				add(t, x, email, role).Invalid("role")
			}
			if found := n.Count(t, `SELECT count(*) FROM account WHERE email = $1`, email); found != 0 {
				t.Errorf("%d users were invited", found)
			}
		})

		t.Run("an email must be one", func(t *testing.T) {
			x := n.Tenant(t)
			for _, email := range []string{"", "ada", "ada@", "@example.com", "a b@example.com", "Ada <ada@example.com>",
				"ada@example.com, bob@example.com", "ada@example.com\n", strings.Repeat("a", 250) + "@example.com"} {
				add(t, x, email, "viewer").Invalid("email")
			}
		})

		t.Run("it takes ws.members.write", func(t *testing.T) {
			x := n.Tenant(t)
			refused := x.Member("member").Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "viewer"}).Fails(403, "FORBIDDEN")
			if got := refused.Detail("permission"); got != "ws.members.write" {
				t.Errorf("the missing permission is %q", got)
			}
		})
	})
}

func TestMemberList(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)

		t.Run("it has invitations first, then people in the order in which they came to Bursar", func(t *testing.T) {
			early, late := servertest.NewEmail(), servertest.NewEmail()
			first, second := n.User(t, early), n.User(t, late)
			second.Join(x.Add(late, "viewer"))
			first.Join(x.Add(early, "viewer"))
			third, fourth := x.Add(servertest.NewEmail(), "viewer"), x.Add(servertest.NewEmail(), "viewer")
			var got []string
			for _, m := range x.Members(t) {
				got = append(got, m.ID)
			}
			if want := []string{third, fourth, x.Owner.UserID, first.UserID, second.UserID}; !slices.Equal(got, want) {
				t.Errorf("the order is %v, want %v", got, want)
			}
		})

		t.Run("somebody without a role is still listed", func(t *testing.T) {
			user := x.Bystander()
			if got := x.MemberWith(t, user.UserID); got.ID == "" || got.Roles == nil || len(got.Roles) != 0 {
				t.Errorf("listed as %+v", got)
			}
		})

		t.Run("somebody who was disabled is listed as such", func(t *testing.T) {
			user := x.Member("viewer")
			disable(t, n, user.Email())
			if got := x.MemberWith(t, user.UserID).Status; got != "disabled" {
				t.Errorf("the status is %q", got)
			}
		})
	})
}

func disable(t *testing.T, n *servertest.Node, email string) {
	t.Helper()
	if _, err := n.Identity.DisableUser(t.Context(), db.Caller{}, email); err != nil {
		t.Fatal(err)
	}
}

func TestRemoveMember(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		t.Run("who is removed is out at once", func(t *testing.T) {
			x := n.Tenant(t)
			user := x.Member("member")
			user.Get(x.Path("")).OK()
			want := body{"workspace_id": x.WorkspaceID, "user_id": user.UserID}
			if diff := cmp.Diff(want, x.Owner.Delete(x.Path("/members/"+user.UserID)).OK().Object()); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
			user.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
			if got := x.MemberWith(t, user.UserID); got.ID != "" {
				t.Errorf("still listed as %+v", got)
			}
		})

		t.Run("roles do not come back with the member", func(t *testing.T) {
			x := n.Tenant(t)
			user := x.Member("auditor")
			email := user.Email()
			x.Owner.Delete(x.Path("/members/" + user.UserID)).OK()
			user.Join(x.Add(email, "viewer"))
			if got := x.MemberWith(t, user.UserID).Roles; !slices.Equal(got, []string{"viewer"}) {
				t.Errorf("roles are %v", got)
			}
		})

		t.Run("who is not a member cannot be removed", func(t *testing.T) {
			x, y := n.Tenant(t), n.Tenant(t)
			for _, id := range []string{y.Owner.UserID, "usr_nobody"} {
				x.Owner.Delete(x.Path("/members/"+id)).Fails(404, "RESOURCE_NOT_FOUND")
			}
			user := x.Member("viewer")
			x.Owner.Delete(x.Path("/members/" + user.UserID)).OK()
			x.Owner.Delete(x.Path("/members/"+user.UserID)).Fails(404, "RESOURCE_NOT_FOUND")
		})
	})
}

func TestLastAdminStays(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		leave := func(x *servertest.Tenant, c *servertest.Client) *servertest.Answer {
			return c.Delete(x.Path("/members/" + x.Owner.UserID))
		}
		step := func(x *servertest.Tenant, c *servertest.Client) *servertest.Answer {
			return c.Delete(x.Path("/roles/" + x.Owner.UserID + "/admin"))
		}
		for name, act := range map[string]func(*servertest.Tenant, *servertest.Client) *servertest.Answer{
			"on leaving": leave, "on losing the role": step,
		} {
			t.Run(name, func(t *testing.T) {
				x := n.Tenant(t)
				x.Member("directory_manager")
				added := x.RowsAdded(func() { act(x, x.Owner).Fails(422, "LAST_ADMIN") })
				if got := x.MemberWith(t, x.Owner.UserID).Roles; added != 0 || !slices.Equal(got, []string{"admin"}) {
					t.Errorf("roles are %v, and %d audit rows were added", got, added)
				}
			})
			t.Run(name+" unless there is another", func(t *testing.T) {
				x := n.Tenant(t)
				act(x, x.Member("admin")).OK()
			})
			t.Run(name+" even if the only other one is disabled", func(t *testing.T) {
				x := n.Tenant(t)
				disable(t, n, x.Member("admin").Email())
				act(x, x.Owner).Fails(422, "LAST_ADMIN")
			})
		}
	})
}
