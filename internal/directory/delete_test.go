package directory_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

const day = 24 * time.Hour

// richEntry makes an entry that has a row in every table.
func richEntry(c *servertest.Client, label string) string {
	id := c.Entry(servertest.Body{"label": label, "tags": []string{"vip"}, "fields": servertest.Body{"email": "ada@example.com"}})
	c.Post("/v1/directory/"+id+"/receiving-methods", servertest.Body{"provider": "bank", "account_name": "Ada", "account_id": "1"}).OK()
	return id
}

func TestDeletedEntryIsGoneFromEveryReadUntilItIsRestored(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		older, id, newer := admin.Entry(nil), richEntry(admin, "Zenobia"), admin.Entry(nil)
		lists := []struct {
			query       []string
			with, empty []string
		}{
			{nil, []string{newer, id, older}, []string{newer, older}},
			{[]string{"q", "zeno"}, []string{id}, []string{}},
			{[]string{"tag", "vip"}, []string{id}, []string{}},
			{[]string{"q", "zeno", "tag", "vip", "type", "person", "status", "active"}, []string{id}, []string{}},
			{[]string{"type", "person"}, []string{newer, id, older}, []string{newer, older}},
		}
		expect := func(live bool) {
			t.Helper()
			for _, list := range lists {
				want := list.empty
				if live {
					want = list.with
				}
				if got := admin.Entries(list.query...).OK().Column("id"); !slices.Equal(got, want) {
					t.Errorf("with %v the directory lists %v, want %v", list.query, got, want)
				}
			}
		}
		expect(true)
		before := admin.Get("/v1/directory/" + id).OK().Object()
		if diff := cmp.Diff(servertest.Body{"id": id, "deleted": true}, admin.Delete("/v1/directory/"+id).OK().Object()); diff != "" {
			t.Errorf("the answer to DELETE:\n%s", diff)
		}
		expect(false)
		for _, verb := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete} {
			admin.Do(verb, "/v1/directory/"+id, nil).Fails(http.StatusNotFound, "NOT_FOUND")
		}
		if diff := cmp.Diff(servertest.Body{"id": id, "restored": true}, admin.Post("/v1/directory/"+id+"/restore", nil).OK().Object()); diff != "" {
			t.Errorf("the answer to restore:\n%s", diff)
		}
		expect(true)
		after := admin.Get("/v1/directory/" + id).OK().Object()
		delete(before, "updated_at")
		delete(after, "updated_at")
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("the restored entry is another:\n%s", diff)
		}
		want := []string{"directory.entry.created", revealed, "directory.entry.deleted", "directory.entry.restored"}
		if got := n.Audited(t, id); !slices.Equal(got, want) {
			t.Errorf("the audit log says %v, want %v", got, want)
		}
	})
}

func TestRestoringALiveEntryChangesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		id := richEntry(admin, "Ada")
		before := admin.Get("/v1/directory/" + id).OK().Body
		n.Unchanged(t, func() { admin.Post("/v1/directory/"+id+"/restore", nil).OK() })
		if after := admin.Get("/v1/directory/" + id).OK().Body; string(after) != string(before) {
			t.Errorf("the entry was\n%s, is\n%s", before, after)
		}
	})
}

func TestDeletedEntryCanBeRestoredFor30Days(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		rescued, late := admin.Entry(nil), admin.Entry(nil)
		admin.Delete("/v1/directory/" + rescued).OK()
		admin.Delete("/v1/directory/" + late).OK()

		n.Clock.Advance(30*day - time.Minute)
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		admin = n.Admin(t) // the session is long over
		admin.Post("/v1/directory/"+rescued+"/restore", nil).OK()
		admin.Get("/v1/directory/" + rescued).OK()

		n.Clock.Advance(time.Minute)
		n.Unchanged(t, func() {
			admin.Post("/v1/directory/"+late+"/restore", nil).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
		})
	})
}

func TestDeletedEntryIsPurgedAfter30Days(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		purged, live, young := richEntry(admin, "Purged"), richEntry(admin, "Live"), richEntry(admin, "Young")
		admin.Delete("/v1/directory/" + purged).OK()
		n.Clock.Advance(10 * day)
		admin = n.Admin(t)
		admin.Delete("/v1/directory/" + young).OK()
		n.Clock.Advance(21 * day)
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}

		for table, rows := range n.Contents(t) {
			kept := strings.Join(rows, "\n")
			if table != "audit_entry" && strings.Contains(kept, purged) {
				t.Errorf("%s still holds the entry:\n%s", table, kept)
			}
		}
		admin = n.Admin(t)
		admin.Get("/v1/directory/"+purged).Fails(http.StatusNotFound, "NOT_FOUND")
		admin.Post("/v1/directory/"+purged+"/restore", nil).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
		admin.Get("/v1/directory/" + live).OK()
		admin.Post("/v1/directory/"+young+"/restore", nil).OK()

		want := []string{"directory.entry.created", "directory.entry.deleted", "directory.entry.purged"}
		if got := n.Audited(t, purged); !slices.Equal(got, want) {
			t.Errorf("the audit log says %v, want %v", got, want)
		}
		rows := admin.Get("/v1/audit?action=directory.entry.purged&workspace_id=" + n.First.WorkspaceID).OK().List()
		if len(rows) != 1 || rows[0]["resource_id"] != purged || rows[0]["actor_type"] != "system" || rows[0]["outcome"] != "success" {
			t.Errorf("the audit log lists %v", rows)
		}
		n.Unchanged(t, func() {
			if err := n.Server.Tidy(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
}
