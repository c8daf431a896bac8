package directory_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestUpdateMergesFields(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, before, change, after string }{
		{"a new key comes last", `{"b":1,"a":2}`, `{"c":3}`, `{"b":1,"a":2,"c":3}`},
		{"a known key keeps its place", `{"b":1,"a":2}`, `{"b":1.0}`, `{"b":1.0,"a":2}`},
		{"null removes a key", `{"b":1,"a":2}`, `{"b":null}`, `{"a":2}`},
		{"null for a key that is not there", `{"b":1}`, `{"a":null}`, `{"b":1}`},
		{"objects are replaced, not merged", `{"o":{"x":1,"y":2}}`, `{"o":{"x":3}}`, `{"o":{"x":3}}`},
		{"null inside a value is a value", `{}`, `{"o":{"x":null},"l":[null]}`, `{"o":{"x":null},"l":[null]}`},
		{"a key is the same however it is spelled", `{"a":1,"b":2}`, `{"\u0061":null}`, `{"b":2}`},
		{"everything at once", `{"a":1,"b":2,"c":3}`, `{"d":4,"b":null,"a":{}}`, `{"a":{},"c":3,"d":4}`},
		{"the last key", `{"a":1}`, `{"a":null}`, `{}`},
		{"no key", `{"a":1}`, `{}`, `{"a":1}`},
	}
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				admin := admin.On(t)
				id := admin.Entry(nil)
				admin.Patch("/v1/directory/"+id, `{"fields":`+c.before+`}`).OK()
				admin.Patch("/v1/directory/"+id, `{"fields":`+c.change+`}`).OK()
				if got := fieldsOf(admin, id); got != c.after {
					t.Errorf("%s and %s gave %s, want %s", c.before, c.change, got, c.after)
				}
			})
		}
	})
}

func TestDerivedLabelFollowsItsSourceAndASentOneStays(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		id := admin.Entry(servertest.Body{"fields": servertest.Body{"email": "ada@example.com"}})
		steps := []struct {
			change servertest.Body
			want   string
		}{
			{servertest.Body{"status": "inactive"}, "ada@example.com"},
			{servertest.Body{"fields": servertest.Body{"first-name": "Ada"}}, "Ada"},
			{servertest.Body{"fields": servertest.Body{"last-name": "Byron"}}, "Ada Byron"},
			{servertest.Body{"fields": servertest.Body{"last-name": "Lovelace"}}, "Ada Lovelace"},
			{servertest.Body{"fields": servertest.Body{"name": "Countess"}}, "Countess"},
			{servertest.Body{"name": "Augusta"}, "Augusta"},
			{servertest.Body{"fields": servertest.Body{"name": nil}}, "Augusta"},
			{servertest.Body{"name": "Augusta Ada"}, "Augusta Ada"},
			{servertest.Body{"label": "Sent", "name": "Other"}, "Sent"},
			{servertest.Body{"name": "Another", "fields": servertest.Body{"name": "Yet another"}}, "Sent"},
			{servertest.Body{"label": "Sent again"}, "Sent again"},
		}
		for _, step := range steps {
			admin.Patch("/v1/directory/"+id, step.change).OK()
			if got := admin.Get("/v1/directory/" + id).OK().Text("label"); got != step.want {
				t.Fatalf("after %v the label is %q, want %q", step.change, got, step.want)
			}
		}
		same := admin.Entry(servertest.Body{"label": "Ada", "name": "Ada"})
		admin.Patch("/v1/directory/"+same, servertest.Body{"name": "Grace"}).OK()
		if got := admin.Get("/v1/directory/" + same).OK().Text("label"); got != "Ada" {
			t.Errorf("a label that was sent and equals the name became %q", got)
		}
	})
}

func TestUpdateThatChangesNothingLeavesNoTrace(t *testing.T) {
	t.Parallel()
	cases := map[string]any{
		"no body":             nil,
		"an empty object":     "{}",
		"white space":         " \r\n\t",
		"the same again":      `{"status":"active","name":"Ada","label":"Ada L","tags":["VIP","vip"],"fields":{"a":1}}`,
		"no fields":           `{"fields":{}}`,
		"a key that is gone":  `{"fields":{"b":null}}`,
		"tags in other order": servertest.Body{"tags": []string{"vip"}},
	}
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		id := admin.Entry(servertest.Body{"name": "Ada", "label": "Ada L", "tags": []string{"vip"}, "fields": servertest.Body{"a": 1}})
		before := admin.Get("/v1/directory/" + id).OK().Body
		n.Clock.Advance(time.Minute)
		for name, body := range cases {
			t.Run(name, func(t *testing.T) {
				n.Unchanged(t, func() {
					if got := admin.On(t).Patch("/v1/directory/"+id, body).OK().Text("id"); got != id {
						t.Errorf("the answer names %q", got)
					}
				})
				if diff := cmp.Diff(string(before), string(admin.On(t).Get("/v1/directory/"+id).OK().Body)); diff != "" {
					t.Errorf("the entry has changed:\n%s", diff)
				}
			})
		}
	})
}

func TestEveryUpdateIsDatedAndAuditedOnce(t *testing.T) {
	t.Parallel()
	cases := map[string]servertest.Body{
		"status": {"status": "inactive"},
		"name":   {"name": "Grace"},
		"label":  {"label": "Hopper"},
		"fields": {"fields": servertest.Body{"a": 1}},
		"tags":   {"tags": []string{"new"}},
	}
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		for name, change := range cases {
			t.Run(name, func(t *testing.T) {
				admin := admin.On(t)
				id := admin.Entry(nil)
				before := admin.Get("/v1/directory/" + id).OK().Object()
				n.Clock.Advance(time.Second)
				admin.Patch("/v1/directory/"+id, change).OK()
				after := admin.Get("/v1/directory/" + id).OK().Object()
				if after["updated_at"].(float64) < before["updated_at"].(float64)+1000 {
					t.Errorf("updated at %v, before that at %v", after["updated_at"], before["updated_at"])
				}
				if after["created_at"] != before["created_at"] {
					t.Errorf("created at %v, before that at %v", after["created_at"], before["created_at"])
				}
				want := []string{"directory.entry.created", "directory.entry.updated"}
				if got := n.Audited(t, id); !slices.Equal(got, want) {
					t.Errorf("the audit log says %v, want %v", got, want)
				}
			})
		}
	})
}

func TestUpdateThatBreaksRulesIsRefusedWithAllOfThem(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 201)
	cases := map[string]struct {
		body  any
		wrong []string
	}{
		"every value is wrong": {servertest.Body{"fields": servertest.Body{"email": 1}, "name": "", "tags": []string{" "}, "label": long, "status": "gone"}, []string{"fields.email", "name", "tags", "label", "status"}},
		"a good one beside it": {servertest.Body{"status": "inactive", "label": "a\tb"}, []string{"label"}},
		"a tag nobody has":     {servertest.Body{"status": "inactive", "tags": []string{"tag_00000000000000000000000000"}}, []string{"tags"}},
	}
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		id := admin.Entry(servertest.Body{"tags": []string{"vip"}})
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				n.Unchanged(t, func() { admin.On(t).Patch("/v1/directory/"+id, c.body).Invalid(c.wrong...) })
			})
		}
		t.Run("both statuses are good", func(t *testing.T) {
			for _, status := range []string{"inactive", "active"} {
				admin.On(t).Patch("/v1/directory/"+id, servertest.Body{"status": status}).OK()
				if got := admin.On(t).Get("/v1/directory/" + id).OK().Text("status"); got != status {
					t.Errorf("status is %q, want %q", got, status)
				}
			}
		})
	})
}
