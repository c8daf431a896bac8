package console_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"bursar/internal/browsertest"
	"bursar/internal/server/servertest"
)

func TestDirectoryStartsEmptyAndTakesAPersonAndAnOrganization(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := open(t, n, adminEmail, "/directory")
	page.WaitText("No entries yet")
	page.Accessible("the empty directory")
	page.Shoot("directory-empty")

	page.ClickText("New person")
	page.Accessible("the form of a new person")
	page.Shoot("directory-new-person")
	page.Fill("First name", "Ada")
	page.Fill("Last name", "Lovelace")
	page.Fill("Email", "ada@engine.example")
	page.Fill("Phone", "+63 917 555 0101")
	page.Fill("Tags", "contractor, maths")
	page.ClickText("Add field")
	page.Fill("Field", "tax-id")
	page.Fill("Value", "123-456-789")
	page.ClickText("Add to directory")
	page.WaitText("Added to the directory.")
	if got := page.Text("h1"); !strings.HasPrefix(got, "Ada Lovelace") {
		t.Errorf("the entry is called %q", got)
	}
	want := []string{"Ada", "Lovelace", "ada@engine.example", "+63 917 555 0101", "123-456-789"}
	if got := page.Texts("section:first-child .kv dd"); !slices.Equal(got, want) {
		t.Errorf("the fields are %q, want %q", got, want)
	}
	if got := page.Texts(".chip a"); !slices.Equal(got, []string{"contractor", "maths"}) {
		t.Errorf("the tags are %q", got)
	}

	page.ClickText("Directory")
	page.ClickText("New organization")
	page.Accessible("the form of a new organization")
	page.Shoot("directory-new-organization")
	page.Fill("Name", "Babbage & Co")
	page.Fill("Industry", "Machinery")
	page.Check("contractor")
	page.ClickText("Add to directory")
	page.WaitText("Babbage & Co")
	if got := page.Texts(".chip a"); !slices.Equal(got, []string{"contractor"}) {
		t.Errorf("the tags of the organization are %q", got)
	}
	if got := n.Admin(t).Entries().OK().Column("label"); !slices.Equal(got, []string{"Babbage & Co", "Ada Lovelace"}) {
		t.Errorf("the directory has %q", got)
	}
}

// some adds a few entries. One of them is inactive.
func some(t *testing.T, n *servertest.Node) {
	t.Helper()
	admin := n.Admin(t)
	for _, e := range []struct {
		kind   string
		fields servertest.Body
		tags   []string
	}{
		{"organization", servertest.Body{"name": "Manila Freight", "industry": "Logistics", "email": "billing@manilafreight.example"}, []string{"vendor", "logistics"}},
		{"person", servertest.Body{"first-name": "Jose", "last-name": "Reyes", "email": "jose@example.com", "phone": "+63 917 555 0199"}, []string{"payroll"}},
		{"person", servertest.Body{"first-name": "Maria", "last-name": "Santos", "email": "maria@example.com"}, []string{"payroll", "remote"}},
		{"organization", servertest.Body{"name": "Santos Catering", "industry": "Food", "phone": "+63 2 8555 0100"}, []string{"vendor"}},
	} {
		admin.Entry(servertest.Body{"type": e.kind, "fields": e.fields, "tags": e.tags})
	}
	admin.Patch("/v1/directory/"+admin.Entries("q", "jose").OK().Column("id")[0], servertest.Body{"status": "inactive"}).OK()
}

func TestDirectorySearchesWhileTyping(t *testing.T) {
	t.Parallel()
	n := start(t)
	some(t, n)
	page := open(t, n, adminEmail, "/directory")
	page.WaitText("4 entries shown")
	page.Accessible("the directory")
	page.Shoot("directory")

	page.Fill("Search", "sant")
	page.WaitGone("Manila Freight")
	page.WaitURL("q=sant")
	if got := page.Texts("tbody th a"); !slices.Equal(got, []string{"Santos Catering", "Maria Santos"}) {
		t.Errorf("the search found %q", got)
	}
	page.WaitText("2 entries shown")
	page.Reload()
	if got := page.Value("Search"); got != "sant" {
		t.Errorf("after a reload the search is for %q", got)
	}
	page.WaitGone("Manila Freight")

	page.Fill("Search", "nobody at all")
	page.WaitText("No matching entries")
	page.Accessible("a search that finds nothing")
	page.Shoot("directory-nothing-found")
	page.ClickText("Show all entries")
	page.WaitText("4 entries shown")

	page.Allow("422")
	page.Fill("Search", "one two three four five six seven eight nine")
	page.WaitText("at most 8 words")
	page.Accessible("a search that is refused")
}

