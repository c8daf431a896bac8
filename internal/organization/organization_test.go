package organization_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/server/servertest"
)

// organizationRows counts the audit rows of an organization.
func organizationRows(t *testing.T, x *servertest.Tenant) int {
	t.Helper()
	return x.Node.Count(t, `SELECT count(*) FROM audit_log WHERE organization_id = $1`, x.OrganizationID)
}

func TestOrganizationCreation(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		user := n.User(t, servertest.NewEmail())
		create := func(t *testing.T, request body) *servertest.Answer {
			t.Helper()
			return user.On(t).Post("/v1/organizations", request)
		}

		t.Run("the creator is its owner", func(t *testing.T) {
			made := create(t, body{"name": "Lovelace Ltd"}).OK()
			want := body{"id": made.Text("id"), "name": "Lovelace Ltd", "slug": "lovelace-ltd"}
			if diff := cmp.Diff(want, made.Object()); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
			user.On(t).Patch("/v1/organizations/"+made.Text("id")+"/settings", body{"name": "Mine"}).OK()
		})

		t.Run("a derived slug that is taken gets a number", func(t *testing.T) {
			var slugs []string
			for range 3 {
				slugs = append(slugs, create(t, body{"name": "Twin & Co"}).OK().Text("slug"))
			}
			if want := []string{"twin-co", "twin-co-2", "twin-co-3"}; !slices.Equal(slugs, want) {
				t.Errorf("slugs are %v, want %v", slugs, want)
			}
		})

		t.Run("a given slug must be free among all organizations", func(t *testing.T) {
			create(t, body{"name": "First", "slug": "one-of-a-kind"}).OK()
			n.User(t, servertest.NewEmail()).Post("/v1/organizations", body{"name": "Second", "slug": "one-of-a-kind"}).Fails(422, "SLUG_TAKEN")
		})

		t.Run("name and slug must have the form", func(t *testing.T) {
			for _, slug := range servertest.BadSlugs() {
				create(t, body{"name": "Good", "slug": slug}).Invalid("slug")
			}
			for _, name := range servertest.BadNames() {
				create(t, body{"name": name}).Invalid("name")
			}
			create(t, body{"name": strings.Repeat("é", 100)}).OK()
		})
	})
}

func TestOrganizationReads(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		readers := map[string]*servertest.Client{"the owner": x.Owner, "a member": x.Member("viewer"), "a member without a role": x.Bystander()}
		for name, reader := range readers {
			t.Run(name+" sees all of it", func(t *testing.T) {
				want := servertest.Decoded[api.Organization](x.Owner.On(t).Get(x.OrganizationPath("")))
				if got := servertest.Decoded[[]api.Organization](reader.On(t).Get("/v1/organizations")); !slices.Contains(got, want) {
					t.Errorf("the list is %+v, without %+v", got, want)
				}
				for _, path := range []string{"", "/settings"} {
					got := reader.On(t).Get(x.OrganizationPath(path)).OK().Object()
					if diff := cmp.Diff(body{"id": want.ID, "name": want.Name, "slug": want.Slug}, got); diff != "" {
						t.Errorf("%s: want (-), got (+):\n%s", path, diff)
					}
				}
			})
		}

		t.Run("to a stranger it looks like none", func(t *testing.T) {
			stranger := n.User(t, servertest.NewEmail())
			if got := stranger.Get("/v1/organizations").OK().Column("id"); len(got) != 0 {
				t.Errorf("the list is %v", got)
			}
			for _, path := range []string{"", "/settings"} {
				foreign := stranger.Get(x.OrganizationPath(path)).Fails(404, "RESOURCE_NOT_FOUND")
				unknown := stranger.Get("/v1/organizations/org_nowhere"+path).Fails(404, "RESOURCE_NOT_FOUND")
				if string(foreign.Body) != string(unknown.Body) {
					t.Errorf("they can be told apart: %s and %s", foreign.Body, unknown.Body)
				}
			}
		})

		t.Run("the list is oldest first", func(t *testing.T) {
			owner := n.User(t, servertest.NewEmail())
			var want []string
			for range 3 {
				want = append(want, owner.Post("/v1/organizations", body{"name": "Another"}).OK().Text("id"))
			}
			if got := owner.Get("/v1/organizations").OK().Column("id"); !slices.Equal(got, want) {
				t.Errorf("the list is %v, want %v", got, want)
			}
		})
	})
}

