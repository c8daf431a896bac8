package directory_test

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestDirectoryListsWhatPassesEveryFilter(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		other := n.Tenant(t)
		other.Owner.Entry(servertest.Body{"workspace_id": other.WorkspaceID, "label": "Ada elsewhere", "tags": []string{"vip"}})
		ids := map[string]string{}
		for _, e := range []struct {
			key, kind, status, label string
			tags                     []string
		}{
			{"a", "person", "active", "Ada Lovelace", []string{"Vip", "staff"}},
			{"b", "person", "inactive", "Ada Byron", []string{"vip"}},
			{"c", "organization", "active", "Ada Trading", []string{"VIP"}},
			{"d", "organization", "inactive", "Grace Shipping", []string{}},
			{"e", "person", "active", "Grace Hopper", []string{"staff"}},
		} {
			ids[e.key] = admin.Entry(servertest.Body{"type": e.kind, "label": e.label, "tags": e.tags})
			if e.status != "active" {
				admin.Patch("/v1/directory/"+ids[e.key], servertest.Body{"status": e.status}).OK()
			}
		}
		vip := tagID(admin, "vip")
		cases := []struct {
			query []string
			want  string
		}{
			{nil, "edcba"},
			{[]string{"type", "person"}, "eba"},
			{[]string{"type", "organization"}, "dc"},
			{[]string{"status", "active"}, "eca"},
			{[]string{"status", "inactive"}, "db"},
			{[]string{"type", "person", "status", "inactive"}, "b"},
			{[]string{"tag", "vip"}, "cba"},
			{[]string{"tag", "vIP"}, "cba"},
			{[]string{"tag", " vip "}, "cba"},
			{[]string{"tag", vip}, "cba"},
			{[]string{"tag", vip, "type", "organization"}, "c"},
			{[]string{"tag", "staff", "status", "active", "type", "person"}, "ea"},
			{[]string{"q", "ada"}, "cba"},
			{[]string{"q", "ada", "tag", "staff"}, "a"},
			{[]string{"q", "grace", "type", "person"}, "e"},
			{[]string{"q", "grace", "type", "organization", "status", "inactive"}, "d"},
			{[]string{"q", "ada", "tag", "vip", "type", "person", "status", "active"}, "a"},
			{[]string{"type", "starship"}, ""},
			{[]string{"type", ""}, ""},
			{[]string{"type", "Person"}, ""},
			{[]string{"status", "deleted"}, ""},
			{[]string{"tag", "nobody"}, ""},
			{[]string{"tag", ""}, ""},
			{[]string{"tag", "tag_00000000000000000000000000"}, ""},
			{[]string{"q", "zzz"}, ""},
		}
		for _, c := range cases {
			t.Run(strings.Join(c.query, " "), func(t *testing.T) {
				want := []string{}
				for _, key := range c.want {
					want = append(want, ids[string(key)])
				}
				answer := admin.On(t).Entries(c.query...).OK()
				if got := answer.Column("id"); !slices.Equal(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
				if cursor, more := answer.Page(); more || cursor != "" {
					t.Errorf("the only page has more: %s", answer.Body)
				}
			})
		}
		for _, row := range admin.Entries().OK().List() {
			if diff := cmp.Diff([]string{"fields", "id", "label", "status", "type"}, slices.Sorted(maps.Keys(row))); diff != "" {
				t.Errorf("the keys of a row:\n%s", diff)
			}
		}
	})
}

// tagID finds a tag of the first workspace by its name.
func tagID(c *servertest.Client, name string) string {
	for _, tag := range c.Get("/v1/directory/tags?workspace_id=" + c.Node.First.WorkspaceID).OK().List() {
		if strings.EqualFold(tag["name"].(string), name) {
			return tag["id"].(string)
		}
	}
	return ""
}

// people makes so many entries and returns their ids, newest first.
func people(c *servertest.Client, count int) []string {
	var ids []string
	for range count {
		ids = append(ids, c.Entry(nil))
	}
	slices.Reverse(ids)
	return ids
}

func TestLimitIsAnIntegerFrom1To100(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		newest := people(admin, 27)
		base := "/v1/directory?workspace_id=" + n.First.WorkspaceID
		for _, bad := range []string{"0", "101", "-1", "1.5", "", "+5", "007", "1e1", "0x5", "five", " 5", "5 ", "٥", "99999999999999999999", "%00"} {
			t.Run("refused "+bad, func(t *testing.T) {
				admin := admin.On(t)
				if bad == "%00" {
					bad = "\x00"
				}
				admin.Get(base + "&limit=" + url.QueryEscape(bad)).Invalid("limit")
				admin.Get("/v1/directory/tags?workspace_id=" + n.First.WorkspaceID + "&limit=" + url.QueryEscape(bad)).Invalid("limit")
			})
		}
		t.Run("refused twice", func(t *testing.T) {
			admin.On(t).Get(base + "&limit=5&limit=5").Invalid("limit")
			admin.On(t).Get(base+"&limit=5&limit=5&cursor=a&cursor=b&type=x&type=y&workspace_id=z").
				Invalid("limit", "cursor", "type", "workspace_id")
		})
		t.Run("refused where it cannot be read", func(t *testing.T) {
			admin.On(t).Get(base+"&limit=%zz").Fails(400, "VALIDATION_ERROR")
			admin.On(t).Get(base+"&limit=5;cursor=x").Fails(400, "VALIDATION_ERROR")
		})
		for limit, want := range map[string]int{"1": 1, "26": 26, "27": 27, "28": 27, "100": 27, "none": 25} {
			t.Run("of "+limit, func(t *testing.T) {
				path := base
				if limit != "none" {
					path += "&limit=" + limit
				}
				answer := admin.On(t).Get(path).OK()
				if got := answer.Column("id"); !slices.Equal(got, newest[:want]) {
					t.Errorf("got %d rows, want the newest %d", len(got), want)
				}
				cursor, more := answer.Page()
				if more != (want < len(newest)) || (cursor != "") != more || strings.Contains(string(answer.Body), "cursor") != more {
					t.Errorf("has_more %v and cursor %q after %d of %d rows", more, cursor, want, len(newest))
				}
			})
		}
	})
}

