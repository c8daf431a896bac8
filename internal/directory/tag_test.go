package directory_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// newTag makes a tag in the first workspace and returns its id.
func newTag(c *servertest.Client, name, appliesTo string) string {
	return c.Post("/v1/directory/tags", servertest.Body{"workspace_id": c.Node.First.WorkspaceID, "name": name, "applies_to": appliesTo}).OK().Text("id")
}

func tagsOf(c *servertest.Client, entry string) []any {
	return c.Get("/v1/directory/" + entry).OK().Object()["tags"].([]any)
}

func tagList(c *servertest.Client) []servertest.Body {
	return c.Get("/v1/directory/tags?workspace_id=" + c.Node.First.WorkspaceID).OK().List()
}

func TestTagLivesFromCreationToDeletion(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		made := admin.Post("/v1/directory/tags", servertest.Body{"workspace_id": n.First.WorkspaceID, "name": "  Vip é "}).OK().Object()
		id := made["id"].(string)
		expect := func(name, appliesTo string) {
			t.Helper()
			want := []servertest.Body{{"id": id, "name": name, "applies_to": appliesTo}}
			if diff := cmp.Diff(want, tagList(admin)); diff != "" {
				t.Errorf("the tags:\n%s", diff)
			}
		}
		expect("Vip é", "all")
		entry := admin.Entry(servertest.Body{"tags": []string{id, "VIP É"}})
		if diff := cmp.Diff([]any{"Vip é"}, tagsOf(admin, entry)); diff != "" {
			t.Errorf("tagged by id and by name:\n%s", diff)
		}
		renamed := admin.Patch("/v1/directory/tags/"+id, servertest.Body{"name": "Staff", "applies_to": "person"}).OK().Object()
		if diff := cmp.Diff(servertest.Body{"id": id, "name": "Staff", "applies_to": "person"}, renamed); diff != "" {
			t.Errorf("the answer to PATCH:\n%s", diff)
		}
		expect("Staff", "person")
		if diff := cmp.Diff([]any{"Staff"}, tagsOf(admin, entry)); diff != "" {
			t.Errorf("after the tag was renamed:\n%s", diff)
		}
		if got := admin.Entries("tag", "staff").OK().Column("id"); !slices.Equal(got, []string{entry}) {
			t.Errorf("the new name lists %v", got)
		}
		if diff := cmp.Diff(servertest.Body{"id": id, "deleted": true}, admin.Delete("/v1/directory/tags/"+id).OK().Object()); diff != "" {
			t.Errorf("the answer to DELETE:\n%s", diff)
		}
		if got := tagList(admin); len(got) > 0 {
			t.Errorf("tags after deletion: %v", got)
		}
		if got := tagsOf(admin, entry); len(got) > 0 {
			t.Errorf("the entry still carries %v", got)
		}
		for _, verb := range []string{http.MethodPatch, http.MethodDelete} {
			admin.Do(verb, "/v1/directory/tags/"+id, nil).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
		}
		want := []string{"directory.tag.created", "directory.tag.updated", "directory.tag.deleted"}
		if got := n.Audited(t, id); !slices.Equal(got, want) {
			t.Errorf("the audit log says %v, want %v", got, want)
		}
	})
}

func TestTagThatBreaksRulesIsRefusedWithAllOfThem(t *testing.T) {
	t.Parallel()
	lookalike := "tag_" + strings.Repeat("x", 26)
	cases := map[string]struct {
		body  any
		wrong []string
	}{
		"nothing is sent":       {nil, []string{"workspace_id", "name"}},
		"every value is wrong":  {`{"workspace_id":"","name":"  ","applies_to":"starship"}`, []string{"workspace_id", "name", "applies_to"}},
		"control characters":    {servertest.Body{"workspace_id": "w", "name": "a\u0000b"}, []string{"name"}},
		"a name like an id":     {servertest.Body{"workspace_id": "w", "name": lookalike}, []string{"name"}},
		"a name with line feed": {servertest.Body{"workspace_id": "w", "name": "a\nb"}, []string{"name"}},
	}
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		id := newTag(admin, "vip", "all")
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				admin := admin.On(t)
				n.Unchanged(t, func() {
					admin.Post("/v1/directory/tags", c.body).Invalid(c.wrong...)
					change, ok := c.body.(servertest.Body)
					if !ok {
						return
					}
					change = servertest.Body{"name": change["name"]}
					if slices.Contains(c.wrong, "applies_to") {
						change["applies_to"] = c.body.(servertest.Body)["applies_to"]
					}
					admin.Patch("/v1/directory/tags/"+id, change).Invalid(c.wrong...)
				})
			})
		}
		t.Run("a change of nothing", func(t *testing.T) {
			n.Unchanged(t, func() {
				admin.On(t).Patch("/v1/directory/tags/"+id, nil).OK()
				admin.On(t).Patch("/v1/directory/tags/"+id, servertest.Body{"name": "vip", "applies_to": "all"}).OK()
			})
		})
		t.Run("64 characters fit", func(t *testing.T) { newTag(admin.On(t), strings.Repeat("é", 64), "organization") })
	})
}