func TestOrganizationSettings(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		patch := func(t *testing.T, request body) *servertest.Answer {
			t.Helper()
			return x.Owner.On(t).Patch(x.OrganizationPath("/settings"), request)
		}

		t.Run("what is not given stays", func(t *testing.T) {
			patch(t, body{"name": "Before", "slug": "before"}).OK()
			patch(t, body{"name": "After"}).OK()
			got := servertest.Decoded[api.Organization](patch(t, body{"slug": "after"}))
			want := api.Organization{ID: x.OrganizationID, Name: "After", Slug: "after"}
			if read := servertest.Decoded[api.Organization](x.Owner.On(t).Get(x.OrganizationPath(""))); got != want || read != want {
				t.Errorf("it answered %+v and is %+v, want %+v", got, read, want)
			}
		})

		t.Run("a change leaves a row and no change leaves none", func(t *testing.T) {
			patch(t, body{"name": "Kept", "slug": "kept"}).OK()
			before := organizationRows(t, x)
			patch(t, body{}).OK()
			patch(t, body{"name": "Kept", "slug": "kept"}).OK()
			if added := organizationRows(t, x) - before; added != 0 {
				t.Errorf("%d audit rows were added for nothing", added)
			}
			patch(t, body{"name": "Changed"}).OK()
			newest := x.Owner.On(t).Get("/v1/audit?limit=1&organization_id=" + x.OrganizationID).OK().Column("action")
			if added := organizationRows(t, x) - before; added != 1 || newest[0] != "iam.organization.settings_updated" {
				t.Errorf("%d audit rows were added, the newest is %v", added, newest)
			}
		})

		t.Run("a slug must be free", func(t *testing.T) {
			other := n.Tenant(t)
			taken := other.Owner.Get(other.OrganizationPath("")).OK().Text("slug")
			patch(t, body{"slug": taken}).Fails(422, "SLUG_TAKEN")
		})

		t.Run("name and slug must have the form", func(t *testing.T) {
			for _, slug := range servertest.BadSlugs() {
				patch(t, body{"slug": slug}).Invalid("slug")
			}
			for _, name := range servertest.BadNames() {
				patch(t, body{"name": name}).Invalid("name")
			}
		})

		t.Run("it takes an owner", func(t *testing.T) {
			refused := x.Member("admin").On(t).Patch(x.OrganizationPath("/settings"), body{"name": "Mine"}).Fails(403, "FORBIDDEN")
			if got := refused.Detail("permission"); got != "org.settings.write" {
				t.Errorf("the missing permission is %q", got)
			}
			n.User(t, servertest.NewEmail()).Patch(x.OrganizationPath("/settings"), body{"name": "Mine"}).Fails(404, "RESOURCE_NOT_FOUND")
		})
	})
}

func TestOrganizationMembershipFollowsWorkspaces(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		second := x.Owner.Post("/v1/workspaces", body{"name": "Second", "organization_id": x.OrganizationID}).OK().Text("id")
		email := servertest.NewEmail()
		user := n.User(t, email)
		leave := func(workspaceID string) {
			x.Owner.Delete("/v1/workspaces/" + workspaceID + "/members/" + user.UserID).OK()
		}
		sees := func(when string, want bool) {
			t.Helper()
			listed := slices.Contains(user.Get("/v1/organizations").OK().Column("id"), x.OrganizationID)
			if read := user.Get(x.OrganizationPath("")).Status == 200; listed != want || read != want {
				t.Errorf("%s: listed %v, read %v, want %v", when, listed, read, want)
			}
		}
		sees("in no workspace", false)
		invitation := x.Add(email, "viewer")
		sees("invited", false)
		user.Join(invitation)
		sees("in one", true)
		x.Owner.Post("/v1/workspaces/"+second+"/members", body{"email": email, "role": "viewer"}).OK()
		leave(x.WorkspaceID)
		sees("in another", true)
		leave(second)
		sees("in none any more", false)

		t.Run("an owner stays one without any workspace", func(t *testing.T) {
			x := n.Tenant(t)
			x.Member("admin").Delete(x.Path("/members/" + x.Owner.UserID)).OK()
			x.Owner.Patch(x.OrganizationPath("/settings"), body{"name": "Still mine"}).OK()
			x.Owner.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
		})
	})
}

func TestHowLongTheAuditLogIsKept(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		patch := func(days any) *servertest.Answer {
			return x.Owner.Patch(x.OrganizationPath("/settings"), body{"audit_retention_days": days})
		}
		changes := func() any {
			return x.Owner.Get(x.OrganizationAuditPath()).LastRow("iam.organization.settings_updated")["changes"]
		}
		change := func(before, after any) any {
			return []any{body{"field": "audit_retention_days", "before": before, "after": after}}
		}
		n.Unchanged(t, func() {
			for _, bad := range []any{1, 364} {
				patch(bad).Invalid("audit_retention_days")
			}
			patch(0).OK()
		})
		x.Member("admin").Patch(x.OrganizationPath("/settings"), body{"audit_retention_days": 400}).Fails(403, "FORBIDDEN")
		if got := patch(400).OK().Object()["audit_retention_days"]; got != 400.0 {
			t.Errorf("it is kept for %v days", got)
		}
		if diff := cmp.Diff(change(nil, 400.0), changes()); diff != "" {
			t.Errorf("the log should say (-), but says (+):\n%s", diff)
		}
		x.Owner.Patch(x.OrganizationPath("/settings"), body{"name": "Other"}).OK()
		if got := x.Owner.Get(x.OrganizationPath("/settings")).OK().Object()["audit_retention_days"]; got != 400.0 {
			t.Errorf("after another change it is kept for %v days", got)
		}
		patch(365).OK()
		if diff := cmp.Diff(change(400.0, 365.0), changes()); diff != "" {
			t.Errorf("the log should say (-), but says (+):\n%s", diff)
		}
		if got, there := patch(0).OK().Object()["audit_retention_days"]; there {
			t.Errorf("it is kept for %v days", got)
		}
		if diff := cmp.Diff(change(365.0, nil), changes()); diff != "" {
			t.Errorf("the log should say (-), but says (+):\n%s", diff)
		}
	})
}