func TestWorkspaceMustBeNamed(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	n := servertest.Start(t, store)
	admin := n.Admin(t)
	for _, path := range []string{"/v1/directory", "/v1/directory?workspace_id=", "/v1/directory/tags", "/v1/directory/tags?workspace_id="} {
		admin.Get(path).Invalid("workspace_id")
	}
	admin.Get("/v1/directory?limit=0&q="+strings.Repeat("x", 201)).Invalid("workspace_id", "limit", "q")
}

func TestCursorIsBoundToTheListItCameFrom(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		ws := n.First.WorkspaceID
		other := admin.Post("/v1/workspaces", servertest.Body{"name": "Other", "organization_id": n.First.OrganizationID}).OK().Text("id")
		for range 3 {
			admin.Entry(servertest.Body{"label": "Ada", "tags": []string{"vip", "staff"}})
			admin.Entry(servertest.Body{"label": "Ada", "workspace_id": other, "tags": []string{"vip", "staff"}})
		}
		lists := []string{
			"/v1/directory?workspace_id=" + ws,
			"/v1/directory?workspace_id=" + other,
			"/v1/directory?type=person&workspace_id=" + ws,
			"/v1/directory?status=active&workspace_id=" + ws,
			"/v1/directory?tag=vip&workspace_id=" + ws,
			"/v1/directory?tag=staff&workspace_id=" + ws,
			"/v1/directory?q=ada&workspace_id=" + ws,
			"/v1/directory?q=ad&workspace_id=" + ws,
			"/v1/directory?type=person&status=active&workspace_id=" + ws,
			"/v1/directory/tags?workspace_id=" + ws,
			"/v1/audit?workspace_id=" + ws,
			"/v1/audit?action=directory.entry.created&workspace_id=" + ws,
		}
		var cursors []string
		for _, list := range lists {
			cursor, more := admin.Get(list + "&limit=1").OK().Page()
			if !more || cursor == "" {
				t.Fatalf("%s: no second page", list)
			}
			cursors = append(cursors, url.QueryEscape(cursor))
		}
		for i, list := range lists {
			t.Run(list[len("/v1/"):], func(t *testing.T) {
				admin := admin.On(t)
				for j, cursor := range cursors {
					if i != j {
						admin.Get(list + "&cursor=" + cursor).Invalid("cursor")
					}
				}
				// The limit is no filter: it may change from page to page.
				for _, limit := range []string{"1", "2", "100"} {
					admin.Get(list + "&limit=" + limit + "&cursor=" + cursors[i]).OK()
				}
			})
		}
		good := cursors[0]
		for name, bad := range map[string]string{
			"empty": "", "text": "abc", "an id": unknownEntry, "cut": good[:len(good)-1], "longer": good + "A", "padded": good + "=",
			"other case": strings.ToUpper(good), "with a line break": good[:5] + "%0A" + good[5:], "with a blank": good + "%20", "NUL": "%00", "not UTF-8": "%ff",
			"huge": strings.Repeat("A", 10000),
		} {
			t.Run("refuses "+name, func(t *testing.T) { admin.On(t).Get(lists[0] + "&cursor=" + bad).Invalid("cursor") })
		}
	})
}

func TestPagingNeitherRepeatsNorHides(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		for _, query := range []string{"", "&q=ada", "&tag=vip", "&type=person&status=active"} {
			t.Run("by"+query, func(t *testing.T) {
				admin := admin.On(t)
				make := func() string { return admin.Entry(servertest.Body{"label": "Ada", "tags": []string{"vip"}}) }
				for _, id := range admin.Entries("limit", "100").OK().Column("id") {
					admin.Delete("/v1/directory/" + id).OK()
				}
				var want []string
				for range 20 {
					want = append(want, make())
				}
				slices.Reverse(want)
				// Between pages one entry arrives, one that was shown goes, and
				// so does the last of those that are yet to come.
				deleted := map[string]bool{}
				got := admin.Walk(fmt.Sprintf("/v1/directory?limit=3&workspace_id=%s%s", n.First.WorkspaceID, query), func(page []string) {
					make()
					last := page[len(page)-1]
					admin.Delete("/v1/directory/" + last).OK()
					for _, id := range slices.Backward(want) {
						if id < last && !deleted[id] {
							admin.Delete("/v1/directory/" + id).OK()
							deleted[id] = true
							break
						}
					}
				})
				want = slices.DeleteFunc(want, func(id string) bool { return deleted[id] })
				if len(deleted) == 0 || !slices.Equal(got, want) {
					t.Errorf("paging showed\n%v, want\n%v", got, want)
				}
			})
		}
	})
}

func TestABadLimitAndABadCursorAreReportedTogether(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	n.Admin(t).Get("/v1/directory?limit=0&cursor=x&workspace_id="+n.First.WorkspaceID).Invalid("limit", "cursor")
}
