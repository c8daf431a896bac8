package directory_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestTagOfAnotherTenantIsNotFound(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		other := n.Tenant(t)
		foreign := other.Owner.Post("/v1/directory/tags", servertest.Body{"workspace_id": other.WorkspaceID, "name": "secret"}).OK().Text("id")
		other.Owner.Post("/v1/directory", servertest.Body{"workspace_id": other.WorkspaceID, "type": "person", "fields": servertest.Body{}, "tags": []string{foreign}}).OK()
		entry := admin.Entry(nil)
		n.Unchanged(t, func() {
			for _, id := range []string{foreign, "tag_00000000000000000000000000", "secret", entry} {
				admin.Patch("/v1/directory/tags/"+id, servertest.Body{"name": "mine"}).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
				admin.Delete("/v1/directory/tags/"+id).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
			}
			admin.Patch("/v1/directory/"+entry, servertest.Body{"tags": []string{foreign}}).Invalid("tags")
		})
		if got := tagList(admin); len(got) > 0 {
			t.Errorf("tags of somebody else are listed: %v", got)
		}
		if got := admin.Entries("tag", foreign).OK().Column("id"); len(got) > 0 {
			t.Errorf("somebody else's tag lists %v", got)
		}
	})
}

func TestTagsAreAPathOfTheirOwn(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	admin := n.Admin(t)
	id := newTag(admin, "vip", "all")
	for _, verb := range []string{http.MethodPatch, http.MethodDelete, http.MethodPut} {
		answer := admin.Do(verb, "/v1/directory/tags", servertest.Body{}).Fails(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
		if got := answer.Header.Get("Allow"); got != "GET, HEAD, POST" {
			t.Errorf("%s /directory/tags allows %q", verb, got)
		}
	}
	for _, verb := range []string{http.MethodGet, http.MethodPost} {
		answer := admin.Do(verb, "/v1/directory/tags/"+id, nil).Fails(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
		if got := answer.Header.Get("Allow"); got != "DELETE, PATCH" {
			t.Errorf("%s /directory/tags/{id} allows %q", verb, got)
		}
	}
	admin.Post("/v1/directory/tags/restore", nil).Fails(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
	admin.Post("/v1/directory/tags/receiving-methods/x", nil).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
}

func TestTagsAreListedWholeOrInPages(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		var want []string
		for i := range 30 {
			want = append(want, newTag(admin, fmt.Sprintf("tag %02d", 30-i), "all"))
		}
		base := "/v1/directory/tags?workspace_id=" + n.First.WorkspaceID
		var whole map[string]any
		answer := admin.Get(base).OK()
		if got := answer.Column("id"); !slices.Equal(got, want) {
			t.Errorf("the whole list is %v, want all %d, oldest first", got, len(want))
		}
		answer.Envelope(&whole)
		if len(whole) != 2 {
			t.Errorf("the whole list has more than ok and data: %s", answer.Body)
		}
		for _, limit := range []string{"1", "7", "30", "100"} {
			if got := admin.Walk(base+"&limit="+limit, nil); !slices.Equal(got, want) {
				t.Errorf("in pages of %s: %v", limit, got)
			}
		}
		cursor, _ := admin.Get(base + "&limit=3").OK().Page()
		if got := admin.Get(base + "&cursor=" + url.QueryEscape(cursor)).OK().Column("id"); !slices.Equal(got, want[3:28]) {
			t.Errorf("a cursor alone gives %v, want the default 25 rows", got)
		}
		seen := 0
		got := admin.Walk(base+"&limit=10", func(page []string) {
			seen += len(page)
			admin.Delete("/v1/directory/tags/" + page[0]).OK()
			want = append(want, newTag(admin, fmt.Sprintf("later %d", seen), "all"))
		})
		if !slices.Equal(got, want) {
			t.Errorf("paging while tags come and go showed %v, want %v", got, want)
		}
	})
}

// together sends both requests at the same moment.
func together(a, b func() *servertest.Answer) (first, second *servertest.Answer) {
	var both sync.WaitGroup
	start := make(chan struct{})
	both.Go(func() { <-start; first = a() })
	both.Go(func() { <-start; second = b() })
	close(start)
	both.Wait()
	return first, second
}

// firmWith tries to make an organization that carries a tag.
func firmWith(c *servertest.Client, tag string) func() *servertest.Answer {
	return func() *servertest.Answer {
		return c.Post("/v1/directory", servertest.Body{
			"workspace_id": c.Node.First.WorkspaceID, "type": "organization", "fields": servertest.Body{}, "tags": []string{tag},
		})
	}
}

func TestTagDeletedWhileEntriesTakeItOn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		for i := range 20 {
			name := fmt.Sprintf("doomed %d", i)
			id := newTag(admin, name, "all")
			given := []string{id, name}[i%2]
			deleted, tagged := together(func() *servertest.Answer { return admin.Delete("/v1/directory/tags/" + id) }, firmWith(admin, given))
			deleted.OK()
			if given == name { // which then makes the tag again
				tagged.OK()
			} else if tagged.Status != http.StatusOK {
				tagged.Invalid("tags")
			}
		}
	})
}

