package console_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// somePeople adds Person 00, Person 01 and so on.
func somePeople(t *testing.T, n *servertest.Node, count int) {
	t.Helper()
	var file strings.Builder
	file.WriteString("type,name\n")
	for i := range count {
		fmt.Fprintf(&file, "person,Person %02d\n", i)
	}
	n.Admin(t).Import(file.String())
}

func statuses(t *testing.T, n *servertest.Node, status string) int {
	t.Helper()
	return n.Count(t, `SELECT count(*) FROM directory_entry WHERE deleted_at IS NULL AND status = $1`, status)
}

func TestManyEntriesAreSelectedAndChanged(t *testing.T) {
	t.Parallel()
	n := start(t)
	somePeople(t, n, 30)
	page := open(t, n, adminEmail, "/directory?sort=label")
	disabled := func() (is bool) { page.Eval(`document.querySelector("button[value=tag]").disabled`, &is); return is }
	if !disabled() {
		t.Error("nothing is selected, and can be changed")
	}
	page.Check("Select Person 00")
	page.Check("Select Person 02")
	page.WaitText("2 selected")
	page.Accessible("a list with selected entries")
	page.Shoot("directory-selected")
	page.ClickText("Tag")
	page.WaitText("Tag 2 entries")
	page.Accessible("the form of a tag for many")
	page.Shoot("directory-bulk-tag")
	page.Fill("Tag", "vip")
	page.ClickText("Tag 2 entries")
	page.WaitText("2 entries tagged vip.")
	page.WaitURL("sort=label")
	if got := len(page.Texts("table .chip")); got != 2 {
		t.Errorf("%d entries of the list have the tag", got)
	}
	page.ClickText("Undo")
	page.WaitText("2 entries untagged vip.")

	page.Goto(n.PublicURL + room(n, "/directory?sort=label"))
	page.Check("Select this page")
	page.WaitText("25 selected")
	page.ClickText("Deactivate")
	page.WaitText("25 entries deactivated.")
	if got := statuses(t, n, "inactive"); got != 25 {
		t.Errorf("%d are inactive", got)
	}
	page.Check("All entries, on all pages")
	page.ClickText("Delete")
	page.WaitText("Delete 30 entries")
	page.Accessible("the question before many are deleted")
	page.Shoot("directory-bulk-delete")
	page.ClickText("Delete 30 entries")
	page.WaitText("30 entries deleted.")
	page.WaitText("No entries yet")
	page.ClickText("Undo")
	page.WaitText("30 entries restored.")
	if got := statuses(t, n, "inactive"); got != 25 {
		t.Errorf("after the undo %d are inactive", got)
	}

	page.Check("Select Person 29")
	name, data := page.DownloadBy(func() { page.ClickText("Export selected") })
	if name != "directory.csv" || strings.Count(string(data), "\n") != 2 || !strings.Contains(string(data), "Person 29") {
		t.Errorf("the export %s is\n%s", name, data)
	}
	if disabled() {
		t.Error("after a download nothing can be changed")
	}
}

func TestALargeChangeShowsItsProgress(t *testing.T) {
	t.Parallel()
	n := start(t)
	somePeople(t, n, 1200)
	page := open(t, n, adminEmail, "/directory")
	page.Check("All entries, on all pages")
	page.ClickText("Deactivate")
	page.WaitText("Deactivate 1200 entries")
	page.ClickText("Deactivate 1200 entries")
	page.WaitText("0 of 1200 entries")
	page.Accessible("the progress of a large change")
	page.Shoot("directory-bulk-progress")
	page.Eval(`(() => { window.kept = true; document.querySelector("main form button").focus(); document.querySelector("#state").textContent = "old"; })()`, nil)
	page.WaitText("0 of 1200 entries")
	var kept bool
	if page.Eval(`window.kept === true && document.activeElement.textContent === "Cancel"`, &kept); !kept {
		t.Error("the page was loaded again while it waits, or took the focus away")
	}
	n.RunImports(t)
	page.WaitText("1200 entries deactivated.")
	page.WaitText("Done")
	page.Accessible("a large change that has ended")
	page.Shoot("directory-bulk-done")
	page.ClickText("Undo")
	page.WaitText("0 of 1200 entries")
	page.ClickText("Cancel")
	page.WaitText("Cancelled")
	n.RunImports(t)
	if got := statuses(t, n, "inactive"); got != 1200 {
		t.Errorf("%d are inactive", got)
	}
}

