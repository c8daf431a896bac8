package directory_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// unknownEntry looks like the id of an entry and is none.
const unknownEntry = "entry_00000000000000000000000000"

func TestEntryThatBreaksRulesIsRefusedWithAllOfThem(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		long := strings.Repeat("é", 201)
		cases := map[string]struct {
			body  any
			wrong []string
		}{
			"nothing is sent":       {nil, []string{"workspace_id", "type", "fields"}},
			"every value is wrong":  {servertest.Body{"type": "starship", "fields": servertest.Body{"email": "nope"}, "name": "", "label": long, "tags": []string{""}}, []string{"type", "fields.email", "name", "label", "tags"}},
			"blank name and label":  {servertest.Body{"name": " \u00a0", "label": "\u2003"}, []string{"name", "label"}},
			"control characters":    {servertest.Body{"name": "a\nb", "label": "a\u0000b", "tags": []string{"a\u007fb"}}, []string{"name", "label", "tags"}},
			"an email that is none": {servertest.Body{"fields": servertest.Body{"email": "Ada <ada@example.com>"}}, []string{"fields.email"}},
			"an email that is no text": {servertest.Body{"fields": servertest.Body{"email": servertest.Body{"at": "ada@example.com"}}},
				[]string{"fields.email"}},
			"an email with a NUL": {servertest.Body{"fields": servertest.Body{"email": "ada@example.com\u0000"}}, []string{"fields.email"}},
		}
		n.Unchanged(t, func() {
			for name, c := range cases {
				t.Run(name, func(t *testing.T) {
					if over, ok := c.body.(servertest.Body); ok {
						body := servertest.Body{"workspace_id": n.First.WorkspaceID, "type": "person", "fields": servertest.Body{}}
						maps.Copy(body, over)
						c.body = body
					}
					admin.On(t).Post("/v1/directory", c.body).Invalid(c.wrong...)
				})
			}
		})
	})
}

func TestLabelIsTheFirstThatCanBeFound(t *testing.T) {
	t.Parallel()
	all := servertest.Body{"name": "Field Name", "first-name": "Ada", "last-name": "Lovelace", "email": "ada@example.com", "phone": "+63 1"}
	without := func(keys ...string) servertest.Body {
		left := maps.Clone(all)
		maps.DeleteFunc(left, func(key string, _ any) bool { return slices.Contains(keys, key) })
		return left
	}
	type derivation struct {
		name, want string
		body       servertest.Body
	}
	var cases []derivation
	add := func(name, want string, body servertest.Body) { cases = append(cases, derivation{name, want, body}) }
	add("the label that was sent", "Sent", servertest.Body{"label": "Sent", "name": "Name", "fields": all})
	add("the name", "Name", servertest.Body{"name": "Name", "fields": all})
	add("the name field", "Field Name", servertest.Body{"fields": all})
	add("first and last name", "Ada Lovelace", servertest.Body{"fields": without("name")})
	add("the first name alone", "Ada", servertest.Body{"fields": without("name", "last-name")})
	add("the last name alone", "Lovelace", servertest.Body{"fields": without("name", "first-name")})
	add("the email", "ada@example.com", servertest.Body{"fields": without("name", "first-name", "last-name")})
	add("the phone", "+63 1", servertest.Body{"fields": without("name", "first-name", "last-name", "email")})
	add("nothing, for a person", "Unnamed person", servertest.Body{"fields": servertest.Body{"industry": "Sailing"}})
	add("nothing, for an organization", "Unnamed organization", servertest.Body{"type": "organization", "fields": servertest.Body{}})
	add("not a field that is no text", "ada@example.com", servertest.Body{"fields": servertest.Body{"name": 5, "first-name": nil, "email": "ada@example.com"}})
	add("not a field that is blank", "+63 1", servertest.Body{"fields": servertest.Body{"name": " \t ", "phone": "+63 1"}})
	add("on one line without control characters", "Ada L", servertest.Body{"fields": servertest.Body{"name": "\u0000Ada\r\n\u0007L "}})
	add("no longer than a label may be", strings.Repeat("é", 200), servertest.Body{"fields": servertest.Body{"name": strings.Repeat("é", 300)}})

	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				id := admin.On(t).Entry(c.body)
				if got := admin.On(t).Get("/v1/directory/" + id).OK().Text("label"); got != c.want {
					t.Errorf("the label is %q, want %q", got, c.want)
				}
			})
		}
	})
}

