package console_test

import (
	"strings"
	"testing"

	"bursar/internal/server/servertest"
)

func TestDoublesAreComparedMergedAndUnmerged(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	ada := admin.Entry(servertest.Body{"tags": []string{"speaker"}, "fields": servertest.Body{"first-name": "Ada", "last-name": "Lovelace", "email": "ada@example.com", "note": "Prefers to be paid monthly"}})
	admin.AddMethod(ada, servertest.Account("DE89370400440532013000"))
	neighbour := admin.Entry(servertest.Body{"name": "Neighbour"})
	admin.AddMethod(neighbour, servertest.Account("DE89 3704 0044 0532 0130 00"))

	page := open(t, n, member(t, n, "admin"), "/directory/new")
	page.Fill("First name", "ADA")
	page.Fill("Last name", "Lovelace")
	page.Fill("Email", "Ada@Example.com")
	page.Fill("Phone", "+44 20 7946 0958")
	page.ExpectStatus(422)
	page.ClickText("Add to directory")
	page.WaitText("It may be a double of Ada Lovelace (same email and name).")
	if !page.Has(`.notice a[href$="/directory/` + ada + `"]`) {
		t.Error("the other entry cannot be opened before this one is added")
	}
	page.Accessible("a form that may add a double")
	page.Shoot("directory-double-asked")
	page.ClickText("Add anyway")
	page.WaitText("Added to the directory.")
	double := page.URL()[strings.LastIndex(page.URL(), "/")+1:]
	admin.AddMethod(double, servertest.Account("22223333"))

	page.Goto(n.PublicURL + room(n, "/directory/"+ada))
	page.WaitText("May be a double of ADA Lovelace (same email and name).")
	page.WaitText("Shares a bank account with Neighbour.")
	page.Accessible("an entry that may be a double")
	page.Shoot("directory-double")
	page.ClickText("Compare and merge")
	page.WaitText("Choose the entries that are the same")
	page.Accessible("the page that compares doubles")
	page.Shoot("directory-merge")
	before := string(admin.Get("/v1/directory/" + ada).OK().Body)

	page.ExpectStatus(400)
	page.Click(`[name="source"]`)
	page.ClickText("Merge into Ada Lovelace")
	page.ClickText("Merge")
	page.WaitText("Choose at least one entry to merge.")
	page.Click(`[name="source"]`)
	page.Click(`[name="take:fields.email"][value="` + double + `"]`)
	page.ClickText("Merge into Ada Lovelace")
	page.ClickText("Merge")
	page.WaitText("Merged. You can undo it within 30 days.")
	page.Shoot("directory-merged")
	got := admin.Get("/v1/directory/" + ada).OK().Object()["fields"].(servertest.Body)
	if got["email"] != "Ada@Example.com" || got["first-name"] != "Ada" || got["phone"] != "+44 20 7946 0958" {
		t.Errorf("the fields are %v", got)
	}

	page.Goto(n.PublicURL + room(n, "/directory/"+double))
	page.WaitText("This entry was merged into Ada Lovelace.")
	page.Accessible("an entry that was merged")
	page.Shoot("directory-merged-source")
	page.ClickText("Undo the merge")
	page.WaitText("The merge was undone.")
	if got := string(admin.Get("/v1/directory/" + ada).OK().Body); got != before {
		t.Errorf("after the undo: %s, before: %s", got, before)
	}
}

func TestDoublesAreMergedWithoutScripts(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	one, other, third := admin.Entry(servertest.Body{"name": "Twin"}), admin.Entry(servertest.Body{"name": "TWIN"}), admin.Entry(servertest.Body{"name": "Somebody"})
	visitor := browse(t, n, member(t, n, "admin"))
	page := visitor.get(room(n, "/directory/"+one+"/merge?source="+third)).body
	if !strings.Contains(page, `value="`+other+`">`) || !strings.Contains(page, `value="`+third+`" checked>`) {
		t.Errorf("the page offers neither the double nor the named entry: %s", page)
	}
	visitor.post(room(n, "/directory/"+one+"/merge"), "source", other, "take:name", other, "take:label", third)
	if got := admin.Get("/v1/directory/" + one).OK().Text("label"); got != "TWIN" {
		t.Errorf("the entry is called %q", got)
	}
	merge := admin.Get("/v1/directory/merges?workspace_id=" + n.First.WorkspaceID).OK().Column("id")[0]
	admin.Patch("/v1/directory/"+one, servertest.Body{"status": "inactive"}).OK()
	if page := visitor.post(room(n, "/directory/merges/"+merge+"/undo")).body; !strings.Contains(page, "The merge cannot be undone: changed since: status") {
		t.Errorf("the page does not say why it was not undone: %s", page)
	}
	stranger := n.Tenant(t)
	foreign := stranger.Owner.Post("/v1/directory", servertest.Body{"workspace_id": stranger.WorkspaceID, "type": "person", "fields": servertest.Body{}}).OK().Text("id")
	if got := visitor.get(room(n, "/directory/"+one+"/merge?source="+foreign)).status; got != 404 {
		t.Errorf("the entry of another tenant is answered by %d", got)
	}

	admin.Patch("/v1/workspaces/"+n.First.WorkspaceID, servertest.Body{"on_duplicate": "refuse"}).OK()
	page = visitor.post(room(n, "/directory"), "type", "person", "field-name", "Somebody", "label", "Somebody").body
	if !strings.Contains(page, "does not take doubles, and the entry may be one: of Somebody (same name)") {
		t.Errorf("the form does not say which entry is the same: %s", page)
	}
}