func TestManyEntriesAreChangedWithoutScripts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := startOn(t, store)
		somePeople(t, n, 3)
		v := browse(t, n, adminEmail)
		ids := n.Admin(t).Entries("sort", "label").OK().Column("id")
		path, list := room(n, "/directory/bulk"), "q=person&status=active"

		holds(t, "nothing selected", v.post(path, "action", "tag"), 200, "Select at least one entry.")
		holds(t, "a list that cannot be read", v.post(path, "action", "delete", "all", "yes", "list", "q=%zz", "confirmed", "yes"), 200, "Select at least one entry.")
		holds(t, "no tag", v.post(path, "action", "tag", "id", ids[0], "id", ids[1]), 200, "Tag 2 entries", `name="tag"`, ids[0])
		holds(t, "a tag that nobody has", v.post(path, "action", "untag", "id", ids[0], "tag", "ghost"), 400, "Is not a tag of the workspace.")
		tagged := v.post(path, "action", "tag", "id", ids[0], "tag", "vip", "list", list)
		holds(t, "tag", tagged, 200, "1 entry tagged vip.", "/undo")
		if !strings.Contains(tagged.path, "/directory") || !strings.Contains(tagged.body, `value="active" selected`) {
			t.Errorf("it leads to %s", tagged.path)
		}
		holds(t, "all that match", v.post(path, "action", "deactivate", "all", "yes", "list", list), 200, "Deactivate 3 entries", `name="confirmed"`)
		holds(t, "a filter that is none", v.post(path, "action", "deactivate", "all", "yes", "list", "q=%21"), 400, "must have a word")
		if got := statuses(t, n, "inactive"); got != 0 {
			t.Errorf("%d were deactivated without a confirmation", got)
		}
		holds(t, "confirmed", v.post(path, "action", "deactivate", "all", "yes", "list", list, "confirmed", "yes"), 200, "3 entries deactivated.")
		holds(t, "delete", v.post(path, "action", "delete", "id", ids[0]), 200, "Delete 1 entry", "restored for 30 days")
		once := []string{"action", "delete", "id", ids[0], "confirmed", "yes", "once", "abc"}
		for range 2 {
			holds(t, "deleted", v.post(path, once...), 200, "1 entry deleted.")
		}
		file := v.post(path, "action", "export", "id", ids[1], "id", ids[2])
		if file.status != 200 || strings.Count(file.body, "\n") != 3 {
			t.Errorf("the export is %d %s", file.status, file.body)
		}
		if file := v.post(path, "action", "export", "all", "yes", "list", "tag=vip"); strings.Count(file.body, "\n") != 1 {
			t.Errorf("the export of what matches is %s", file.body)
		}

		sorted := v.post(path, "action", "export", "all", "yes", "list", "sort=-label").body
		if first, last := strings.Index(sorted, "Person 02"), strings.Index(sorted, "Person 01"); first < 0 || first > last {
			t.Errorf("the export is not in the order of the list:\n%s", sorted)
		}
		viewer := browse(t, n, member(t, n, "viewer"))
		lacks(t, "the list of a viewer", viewer.get(room(n, "/directory")), `value="deactivate"`, `value="delete"`)
		holds(t, "a viewer's question", viewer.post(path, "action", "delete", "all", "yes"), 403)
		other := n.Tenant(t)
		theirs := other.Owner.Post("/v1/directory/bulk", servertest.Body{"workspace_id": other.WorkspaceID, "action": "deactivate", "filter": servertest.Body{}}).OK().Text("id")
		holds(t, "a bulk of another tenant", v.get(room(n, "/directory/bulk/"+theirs)), 404)
		holds(t, "its undo", v.post(room(n, "/directory/bulk/"+theirs+"/undo")), 404)
	})
}

func TestTagsAreEditedOnThePageOfAPayee(t *testing.T) {
	t.Parallel()
	n := start(t)
	id := n.Admin(t).Entry(servertest.Body{"name": "Ada", "tags": []string{"vip", "math"}})
	page := open(t, n, adminEmail, "/directory/"+id)
	page.Fill("Add tags", "blue, green")
	page.ClickText("Add")
	page.WaitText("Tags changed.")
	page.ClickText("Remove the tag vip")
	page.WaitText("Tags changed.")
	page.Accessible("an entry with tags")
	page.Shoot("directory-entry-tags")
	tags := func() string { return fmt.Sprint(n.Admin(t).Get("/v1/directory/" + id).OK().Object()["tags"]) }
	if tags() != "[blue green math]" {
		t.Errorf("the tags are %s", tags())
	}

	v := browse(t, n, adminEmail) // without scripts
	path := room(n, "/directory/"+id+"/tags")
	holds(t, "add", v.post(path, "add", "red"), 200, "Tags changed.", "red")
	holds(t, "remove", v.post(path, "remove", "blue"), 200, "Tags changed.")
	holds(t, "too long", v.post(path, "add", strings.Repeat("x", 65)), 200, "The tags were not changed.")
	if tags() != "[green math red]" {
		t.Errorf("the tags are %s", tags())
	}
	lacks(t, "a viewer's page", browse(t, n, member(t, n, "viewer")).get(room(n, "/directory/"+id)), "Add tags")
}

// What a list shows is in its address: it survives a reload and another browser, and an entry leads
// back to it.
func TestAListIsInItsAddress(t *testing.T) {
	t.Parallel()
	n := start(t)
	somePeople(t, n, 60)
	page := open(t, n, adminEmail, "/directory?status=active&sort=label")
	page.ClickText("Next page")
	page.WaitText("Person 30")
	here := page.URL()
	rows := page.Texts("table .rowlink")
	same := func(what string) {
		t.Helper()
		page.WaitText("Person 30")
		if got := page.Texts("table .rowlink"); page.URL() != here || !slices.Equal(got, rows) {
			t.Errorf("%s shows %v at %s", what, got, page.URL())
		}
	}
	page.Reload()
	same("a reload")
	page.ClickText("Person 30")
	page.WaitText("Add tags")
	page.Back()
	same("the back button")
	page.ClickText("Person 30")
	page.Fill("Add tags", "vip")
	page.ClickText("Add")
	page.WaitText("Tags changed.")
	page.ClickText("Edit")
	page.Fill("Phone", "+63 917 555 0101")
	page.ClickText("Save")
	page.WaitText("Changes saved.")
	page.Click(".crumbs a")
	same("the way back from an entry")

	address, err := url.Parse(here)
	if err != nil {
		t.Fatal(err)
	}
	other := browse(t, n, member(t, n, "viewer")).get(address.RequestURI())
	holds(t, "another browser", other, 200, rows[0], rows[24])
	lacks(t, "another browser", other, "Person 00")
	lacks(t, "a list that is none", browse(t, n, adminEmail).get(room(n, "/directory/"+n.Admin(t).Entries().OK().Column("id")[0])+"?list="+url.QueryEscape("evil=1&//x")), "evil")
}
