package workspace_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

func accept(c *servertest.Client, id string) *servertest.Answer {
	return c.Post("/v1/invitations/"+id+"/accept", nil)
}

func decline(c *servertest.Client, id string) *servertest.Answer {
	return c.Post("/v1/invitations/"+id+"/decline", nil)
}

func TestNoOneIsInAWorkspaceWithoutAgreeing(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, alice := n.Tenant(t), n.User(t, servertest.NewEmail())
		home := n.Tenant(t)
		alice.Join(home.Add(alice.Email(), "viewer"))
		x.Define("clerk", "ws.read")
		id := x.Add(alice.Email(), "clerk")
		outside := func() {
			t.Helper()
			alice.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
			if got := alice.Get("/v1/workspaces").OK().Column("id"); !slices.Equal(got, []string{home.WorkspaceID}) {
				t.Errorf("is in %v", got)
			}
			if got := alice.Get("/v1/organizations").OK().Column("id"); !slices.Equal(got, []string{home.OrganizationID}) {
				t.Errorf("belongs to %v", got)
			}
		}
		outside()
		listed := servertest.Decoded[[]api.Invitation](alice.Get("/v1/invitations"))
		want := []api.Invitation{{ID: id, WorkspaceID: x.WorkspaceID, WorkspaceName: "Payroll", OrganizationID: x.OrganizationID, OrganizationName: "Tenant",
			Roles:     []api.Role{{Key: "clerk", Name: "Role clerk", Color: "#475467", Permissions: []string{"ws.read"}}},
			InvitedBy: "User " + x.Owner.Email(), CreatedAt: listed[0].CreatedAt, ExpiresAt: listed[0].CreatedAt + (7 * 24 * time.Hour).Milliseconds()}}
		if diff := cmp.Diff(want, listed); diff != "" {
			t.Errorf("want (-), listed (+):\n%s", diff)
		}
		x.Owner.Post(x.Path("/members"), body{"email": alice.Email(), "role": "viewer"}).OK() // one more role is no agreement
		outside()
		if diff := cmp.Diff(body{"id": id, "workspace_id": x.WorkspaceID, "status": "accepted"}, accept(alice, id).OK().Object()); diff != "" {
			t.Errorf("want (-), got (+):\n%s", diff)
		}
		alice.Get(x.Path("")).OK()
		if got := alice.Get("/v1/invitations").OK().List(); len(got) != 0 {
			t.Errorf("still listed are %v", got)
		}
		member := api.Member{ID: alice.UserID, Name: "User " + alice.Email(), Email: alice.Email(), Roles: []string{"viewer", "clerk"}, Status: "active", EmailProved: new(true)}
		if diff := cmp.Diff(member, x.MemberWith(t, alice.UserID)); diff != "" {
			t.Errorf("want (-), listed (+):\n%s", diff)
		}
	})
}

// An inviter must not find out whether an address belongs to a user: neither from the
// answer, nor from the list of members, nor from the audit log.
func TestAnInvitationDoesNotRevealWhetherAnAddressHasAUser(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		known, disabled, unknown := servertest.NewEmail(), servertest.NewEmail(), servertest.NewEmail()
		user := n.User(t, known)
		n.User(t, disabled)
		disable(t, n, disabled)
		var answers, rows []string
		for _, email := range []string{known, disabled, unknown} {
			added := x.Owner.Post(x.Path("/members"), body{"email": email, "role": "viewer"}).OK()
			id, link := added.Text("user_id"), added.Text("invitation_url")
			plain := strings.NewReplacer(email, "EMAIL", id, "ID", link, "LINK")
			answers = append(answers, plain.Replace(string(added.Body)))
			row := x.Audit("")[0]
			for _, own := range []string{"id", "timestamp", "request_id"} {
				delete(row, own)
			}
			member := x.MemberWith(t, id)
			rows = append(rows, plain.Replace(cmp.Diff(body{}, row)+cmp.Diff(api.Member{}, member)))
			if member.Status != "invited" || member.Name != "" || !strings.HasPrefix(id, "inv_") {
				t.Errorf("listed as %+v", member)
			}
			x.Owner.Delete(x.Path("/members/"+user.UserID)).Fails(404, "RESOURCE_NOT_FOUND") // nor by trying whose id it is
		}
		for i := range answers {
			if answers[i] != answers[0] || rows[i] != rows[0] {
				t.Errorf("they can be told apart: %s %s and %s %s", answers[i], rows[i], answers[0], rows[0])
			}
		}
	})
}