func TestTagNamesAreUniqueWhateverTheirCase(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		vip, staff := newTag(admin, "Vip", "all"), newTag(admin, "Łódź", "all")
		n.Unchanged(t, func() {
			for _, name := range []string{"Vip", "vip", "VIP", " vip ", "łódź", "ŁÓDŹ"} {
				admin.Post("/v1/directory/tags", servertest.Body{"workspace_id": n.First.WorkspaceID, "name": name}).Fails(http.StatusUnprocessableEntity, "TAG_EXISTS")
			}
			admin.Patch("/v1/directory/tags/"+staff, servertest.Body{"name": "vIP"}).Fails(http.StatusUnprocessableEntity, "TAG_EXISTS")
		})
		admin.Patch("/v1/directory/tags/"+vip, servertest.Body{"name": "VIP"}).OK()
		entry := admin.Entry(servertest.Body{"tags": []string{"vip", "Vip", vip, "łÓDŹ", "New", "new"}})
		if diff := cmp.Diff([]any{"New", "VIP", "Łódź"}, tagsOf(admin, entry)); diff != "" {
			t.Errorf("the entry's tags:\n%s", diff)
		}
		// Another workspace has names of its own.
		other := n.Tenant(t)
		other.Owner.Post("/v1/directory/tags", servertest.Body{"workspace_id": other.WorkspaceID, "name": "vip"}).OK()
	})
}

func TestUnknownTagNameMakesTheTag(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		member := n.Member(t, "member@example.com", "directory_manager")
		id := member.Entry(servertest.Body{"tags": []string{" Fresh ", "fresh"}})
		member.Patch("/v1/directory/"+id, servertest.Body{"tags": []string{"FRESH", "Later"}}).OK()
		var got []string
		for _, tag := range tagList(member) {
			got = append(got, fmt.Sprint(tag["name"], "/", tag["applies_to"]))
		}
		if diff := cmp.Diff([]string{"Fresh/all", "Later/all"}, got); diff != "" {
			t.Errorf("the tags:\n%s", diff)
		}
		if diff := cmp.Diff([]any{"Fresh", "Later"}, tagsOf(member, id)); diff != "" {
			t.Errorf("the entry's tags:\n%s", diff)
		}
		member.Patch("/v1/directory/"+id, servertest.Body{"tags": []string{"later"}}).OK()
		if diff := cmp.Diff([]any{"Later"}, tagsOf(member, id)); diff != "" {
			t.Errorf("tags are replaced:\n%s", diff)
		}
		member.Patch("/v1/directory/"+id, servertest.Body{"tags": []string{}}).OK()
		if got := tagsOf(member, id); len(got) > 0 {
			t.Errorf("tags after [] are %v", got)
		}
		n.Unchanged(t, func() { // an id is never a name, and a refused entry makes no tags
			member.Post("/v1/directory", servertest.Body{"workspace_id": n.First.WorkspaceID, "type": "person", "fields": servertest.Body{},
				"tags": []string{"brand new", "tag_00000000000000000000000000"}}).Invalid("tags")
		})
	})
}

func TestTagAppliesToTheTypesItIsFor(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		anyone, person := newTag(admin, "anyone", "all"), newTag(admin, "people", "person")
		newTag(admin, "firms", "organization")
		human := admin.Entry(servertest.Body{"tags": []string{"anyone", "people"}})
		firm := admin.Entry(servertest.Body{"type": "organization", "tags": []string{"anyone", "firms"}})
		n.Unchanged(t, func() {
			for _, tag := range []string{"people", person} {
				admin.Post("/v1/directory", servertest.Body{"workspace_id": n.First.WorkspaceID, "type": "organization", "fields": servertest.Body{},
					"tags": []string{"brand new", tag}}).Invalid("tags")
				admin.Patch("/v1/directory/"+firm, servertest.Body{"status": "inactive", "tags": []string{tag}}).Invalid("tags")
			}
			admin.Patch("/v1/directory/"+human, servertest.Body{"tags": []string{"firms"}}).Invalid("tags")
			for _, narrow := range []string{"person", "organization"} {
				admin.Patch("/v1/directory/tags/"+anyone, servertest.Body{"applies_to": narrow}).Fails(http.StatusUnprocessableEntity, "TAG_IN_USE")
			}
			admin.Patch("/v1/directory/tags/"+person, servertest.Body{"applies_to": "organization", "name": "x"}).Fails(http.StatusUnprocessableEntity, "TAG_IN_USE")
		})
		admin.Patch("/v1/directory/tags/"+person, servertest.Body{"applies_to": "all"}).OK()
		admin.Patch("/v1/directory/"+firm, servertest.Body{"tags": []string{"people"}}).OK()
		admin.Patch("/v1/directory/"+firm, servertest.Body{"tags": []string{}}).OK()
		admin.Patch("/v1/directory/tags/"+anyone, servertest.Body{"applies_to": "person"}).OK()
		// An entry that can be restored still counts.
		admin.Delete("/v1/directory/" + human).OK()
		admin.Patch("/v1/directory/tags/"+anyone, servertest.Body{"applies_to": "organization"}).Fails(http.StatusUnprocessableEntity, "TAG_IN_USE")
	})
}
