package console_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func holds(t *testing.T, what string, a answer, status int, texts ...string) {
	t.Helper()
	if a.status != status {
		t.Errorf("%s answers %d at %s, want %d", what, a.status, a.path, status)
	}
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			t.Errorf("%s does not say %q", what, text)
		}
	}
}

func lacks(t *testing.T, what string, a answer, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(a.body, text) {
			t.Errorf("%s has %q", what, text)
		}
	}
}

func TestAViewerIsOfferedNothingAndRefusedEverything(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	id := admin.Entry(servertest.Body{"name": "Jose Reyes", "tags": []string{"payroll"}})
	rm := admin.Post("/v1/directory/"+id+"/receiving-methods", servertest.Body{"provider": "BPI", "account_name": "Jose", "account_id": "0049871234567890"}).OK().Text("id")
	tag := admin.Get("/v1/directory/tags?workspace_id=" + n.First.WorkspaceID).OK().Column("id")[0]
	viewer := n.Member(t, "viewer@example.com", "viewer")
	v := browse(t, n, "viewer@example.com")

	list := v.get(room(n, "/directory"))
	holds(t, "the list", list, http.StatusOK, "Jose Reyes")
	lacks(t, "the list", list, "/directory/new", "/directory/deleted")
	entry := v.get(room(n, "/directory/"+id))
	holds(t, "the entry", entry, http.StatusOK, "ws.receiving.read")
	lacks(t, "the entry", entry, "/edit", "/delete\"", "/status\"", "/receiving", "BPI", "7890", "/audit")
	lacks(t, "the tags", v.get(room(n, "/directory/tags")), "<form method=\"post\" action=\"/w", "/directory/tags/")

	for _, page := range []struct{ path, permission string }{
		{"/directory/new", "ws.directory.write"},
		{"/directory/deleted", "ws.directory.delete"},
		{"/directory/" + id + "/edit", "ws.directory.write"},
		{"/directory/" + id + "/receiving/new", "ws.receiving.write"},
		{"/directory/" + id + "/receiving/" + rm, "ws.receiving.write"},
		{"/directory/tags/" + tag, "ws.tags.write"},
	} {
		holds(t, page.path, v.get(room(n, page.path)), http.StatusForbidden, page.permission)
	}
	for _, form := range []struct {
		path, permission, action string
		pairs                    []string
	}{
		{"/directory", "ws.directory.write", "directory.entry.created", []string{"type", "person", "field-first-name", "Eve"}},
		{"/directory/" + id, "ws.directory.write", "directory.entry.updated", []string{"label", "Eve"}},
		{"/directory/" + id + "/status", "ws.directory.write", "directory.entry.updated", []string{"status", "inactive"}},
		{"/directory/" + id + "/delete", "ws.directory.delete", "directory.entry.deleted", nil},
		{"/directory/" + id + "/restore", "ws.directory.delete", "directory.entry.restored", nil},
		{"/directory/" + id + "/receiving", "ws.receiving.write", "directory.receiving_method.added", []string{"provider", "X", "account_name", "Y", "account_id", "Z"}},
		{"/directory/" + id + "/receiving/" + rm, "ws.receiving.write", "directory.receiving_method.updated", []string{"provider", "X", "account_name", "Y"}},
		{"/directory/" + id + "/receiving/" + rm + "/default", "ws.receiving.write", "directory.receiving_method.updated", nil},
		{"/directory/" + id + "/receiving/" + rm + "/remove", "ws.receiving.write", "directory.receiving_method.removed", nil},
		{"/directory/tags", "ws.tags.write", "directory.tag.created", []string{"name", "mine"}},
		{"/directory/tags/" + tag, "ws.tags.write", "directory.tag.updated", []string{"name", "mine", "applies_to", "all"}},
		{"/directory/tags/" + tag + "/delete", "ws.tags.write", "directory.tag.deleted", nil},
	} {
		before := n.Contents(t)
		holds(t, form.path, v.post(room(n, form.path), form.pairs...), http.StatusForbidden, form.permission)
		after := n.Contents(t)
		row := admin.Get("/v1/audit?limit=1&workspace_id=" + n.First.WorkspaceID).OK().List()[0]
		if row["outcome"] != "denied" || row["action"] != form.action || row["actor_id"] != viewer.UserID {
			t.Errorf("refusing %s leaves the row %v", form.path, row)
		}
		delete(before, "audit_entry")
		delete(after, "audit_entry")
		for table := range before {
			if !slices.Equal(before[table], after[table]) {
				t.Errorf("refusing %s changed %s", form.path, table)
			}
		}
	}
}