func TestDirectoryIsCompactOnAPhone(t *testing.T) {
	t.Parallel()
	n := start(t)
	some(t, n)
	page := open(t, n, adminEmail, "/directory", browsertest.Phone())
	if got := page.Texts("tbody .brief"); !slices.Equal(got, []string{
		"Organization · Food · +63 2 8555 0100", "Person · maria@example.com", "Person · jose@example.com · Inactive", "Organization · Logistics · billing@manilafreight.example",
	}) {
		t.Errorf("the lines are %q", got)
	}
	if visible(page, "td[data-label=Email]") || visible(page, "td[data-label=Status]") || !visible(page, "td[data-label=Tags]") {
		t.Error("a line repeats what the others say, or the tags are missing")
	}
	page.SetViewport(1280, 800)
	if visible(page, "tbody .brief") || !visible(page, "td[data-label=Email]") {
		t.Error("on a wide screen the columns are missing, or said twice")
	}
}

func TestDirectoryFiltersAreInTheURL(t *testing.T) {
	t.Parallel()
	n := start(t)
	some(t, n)
	page := open(t, n, adminEmail, "/directory")
	rows := func() []string { return page.Texts("tbody th a") }

	page.Select("Type", "Organizations")
	page.WaitURL("type=organization")
	page.WaitGone("Jose Reyes")
	page.Select("Tag", "logistics")
	page.WaitURL("tag=logistics")
	page.WaitGone("Santos Catering")
	page.Reload()
	if got := rows(); !slices.Equal(got, []string{"Manila Freight"}) {
		t.Errorf("after a reload the filters leave %q", got)
	}
	if page.Value("Type") != "organization" || page.Value("Tag") != "logistics" {
		t.Errorf("after a reload the filters are %q and %q", page.Value("Type"), page.Value("Tag"))
	}
	page.ClickText("Clear filters")
	page.Select("Status", "Inactive")
	page.WaitGone("Manila Freight")
	page.WaitURL("status=inactive")
	if got := rows(); !slices.Equal(got, []string{"Jose Reyes"}) {
		t.Errorf("the inactive ones are %q", got)
	}
	page.Goto(n.PublicURL + room(n, "/directory?tag=gone"))
	page.WaitText("No matching entries")
	if got := page.Value("Tag"); got != "gone" {
		t.Errorf("a tag that does not exist is shown as %q", got)
	}
}

func TestDirectoryGoesFromPageToPage(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	for i := range 60 {
		admin.Entry(servertest.Body{"name": fmt.Sprintf("Person %02d", i), "fields": servertest.Body{"team": "blue"}})
	}
	page := open(t, n, adminEmail, "/directory?q=blue")
	first := func() string { return page.Text("tbody th a") }
	steps := []struct{ click, first string }{
		{"Next page", "Person 34"}, {"Next page", "Person 09"}, {"Previous page", "Person 34"}, {"First page", "Person 59"}, {"Next page", "Person 34"},
	}
	for _, step := range steps {
		page.ClickText(step.click)
		if got := first(); got != step.first {
			t.Fatalf("%s leads to %s, want %s", step.click, got, step.first)
		}
		if got := page.Value("Search"); got != "blue" {
			t.Fatalf("%s forgets the search: %q", step.click, got)
		}
	}
	page.Accessible("a page in the middle of the directory")
	page.Shoot("directory-paged")

	page.Goto(strings.Replace(page.URL(), "q=blue", "q=person", 1)) // the cursor belongs to another search
	if got := first(); got != "Person 59" || strings.Contains(page.URL(), "cursor") {
		t.Errorf("a wrong cursor leads to %s at %s", got, page.URL())
	}
}

func TestDirectoryWorksWithoutScripts(t *testing.T) {
	t.Parallel()
	n := start(t)
	some(t, n)
	page := open(t, n, adminEmail, "/directory", browsertest.WithoutScripts())
	page.Fill("Search", "maria")
	page.ClickText("Search")
	if got := page.Texts("tbody th a"); !slices.Equal(got, []string{"Maria Santos"}) {
		t.Errorf("without scripts the search found %q", got)
	}
	page.ClickText("New organization")
	page.Fill("Name", "Plain Works")
	page.Fill(`.nojs .pair:nth-child(2) [name="key"]`, "founded")
	page.Fill(`.nojs .pair:nth-child(2) [name="value"]`, "1999")
	page.Shoot("directory-new-without-scripts")
	page.ClickText("Add to directory")
	page.WaitText("Plain Works")
	if got := page.Text("section:first-child .kv"); !strings.Contains(got, "founded") || !strings.Contains(got, "1999") {
		t.Errorf("the custom field is missing: %q", got)
	}
}