func TestTheInvitationNamesTheMemberBeforeAndAfter(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, other := n.Tenant(t), n.Tenant(t)
		user := n.User(t, servertest.NewEmail())
		id := x.Add(user.Email(), "viewer")
		change := func(shown string) {
			t.Helper()
			given := x.Owner.Post(x.Path("/roles"), body{"user_id": id, "role": "auditor"}).OK()
			taken := x.Owner.Delete(x.Path("/roles/" + id + "/auditor")).OK()
			if given.Text("user_id") != shown || taken.Text("user_id") != shown {
				t.Errorf("answered %s and %s", given.Body, taken.Body)
			}
			row := x.Audit("")[0]
			if row["action"] != "iam.member.role_removed" || row["resource_id"] != shown {
				t.Errorf("the row is %v", row)
			}
			other.Owner.Post(other.Path("/roles"), body{"user_id": id, "role": "auditor"}).Fails(404, "RESOURCE_NOT_FOUND")
			other.Owner.Delete(other.Path("/members/"+id)).Fails(404, "RESOURCE_NOT_FOUND")
		}
		change(id)
		accept(user, id).OK()
		change(user.UserID)
		if got := x.Owner.Delete(x.Path("/members/" + id)).OK().Text("user_id"); got != user.UserID {
			t.Errorf("removed %s", got)
		}
		user.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
		x.Owner.Delete(x.Path("/members/"+id)).Fails(404, "RESOURCE_NOT_FOUND")
	})
}

