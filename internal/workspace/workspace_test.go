package workspace_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/server/servertest"
)

func TestWorkspaceCreation(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		create := func(t *testing.T, more body) *servertest.Answer {
			request := body{"organization_id": x.OrganizationID, "name": "Made"}
			for key, value := range more {
				request[key] = value
			}
			return x.Owner.On(t).Post("/v1/workspaces", request)
		}

		t.Run("the creator is the first admin", func(t *testing.T) {
			made := servertest.Decoded[api.Workspace](create(t, body{"name": "Night Shift"}))
			want := api.Workspace{ID: made.ID, Name: "Night Shift", Slug: "night-shift", OrganizationID: x.OrganizationID}
			if made != want {
				t.Errorf("made %+v, want %+v", made, want)
			}
			members := servertest.Decoded[[]api.Member](x.Owner.On(t).Get("/v1/workspaces/" + made.ID + "/members"))
			if len(members) != 1 || members[0].ID != x.Owner.UserID || !slices.Equal(members[0].Roles, []string{"admin"}) {
				t.Errorf("members are %+v, want the creator as admin", members)
			}
		})

		t.Run("a derived slug that is taken gets a number", func(t *testing.T) {
			var slugs []string
			for range 3 {
				slugs = append(slugs, create(t, body{"name": "Petty Cash"}).OK().Text("slug"))
			}
			if want := []string{"petty-cash", "petty-cash-2", "petty-cash-3"}; !slices.Equal(slugs, want) {
				t.Errorf("slugs are %v, want %v", slugs, want)
			}
		})

		t.Run("a derived slug keeps the form", func(t *testing.T) {
			form := regexp.MustCompile(`^[a-z0-9-]{2,48}$`)
			long := strings.Repeat("word ", 20)
			for _, name := range []string{long, long, "給与", "x", "!!", "Ünïcode Straße", "UPPER 1"} {
				if got := create(t, body{"name": name}).OK().Text("slug"); !form.MatchString(got) {
					t.Errorf("the slug of %q is %q", name, got)
				}
			}
		})

		t.Run("a given slug must be free", func(t *testing.T) {
			create(t, body{"slug": "taken"}).OK()
			create(t, body{"slug": "taken"}).Fails(422, "SLUG_TAKEN")
		})

		t.Run("a slug is taken in its own organization only", func(t *testing.T) {
			create(t, body{"slug": "ours-alone"}).OK()
			other := n.Tenant(t)
			got := other.Owner.Post("/v1/workspaces", body{"organization_id": other.OrganizationID, "name": "Made", "slug": "ours-alone"})
			if got.OK().Text("slug") != "ours-alone" {
				t.Errorf("got %s", got.Body)
			}
		})

		t.Run("a given slug must have the form", func(t *testing.T) {
			for _, slug := range servertest.BadSlugs() {
				create(t, body{"slug": slug}).Invalid("slug")
			}
			for _, slug := range []string{"ab", strings.Repeat("z", 48), "0-9"} {
				create(t, body{"slug": slug}).OK()
			}
		})

		t.Run("a name must have the form", func(t *testing.T) {
			for _, name := range servertest.BadNames() {
				create(t, body{"name": name}).Invalid("name")
			}
			create(t, body{"name": strings.Repeat("é", 100)}).OK()
		})

		t.Run("it takes an owner", func(t *testing.T) {
			member := x.Member("admin").On(t)
			refused := member.Post("/v1/workspaces", body{"organization_id": x.OrganizationID, "name": "Mine"}).Fails(403, "FORBIDDEN")
			if got := refused.Detail("permission"); got != "org.settings.write" {
				t.Errorf("the missing permission is %q", got)
			}
		})

		t.Run("an organization of others looks like none", func(t *testing.T) {
			stranger := n.User(t, servertest.NewEmail())
			foreign := stranger.Post("/v1/workspaces", body{"organization_id": x.OrganizationID, "name": "Mine"}).Fails(404, "RESOURCE_NOT_FOUND")
			unknown := stranger.Post("/v1/workspaces", body{"organization_id": "org_nowhere", "name": "Mine"}).Fails(404, "RESOURCE_NOT_FOUND")
			if string(foreign.Body) != string(unknown.Body) {
				t.Errorf("they can be told apart: %s and %s", foreign.Body, unknown.Body)
			}
		})
	})
}