func TestAMemberMakesNoTagsByAnEntry(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	id := admin.Entry(servertest.Body{"fields": servertest.Body{"first-name": "Ada"}, "tags": []string{"payroll"}})
	member := n.Member(t, "member@example.com", "member")
	v := browse(t, n, "member@example.com")
	form := v.get(room(n, "/directory/new"))
	holds(t, "the form", form, http.StatusOK, "tags that exist already")
	lacks(t, "the form", form, "created automatically")

	// What was typed is still there.
	const refusal = "Permission ws.tags.write is required to create the tag fresh."
	holds(t, "a new entry", v.post(room(n, "/directory"), append(shown(form, "once", "type"), "field-first-name", "Grace", "tag", "payroll", "more-tags", "fresh")...),
		http.StatusForbidden, refusal, `value="Grace"`, `value="fresh"`, `value="payroll" checked`)
	edit := shown(v.get(room(n, "/directory/"+id+"/edit")), "was", "was-label", "was-name", "was-tag", "from")
	holds(t, "an entry", v.post(room(n, "/directory/"+id), append(edit, "field-first-name", "Ada", "label", "Ada", "more-tags", "fresh")...), http.StatusForbidden, refusal)
	for _, action := range []string{"directory.entry.created", "directory.entry.updated"} {
		if got := admin.Get("/v1/audit?outcome=denied&workspace_id=" + n.First.WorkspaceID + "&action=" + action).OK().Column("actor_id"); !slices.Equal(got, []string{member.UserID}) {
			t.Errorf("%s was refused to %v", action, got)
		}
	}
	holds(t, "with a tag that exists", v.post(room(n, "/directory"), append(shown(v.get(room(n, "/directory/new")), "once", "type"), "field-first-name", "Grace", "more-tags", "PAYROLL")...),
		http.StatusOK, "Added to the directory.")
}

// The pages that change a receiving method show its number masked, so they leave no row
// that tells otherwise.
func TestChangingAReceivingMethodShowsNoNumber(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	id := admin.Entry(servertest.Body{"name": "Jose Reyes"})
	rm := admin.Post("/v1/directory/"+id+"/receiving-methods", servertest.Body{"provider": "BPI", "account_name": "Jose", "account_id": "0049871234567890"}).OK().Text("id")
	v := browse(t, n, adminEmail)
	n.Unchanged(t, func() {
		for _, path := range []string{"", "/edit", "/receiving/new", "/receiving/" + rm} {
			lacks(t, path, v.get(room(n, "/directory/"+id+path)), "0049871234567890")
		}
		v.post(room(n, "/directory/"+id+"/receiving/"+rm), "provider", "BPI", "account_name", "Jose")
		v.post(room(n, "/directory/"+id+"/receiving/"+rm+"/default"))
	})
}

// shown reads the hidden inputs of a form as names and values.
func shown(a answer, names ...string) []string {
	var pairs []string
	for _, name := range names {
		for rest := a.body; ; {
			_, after, found := strings.Cut(rest, `name="`+name+`" value="`)
			if !found {
				break
			}
			value, left, _ := strings.Cut(after, `"`)
			pairs, rest = append(pairs, name, unescape(value)), left
		}
	}
	return pairs
}

func unescape(text string) string {
	return strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&#43;", "+", "&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text)
}