func TestDeletingCanBeUndone(t *testing.T) {
	t.Parallel()
	n := start(t)
	some(t, n)
	page := open(t, n, adminEmail, "/directory?q=maria")
	page.ClickText("Maria Santos")
	page.ClickText("Delete")
	page.WaitText("Maria Santos was deleted.")
	if slices.Contains(page.Texts("tbody th a"), "Maria Santos") {
		t.Error("a deleted entry is still listed")
	}
	page.Accessible("the directory after deleting")
	page.Shoot("directory-undo")
	page.ClickText("Undo")
	page.WaitText("Entry restored.")
	if got := page.Texts(".chip a"); !slices.Equal(got, []string{"payroll", "remote"}) {
		t.Errorf("after undo the tags are %q", got)
	}

	page.ClickText("Delete")
	page.ClickText("Deleted")
	page.WaitText("Maria Santos")
	page.Accessible("the deleted entries")
	page.Shoot("directory-deleted")
	page.ClickText("Restore Maria Santos")
	page.WaitText("Entry restored.")
	page.Goto(n.PublicURL + room(n, "/directory/deleted"))
	page.WaitText("No deleted entries")
	page.Accessible("no deleted entries")
	page.Shoot("directory-deleted-empty")
}

func TestDeletedEntriesComeInPages(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	for i := range 30 {
		admin.Delete("/v1/directory/" + admin.Entry(servertest.Body{"name": fmt.Sprintf("Person %02d", i)})).OK()
	}
	page := open(t, n, adminEmail, "/directory/deleted")
	if got := page.Text("tbody th"); got != "Person 29" {
		t.Errorf("the first page begins with %s", got)
	}
	page.ClickText("Next page")
	if got := page.Texts("tbody th"); len(got) != 5 || got[0] != "Person 04" {
		t.Errorf("the second page has %q", got)
	}
	page.ClickText("Newest")
	if got := page.Text("tbody th"); got != "Person 29" {
		t.Errorf("back at the first page it begins with %s", got)
	}
}

func TestTagsAreCreatedRenamedAndDeleted(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := open(t, n, adminEmail, "/directory/tags")
	page.WaitText("No tags yet")
	page.Accessible("no tags")
	page.Shoot("directory-tags-empty")
	page.Fill("Name", "vendor")
	page.Select("Used for", "Organizations")
	page.ClickText("Create tag")
	page.WaitText(`Tag "vendor" created.`)
	some(t, n)
	page.Reload()
	page.Accessible("the tags")
	page.Shoot("directory-tags")

	page.ExpectStatus(422)
	page.Fill("Name", "VENDOR")
	page.ClickText("Create tag")
	page.WaitText("There is a tag")
	page.Accessible("a tag that exists")
	page.Shoot("directory-tags-problem")

	page.ClickText("Edit tag payroll")
	page.Accessible("the form of a tag")
	page.Shoot("directory-tag")
	page.Select("Used for", "Organizations")
	page.ClickText("Save")
	page.WaitText("Entries that are not of type organization have the tag")
	page.Select("Used for", "People")
	page.Fill("Name", "staff")
	page.ClickText("Save")
	page.WaitText(`Tag "staff" saved.`)
	page.ClickText("Entries tagged staff")
	page.WaitURL("tag=staff")
	page.WaitText("2 entries shown")

	page.ClickText("Tags")
	page.ClickText("Delete tag staff")
	page.WaitText("Delete tag staff and remove it from all entries?")
	page.Accessible("the question before a tag is deleted")
	page.ClickText("Delete")
	page.WaitText(`Tag "staff" deleted and removed from all entries.`)
	if tags := n.Admin(t).Get("/v1/directory/tags?" + url.Values{"workspace_id": {n.First.WorkspaceID}}.Encode()).OK().Column("name"); slices.Contains(tags, "staff") {
		t.Errorf("the tags are %q", tags)
	}
}

func TestTheDirectoryIsSortedByItsHeads(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	for _, name := range []string{"beta", "Álvaro", "Zed", "alma"} {
		admin.Entry(servertest.Body{"label": name, "type": "person"})
	}
	shown := func(page *browsertest.Page) (names []string) {
		page.Eval(`[...document.querySelectorAll("table.payees .rowlink")].map((a) => a.textContent)`, &names)
		return names
	}
	for how, options := range map[string][]browsertest.Option{"with scripts": nil, "without scripts": {browsertest.WithoutScripts()}} {
		t.Run(how, func(t *testing.T) {
			page := open(t, n, adminEmail, "/directory?type=person", options...)
			page.Click("table.payees th a.sort")
			page.WaitText("4 entries shown, by name")
			if got := shown(page); !slices.Equal(got, []string{"alma", "Álvaro", "beta", "Zed"}) {
				t.Errorf("sorted by name: %q", got)
			}
			page.Accessible("directory-sorted")
			page.Shoot("directory-sorted")
			page.Click("table.payees th a.sort")
			page.WaitText("4 entries shown, by name from the end")
			if got := shown(page); !slices.Equal(got, []string{"Zed", "beta", "Álvaro", "alma"}) {
				t.Errorf("sorted by name from the end: %q", got)
			}
			page.WaitURL("type=person")
		})
	}
}