func TestTagNarrowedWhileEntriesTakeItOn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		for i := range 20 {
			tag := newTag(admin, fmt.Sprintf("narrow %d", i), "all")
			narrowed, tagged := together(func() *servertest.Answer {
				return admin.Patch("/v1/directory/tags/"+tag, servertest.Body{"applies_to": "person"})
			}, firmWith(admin, tag))
			if narrowed.Status == http.StatusOK {
				tagged.Invalid("tags")
			} else {
				narrowed.Fails(http.StatusUnprocessableEntity, "TAG_IN_USE")
				tagged.OK()
			}
		}
	})
}

// A member may write entries and no tags: neither by themselves nor by an entry.
func TestATagThatAnEntryWouldMakeNeedsThePermission(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin, member := n.Admin(t), n.Member(t, "member@example.com", "member")
		known := newTag(admin, "Known", "all")
		entry := member.Entry(servertest.Body{"tags": []string{"known", known}})
		request := func(tags ...string) servertest.Body {
			return servertest.Body{"workspace_id": n.First.WorkspaceID, "type": "person", "fields": servertest.Body{}, "tags": tags}
		}
		refused := func(answer *servertest.Answer) {
			t.Helper()
			answer.Fails(http.StatusForbidden, "FORBIDDEN")
			if got := answer.Detail("permission"); got != "ws.tags.write" || !bytes.Contains(answer.Body, []byte("to create the tag Fresh")) {
				t.Errorf("the refusal names %q: %s", got, answer.Body)
			}
		}
		refused(member.Post("/v1/directory", request("Known", "Fresh")))
		refused(member.Patch("/v1/directory/"+entry, servertest.Body{"status": "inactive", "tags": []string{"Fresh"}}))
		if got := tagList(admin); len(got) != 1 {
			t.Errorf("the tags are %v", got)
		}
		if got := admin.Entries().OK().Column("id"); len(got) != 1 {
			t.Errorf("the entries are %v", got)
		}
		if got := admin.Get("/v1/directory/" + entry).OK().Object(); got["status"] != "active" || !slices.Equal(got["tags"].([]any), []any{"Known"}) {
			t.Errorf("the entry is %v", got)
		}
		for _, action := range []string{"directory.entry.created", "directory.entry.updated"} {
			if got := admin.Get("/v1/audit?outcome=denied&workspace_id=" + n.First.WorkspaceID + "&action=" + action).OK().Column("actor_id"); !slices.Equal(got, []string{member.UserID}) {
				t.Errorf("%s was refused to %v", action, got)
			}
		}
		// An id that no tag has is no name, and anyone who holds the permission goes on as before.
		member.Post("/v1/directory", request("tag_00000000000000000000000000")).Invalid("tags")
		admin.Post("/v1/directory", request("Fresh")).OK()
		member.Post("/v1/directory", request("fresh")).OK()
		member.Patch("/v1/directory/"+entry, servertest.Body{"tags": []string{}}).OK()
	})
}

// Anyone who may not make tags never brings back one that is being deleted.
func TestATagDeletedMeanwhileIsRestoredOnlyByPermission(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin, member := n.Admin(t), n.Member(t, "member@example.com", "member")
		for i := range 20 {
			name := fmt.Sprintf("doomed %d", i)
			id := newTag(admin, name, "all")
			deleted, tagged := together(func() *servertest.Answer { return admin.Delete("/v1/directory/tags/" + id) }, firmWith(member, name))
			deleted.OK()
			if tagged.Status != http.StatusOK {
				tagged.Fails(http.StatusForbidden, "FORBIDDEN")
			}
		}
		if got := tagList(admin); len(got) > 0 {
			t.Errorf("deleted tags are back: %v", got)
		}
	})
}