func TestAnInvitationIsAnsweredOnce(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		invited := func(t *testing.T) (*servertest.Tenant, *servertest.Client, string) {
			x, user := n.Tenant(t), n.User(t, servertest.NewEmail())
			return x, user, x.Add(user.Email(), "viewer")
		}
		over := func(t *testing.T, x *servertest.Tenant, user *servertest.Client, id string) {
			t.Helper()
			accept(user, id).Fails(404, "RESOURCE_NOT_FOUND")
			decline(user, id).Fails(404, "RESOURCE_NOT_FOUND")
			user.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
			if got := user.Get("/v1/invitations").OK().List(); len(got) != 0 {
				t.Errorf("listed are %v", got)
			}
		}
		t.Run("declined, it is over", func(t *testing.T) {
			x, user, id := invited(t)
			if got := decline(user, id).OK().Text("status"); got != "declined" {
				t.Errorf("answered %q", got)
			}
			over(t, x, user, id)
			row := x.Audit("")[0]
			if row["action"] != "iam.member.declined" || row["actor_email"] != user.Email() || row["resource_id"] != id || row["actor_id"] != id || row["actor_name"] != "" || row["ip"] != "" {
				t.Errorf("the workspace learns %v", row)
			}
			user.Join(x.Add(user.Email(), "viewer")) // and can be made anew
			user.Get(x.Path("")).OK()
		})
		t.Run("withdrawn, it is over", func(t *testing.T) {
			x, user, id := invited(t)
			x.Owner.Delete(x.Path("/members/" + id)).OK()
			over(t, x, user, id)
		})
		t.Run("expired, it is over", func(t *testing.T) {
			x, user, id := invited(t)
			later := func(c *servertest.Client) func() *servertest.Client {
				key := c.Post("/v1/api-keys", body{"name": "later"}).OK().Text("api_key")
				return func() *servertest.Client { return n.Login(t, key) }
			}
			them, owner := later(user), later(x.Owner)
			n.Clock.Advance(7 * 24 * time.Hour)
			x.Owner = owner()
			over(t, x, them(), id)
			if got := x.MemberWith(t, id).Status; got != "invited" {
				t.Errorf("listed as %q", got)
			}
		})
		t.Run("accepted, it cannot be declined", func(t *testing.T) {
			x, user, id := invited(t)
			accept(user, id).OK()
			accept(user, id).Fails(404, "RESOURCE_NOT_FOUND")
			decline(user, id).Fails(404, "RESOURCE_NOT_FOUND")
			user.Get(x.Path("")).OK()
		})
		t.Run("side by side, one answer counts", func(t *testing.T) {
			x, user, id := invited(t)
			answers := servertest.SideBySide(8, func(i int) *servertest.Answer {
				if i%2 == 0 {
					return accept(user, id)
				}
				return decline(user, id)
			})
			good := 0
			for _, a := range answers {
				if a.Status == http.StatusOK {
					good++
				}
			}
			rows := len(x.Audit("&action=iam.member.accepted")) + len(x.Audit("&action=iam.member.declined"))
			if good != 1 || rows != 1 {
				t.Errorf("%d answers counted, %d rows say so", good, rows)
			}
		})
		t.Run("nobody else answers it", func(t *testing.T) {
			x, user, id := invited(t)
			for _, c := range []*servertest.Client{x.Owner, n.User(t, servertest.NewEmail()), n.Tenant(t).Owner} {
				foreign, unknown := accept(c, id).Fails(404, "RESOURCE_NOT_FOUND"), accept(c, "inv_nowhere").Fails(404, "RESOURCE_NOT_FOUND")
				if string(foreign.Body) != string(unknown.Body) {
					t.Errorf("they can be told apart: %s and %s", foreign.Body, unknown.Body)
				}
				decline(c, id).Fails(404, "RESOURCE_NOT_FOUND")
			}
			accept(user, id).OK()
		})
		t.Run("a role that was taken meanwhile is not given", func(t *testing.T) {
			x, user, id := invited(t)
			x.Owner.Post(x.Path("/roles"), body{"user_id": id, "role": "admin"}).OK()
			x.Owner.Delete(x.Path("/roles/" + id + "/admin")).OK()
			x.Owner.Delete(x.Path("/roles/" + id + "/viewer")).OK()
			accept(user, id).OK()
			user.Get(x.Path("")).Fails(403, "FORBIDDEN")
		})
	})
}

func TestEverybodyCanLeave(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		for name, who := range map[string]*servertest.Client{"a viewer": x.Member("viewer"), "somebody without a role": x.Bystander()} {
			t.Run(name, func(t *testing.T) {
				who := who.On(t)
				if diff := cmp.Diff(body{"workspace_id": x.WorkspaceID, "user_id": who.UserID}, who.Delete(x.Path("/members/"+who.UserID)).OK().Object()); diff != "" {
					t.Errorf("want (-), got (+):\n%s", diff)
				}
				who.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
				if row := x.Audit("")[0]; row["action"] != "iam.member.removed" || row["actor_id"] != who.UserID || row["resource_id"] != who.UserID {
					t.Errorf("the row is %v", row)
				}
				who.Delete(x.Path("/members/"+who.UserID)).Fails(404, "RESOURCE_NOT_FOUND")
			})
		}
		t.Run("but nobody else is removed by that", func(t *testing.T) {
			x.Member("viewer").On(t).Delete(x.Path("/members/"+x.Member("viewer").UserID)).Fails(403, "FORBIDDEN")
		})
		t.Run("and the last admin stays", func(t *testing.T) {
			x.Owner.On(t).Delete(x.Path("/members/"+x.Owner.UserID)).Fails(422, "LAST_ADMIN")
		})
		t.Run("and a program is revoked, not left", func(t *testing.T) {
			id, secret, err := n.Identity.CreateClient(t.Context(), db.Caller{}, x.WorkspaceID, "Robot", "admin")
			if err != nil {
				t.Fatal(err)
			}
			robot := n.Holder(t, n.Exchange(t, servertest.Basic(id, secret)).OK().Text("token"))
			robot.Delete(x.Path("/members/"+id)).Fails(403, "FORBIDDEN")
		})
	})
}