func TestWorkspaceReads(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)

		t.Run("the list is one's own, oldest first", func(t *testing.T) {
			owner, other := x.Owner.On(t), n.Tenant(t)
			second := owner.Post("/v1/workspaces", body{"name": "Second", "organization_id": x.OrganizationID}).OK().Text("id")
			owner.Join(other.Add(owner.Email(), "viewer"))
			want := []string{x.WorkspaceID, other.WorkspaceID, second}
			slices.Sort(want)
			if got := owner.Get("/v1/workspaces").OK().Column("id"); !slices.Equal(got, want) {
				t.Errorf("the list is %v, want %v", got, want)
			}
		})

		t.Run("somebody without a workspace has an empty list", func(t *testing.T) {
			if got := n.User(t, servertest.NewEmail()).Get("/v1/workspaces").OK(); string(got.Body) != `{"ok":true,"data":[]}` {
				t.Errorf("got %s", got.Body)
			}
		})

		t.Run("one has all four fields", func(t *testing.T) {
			want := body{"id": x.WorkspaceID, "name": "Payroll", "slug": "payroll", "organization_id": x.OrganizationID}
			if diff := cmp.Diff(want, x.Owner.On(t).Get(x.Path("")).OK().Object()); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})

		t.Run("one of others looks like none", func(t *testing.T) {
			stranger := n.User(t, servertest.NewEmail())
			foreign := stranger.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
			unknown := stranger.Get("/v1/workspaces/ws_nowhere").Fails(404, "RESOURCE_NOT_FOUND")
			if string(foreign.Body) != string(unknown.Body) {
				t.Errorf("they can be told apart: %s and %s", foreign.Body, unknown.Body)
			}
		})
	})
}

func TestWorkspaceUpdate(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		patch := func(t *testing.T, request body) *servertest.Answer { return x.Owner.On(t).Patch(x.Path(""), request) }

		t.Run("what is not given stays", func(t *testing.T) {
			patch(t, body{"name": "Before", "slug": "before"}).OK()
			patch(t, body{"name": "After"}).OK()
			patch(t, body{"slug": "after"}).OK()
			want := api.Workspace{ID: x.WorkspaceID, Name: "After", Slug: "after", OrganizationID: x.OrganizationID}
			if got := servertest.Decoded[api.Workspace](x.Owner.On(t).Get(x.Path(""))); got != want {
				t.Errorf("it is %+v, want %+v", got, want)
			}
		})

		t.Run("the answer is the updated workspace", func(t *testing.T) {
			answer := patch(t, body{"name": "Renamed", "slug": "renamed"}).OK()
			if got := x.Owner.On(t).Get(x.Path("")).OK(); string(got.Body) != string(answer.Body) {
				t.Errorf("it answered %s, and it is %s", answer.Body, got.Body)
			}
		})

		t.Run("a change that changes nothing leaves no audit row", func(t *testing.T) {
			patch(t, body{"name": "Same", "slug": "same"}).OK()
			added := x.RowsAdded(func() {
				patch(t, body{}).OK()
				patch(t, body{"name": "Same", "slug": "same"}).OK()
			})
			if added != 0 {
				t.Errorf("%d audit rows were added", added)
			}
		})

		t.Run("a slug must be free in the organization", func(t *testing.T) {
			x.Owner.On(t).Post("/v1/workspaces", body{"name": "Other", "slug": "other", "organization_id": x.OrganizationID}).OK()
			patch(t, body{"slug": "other"}).Fails(422, "SLUG_TAKEN")
			patch(t, body{"slug": "payroll-of-others"}).OK()
			y := n.Tenant(t)
			y.Owner.Patch(y.Path(""), body{"slug": "payroll-of-others"}).OK()
		})

		t.Run("name and slug must have the form", func(t *testing.T) {
			for _, slug := range servertest.BadSlugs() {
				patch(t, body{"slug": slug}).Invalid("slug")
			}
			for _, name := range servertest.BadNames() {
				patch(t, body{"name": name}).Invalid("name")
			}
		})

		t.Run("it takes ws.write", func(t *testing.T) {
			refused := x.Member("directory_manager").On(t).Patch(x.Path(""), body{"name": "Mine"}).Fails(403, "FORBIDDEN")
			if got := refused.Detail("permission"); got != "ws.write" {
				t.Errorf("the missing permission is %q", got)
			}
		})
	})
}