func TestTwoPeopleCanEditOneEntry(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := startOn(t, store)
		v := browse(t, n, adminEmail)
		admin := n.Admin(t)
		id := admin.Entry(servertest.Body{"fields": servertest.Body{"first-name": "Ada", "phone": 5550100, "old": "x", "count": 7}, "tags": []string{"a", "b"}})
		form := v.get(room(n, "/directory/"+id+"/edit"))
		admin.Patch("/v1/directory/"+id, servertest.Body{"fields": servertest.Body{"phone": "+1", "email": "ada@example.com"}, "tags": []string{"a", "b", "c"}}).OK()

		sent := append(shown(form, "was", "was-label", "was-name", "was-tag", "from"),
			"label", "Ada", "field-first-name", "Ada", "field-last-name", "Lovelace", "field-email", "", "field-phone", "5550100", "tag", "b", "more-tags", "d")
		for _, pair := range [][2]string{{"amount", "7"}, {"old", "x"}} { // in the order of the form: count, renamed, and old
			sent = append(sent, "key", pair[0], "value", pair[1])
		}
		holds(t, "saving", v.post(room(n, "/directory/"+id), sent...), http.StatusOK, "Changes saved.", "Ada Lovelace")
		entry := admin.Get("/v1/directory/" + id).OK().Object()
		fields := entry["fields"].(map[string]any)
		want := map[string]any{"first-name": "Ada", "last-name": "Lovelace", "phone": "+1", "email": "ada@example.com", "old": "x", "amount": 7.0}
		for key, value := range want {
			if fields[key] != value {
				t.Errorf("%s is %v, want %v", key, fields[key], value)
			}
		}
		if len(fields) != len(want) {
			t.Errorf("the fields are %v", fields)
		}
		var tags []string
		for _, tag := range entry["tags"].([]any) {
			tags = append(tags, tag.(string))
		}
		if !slices.Equal(tags, []string{"b", "c", "d"}) {
			t.Errorf("the tags are %q", tags)
		}
	})
}

func TestAFormSentTwiceMakesOneEntry(t *testing.T) {
	t.Parallel()
	n := start(t)
	v := browse(t, n, adminEmail)
	form := append(shown(v.get(room(n, "/directory/new?type=organization")), "once", "type"), "field-name", "Babbage & Co")
	first := v.post(room(n, "/directory"), form...)
	second := v.post(room(n, "/directory"), form...)
	holds(t, "the first time", first, http.StatusOK, "Babbage &amp; Co")
	if first.path != second.path {
		t.Errorf("the form led to %s, then to %s", first.path, second.path)
	}
	if got := n.Admin(t).Entries().OK().Column("label"); len(got) != 1 {
		t.Errorf("the directory has %q", got)
	}
}

func TestCustomFieldsKeepTheirType(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	id := admin.Post("/v1/directory", `{"workspace_id": "`+n.First.WorkspaceID+`", "type": "person", "fields": {
		"a": 1.50, "b": [1, 2], "c": "3", "d": null, "e": "", "f": true}}`).OK().Text("id")
	v := browse(t, n, adminEmail)
	was := shown(v.get(room(n, "/directory/"+id+"/edit")), "was", "was-label", "from")
	edit := func(values ...string) string {
		sent := append(slices.Clone(was), "label", "Unnamed person")
		for i, key := range []string{"a", "b", "c", "d", "e", "f"} {
			sent = append(sent, "key", key, "value", values[i])
		}
		holds(t, "saving", v.post(room(n, "/directory/"+id), sent...), http.StatusOK, "Changes saved.")
		return fieldsOf(t, n, id)
	}
	untouched := `{"a":1.50,"b":[1,2],"c":"3","d":null,"e":"","f":true}`
	if got := edit("1.50", "[1,2]", "3", "null", "", "true"); got != untouched {
		t.Errorf("untouched the fields are %s", got)
	}
	if got, want := edit("2.50", "none", "4", "5", "x", ""), `{"a":2.50,"b":"none","c":"4","d":"5","e":"x"}`; got != want {
		t.Errorf("edited the fields are %s, want %s", got, want)
	}
}