func TestEntryShowsReceivingMethodsToThoseWhoMaySeeThem(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		bare := admin.Entry(nil)
		full := admin.Entry(servertest.Body{"name": "Ada", "tags": []string{"Vip"}})
		shape := []string{"created_at", "fields", "id", "label", "receiving_methods", "status", "tags", "type", "updated_at", "workspace_id"}
		hidden := slices.DeleteFunc(slices.Clone(shape), func(key string) bool { return key == "receiving_methods" })
		named := append(slices.Clone(shape), "name")
		slices.Sort(named)
		cases := []struct {
			name   string
			caller *servertest.Client
			id     string
			want   []string
		}{
			{"admin", admin, bare, shape},
			{"admin, with a name", admin, full, named},
			{"member", n.Member(t, "member@example.com", "member"), bare, shape},
			{"viewer", n.Member(t, "viewer@example.com", "viewer"), bare, hidden},
			{"auditor", n.Member(t, "auditor@example.com", "auditor"), bare, hidden},
		}
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				entry := c.caller.On(t).Get("/v1/directory/" + c.id).OK().Object()
				if diff := cmp.Diff(c.want, slices.Sorted(maps.Keys(entry))); diff != "" {
					t.Errorf("the entry's keys:\n%s", diff)
				}
			})
		}
		got := admin.Get("/v1/directory/" + full).OK().Object()
		if got["created_at"] != got["updated_at"] || got["created_at"].(float64) < 1e12 {
			t.Errorf("a new entry was created at %v and updated at %v", got["created_at"], got["updated_at"])
		}
		delete(got, "created_at")
		delete(got, "updated_at")
		want := servertest.Body{"id": full, "workspace_id": n.First.WorkspaceID, "type": "person", "label": "Ada", "name": "Ada",
			"status": "active", "fields": servertest.Body{}, "tags": []any{"Vip"}, "receiving_methods": []any{}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the entry:\n%s", diff)
		}
	})
}

func TestEntryThatIsNotTheCallersIsNotFound(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		other := n.Tenant(t)
		foreign := other.Entry("Foreign")
		deleted := admin.Entry(nil)
		admin.Delete("/v1/directory/" + deleted).OK()
		method := servertest.Body{"provider": "bank", "account_name": "Ada", "account_id": "1"}
		theirs := other.Owner.Post("/v1/directory/"+foreign+"/receiving-methods", method).OK().Text("id")
		own := admin.Entry(nil)
		requests := []struct {
			method, suffix string
			body           any
			code           string
		}{
			{http.MethodGet, "", nil, "NOT_FOUND"},
			{http.MethodPatch, "", servertest.Body{"status": "inactive"}, "NOT_FOUND"},
			{http.MethodPatch, "", nil, "NOT_FOUND"},
			{http.MethodDelete, "", nil, "NOT_FOUND"},
			{http.MethodPost, "/restore", nil, "RESOURCE_NOT_FOUND"},
			{http.MethodPost, "/receiving-methods", method, "RESOURCE_NOT_FOUND"},
			{http.MethodPatch, "/receiving-methods/" + theirs, servertest.Body{"is_default": true}, "RESOURCE_NOT_FOUND"},
			{http.MethodDelete, "/receiving-methods/" + theirs, nil, "RESOURCE_NOT_FOUND"},
		}
		ids := map[string]string{"unknown": unknownEntry, "deleted": deleted, "of another tenant": foreign, "no id at all": "ada"}
		n.Unchanged(t, func() {
			for _, r := range requests {
				bodies := map[string]bool{}
				for name, id := range ids {
					if r.suffix == "/restore" && id == deleted {
						continue
					}
					t.Run(name+"/"+r.method+r.suffix, func(t *testing.T) {
						answer := admin.On(t).Do(r.method, "/v1/directory/"+id+r.suffix, r.body).Fails(http.StatusNotFound, r.code)
						bodies[string(answer.Body)] = true
					})
				}
				if len(bodies) != 1 {
					t.Errorf("%s %s tells what is missing from what is forbidden: %v", r.method, r.suffix, bodies)
				}
			}
			for _, verb := range []string{http.MethodPatch, http.MethodDelete} {
				admin.Do(verb, "/v1/directory/"+own+"/receiving-methods/"+theirs, nil).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
			}
		})
		for name, ws := range map[string]string{"unknown": "ws_00000000000000000000000000", "of another tenant": other.WorkspaceID} {
			t.Run("workspace "+name, func(t *testing.T) {
				admin := admin.On(t)
				n.Unchanged(t, func() {
					for _, list := range []string{"/v1/directory", "/v1/directory/tags"} {
						admin.Get(list+"?workspace_id="+ws).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
					}
					admin.Post("/v1/directory", servertest.Body{"workspace_id": ws, "type": "person", "fields": servertest.Body{}}).
						Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
					admin.Post("/v1/directory/tags", servertest.Body{"workspace_id": ws, "name": "vip"}).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
				})
			})
		}
	})
}
