package concurrent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bursar/internal/server/servertest"
)

func TestConcurrentCreationsMakeOne(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		t.Run("tag of one name", func(t *testing.T) {
			x := n.Tenant(t)
			servertest.SideBySide(50, func(i int) *servertest.Answer {
				request, tag := person(x, fmt.Sprintf("Carrier %d", i)), "urgent"
				if i%2 == 1 {
					tag = strings.ToUpper(tag)
				}
				request["tags"] = []string{tag}
				return x.Owner.Post("/v1/directory", request).OK()
			})
			tags := x.Owner.Get("/v1/directory/tags?workspace_id=" + x.WorkspaceID).OK().Column("id")
			if len(tags) != 1 {
				t.Fatalf("tags are %v", tags)
			}
			carriers := x.Owner.Get("/v1/directory?limit=100&workspace_id=" + x.WorkspaceID + "&tag=" + tags[0]).OK().Column("id")
			if len(carriers) != 50 {
				t.Errorf("%d entries carry the tag", len(carriers))
			}
		})

		t.Run("user of one email", func(t *testing.T) {
			x, y, email := n.Tenant(t), n.Tenant(t), servertest.NewEmail()
			ids := servertest.SideBySide(16, func(i int) string {
				tenant := []*servertest.Tenant{x, y}[i%2]
				return tenant.Owner.Post(tenant.Path("/members"), body{"email": email, "role": "viewer"}).OK().Text("user_id")
			})
			if invitations := slices.Compact(slices.Sorted(slices.Values(ids))); len(invitations) != 2 {
				t.Errorf("two workspaces made the invitations %v", invitations)
			}
			if users := n.Count(t, `SELECT count(*) FROM account WHERE email = $1`, email); users != 1 {
				t.Errorf("one email is %d users", users)
			}
			for _, tenant := range []*servertest.Tenant{x, y} {
				if rows := tenant.Audit("&action=iam.member.added"); len(tenant.Members(t)) != 2 || len(rows) != 1 {
					t.Errorf("members are %+v, rows %v", tenant.Members(t), rows)
				}
			}
		})

		t.Run("slug of one kind", func(t *testing.T) {
			x := n.Tenant(t)
			slugs := servertest.SideBySide(8, func(int) string {
				return x.Owner.Post("/v1/workspaces", body{"name": "Same Name", "organization_id": x.OrganizationID}).OK().Text("slug")
			})
			if distinct := slices.Compact(slices.Sorted(slices.Values(slugs))); len(distinct) != 8 {
				t.Errorf("slugs are %v", slugs)
			}
			given := servertest.Statuses(servertest.SideBySide(8, func(int) *servertest.Answer {
				return x.Owner.Post("/v1/organizations", body{"name": "Same", "slug": "same-slug-once"})
			}))
			if given["200"] != 1 || given["422 SLUG_TAKEN"] != 7 {
				t.Errorf("a given slug was answered %v", given)
			}
		})

		t.Run("deletion and one restoration", func(t *testing.T) {
			x := n.Tenant(t)
			entry := x.Entry("Fragile")
			deleted := servertest.Statuses(servertest.SideBySide(8, func(int) *servertest.Answer { return x.Owner.Delete("/v1/directory/" + entry) }))
			if deleted["200"] != 1 || deleted["404 NOT_FOUND"] != 7 {
				t.Errorf("deletions were answered %v", deleted)
			}
			restored := servertest.Statuses(servertest.SideBySide(8, func(int) *servertest.Answer { return x.Owner.Post("/v1/directory/"+entry+"/restore", nil) }))
			if restored["200"] != 8 {
				t.Errorf("restorations were answered %v", restored)
			}
			for _, action := range []string{"deleted", "restored"} {
				if rows := x.Audit("&action=directory.entry." + action); len(rows) != 1 {
					t.Errorf("%d rows say %s", len(rows), action)
				}
			}
		})

		t.Run("end of a role that is about to be held", func(t *testing.T) {
			x := n.Tenant(t)
			user := x.Member("viewer")
			for range 10 {
				x.Define("fleeting", "ws.read")
				answers := servertest.SideBySide(2, func(i int) *servertest.Answer {
					if i == 0 {
						return x.Owner.Delete(x.Path("/roles/fleeting"))
					}
					return x.Owner.Post(x.Path("/roles"), body{"user_id": user.UserID, "role": "fleeting"})
				})
				if got := servertest.Statuses(answers); got["200"] != 1 || got["422 ROLE_IN_USE"]+got["400 VALIDATION_ERROR"] != 1 {
					t.Errorf("answered %v", got)
				}
				if answers[1].Status == 200 {
					x.Owner.Delete(x.Path("/roles/" + user.UserID + "/fleeting")).OK()
				}
			}
		})
	})
}
