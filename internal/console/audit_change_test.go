package console_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/browsertest"
	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

// record adds a row to the log of the first workspace, as a mutation does.
func record(t *testing.T, n *servertest.Node, action audit.Action, resourceID, description string, changes audit.Changes) {
	t.Helper()
	by := db.Caller{Actor: audit.Actor{Type: audit.User, ID: "usr_gone", Name: "Grace Hopper", Email: "grace@example.com"}}
	event := audit.Event{Action: action, WorkspaceID: n.First.WorkspaceID, ResourceID: resourceID, Description: description, Changes: changes}
	if err := db.Record(t.Context(), n.DB, by, event, nil); err != nil {
		t.Fatal(err)
	}
}

// erase removes what is personal in a row.
func erase(t *testing.T, n *servertest.Node, id string) {
	t.Helper()
	_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), tx.Exec(`UPDATE audit_log SET personal = NULL, salt = NULL, erased = $1 WHERE id = $2`, make([]byte, 32), db.PackID("aud", id))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// allKinds are changes of every kind of value.
func allKinds() audit.Changes {
	var c audit.Changes
	c.Add("status", "active", "inactive")
	c.Add("fields.phone", nil, "+63 917 555 0101")
	c.Add("fields.note", "one\ntwo", json.RawMessage(`""`))
	c.Add("fields.address", map[string]any{"city": "Makati", "zip": 1200}, nil)
	c.Add("fields.biography", strings.Repeat("x", 5000), strings.Repeat("An engine that weaves. ", 60))
	c.Add("fields.<b>salary</b>", 120, 12345678.5)
	c.Add("tags", []string{"staff"}, []string{"staff", "speaker"})
	c.Add("account_id", audit.Mask("1234567890"), audit.Mask("0987654321"))
	c.Add("expires_at", nil, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli())
	return c
}

// changeRows are the rows of a table of changes: caption, before and after.
func changeRows(page *browsertest.Page, table string) (rows []string) {
	page.Eval(`[...document.querySelector("`+table+`").tBodies[0].rows].map((r) => [...r.cells].map((c) => c.innerText.replace(/\s+/g, " ").trim()).join(" | "))`, &rows)
	return rows
}

// narrow fails the test if the page is wider than a phone.
func narrow(t *testing.T, page *browsertest.Page) {
	t.Helper()
	var wide int
	page.SetViewport(375, 812)
	page.Eval("document.documentElement.scrollWidth", &wide)
	page.SetViewport(1280, 800)
	if wide > 375 {
		t.Errorf("on a phone the page is %d wide", wide)
	}
}

func TestAuditShowsOldBesideNew(t *testing.T) {
	t.Parallel()
	n := start(t)
	record(t, n, audit.EntryUpdated, "entry_1", "Updated person Ada Lovelace", allKinds())
	id := logged(t, n)[0].ID
	page := open(t, n, adminEmail, "/audit?action=directory.entry.updated", browsertest.Zone("Asia/Manila"))
	page.Reload() // the first visit tells the zone
	page.Click("#" + id + " summary")
	want := []string{
		"Status | active | inactive",
		"Phone fields.phone | – nothing | +63 917 555 0101",
		"note fields.note | one two | empty",
		`address fields.address | { "city": "Makati", "zip": 1200 } | – nothing`,
		"biography fields.biography | " + strings.Repeat("x", 64) + "… 5,000 bytes, SHA-256 ",
		"<b>salary</b> fields.<b>salary</b> | 120 | 12345678.5",
		`Tags | [ "staff" ] | [ "staff", "speaker" ]`,
		"Account number account_id | •••• 7890 | •••• 4321",
		"Expires at | – nothing | Jan 2, 2026, 11:04:05 AM",
	}
	compare := func(table string) {
		t.Helper()
		got := changeRows(page, table)
		if !slices.EqualFunc(got, want, func(got, want string) bool {
			return strings.HasPrefix(strings.ReplaceAll(got, "–nothing", "– nothing"), want)
		}) {
			t.Errorf("the changes are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if got := page.Texts(table + " thead th"); !slices.Equal(got, []string{"Field", "Before", "After"}) {
			t.Errorf("the columns are %q", got)
		}
	}
	compare("#" + id + "-detail table")
	page.WaitText("1 event")
	narrow(t, page)
	page.Accessible("audit-changes")
	page.Shoot("audit-changes")
	page.ClickText("Open this event")
	page.WaitText("What changed")
	compare("section[aria-labelledby=changes] table")
	narrow(t, page)
	page.Accessible("audit-row-changes")
	page.Shoot("audit-row-changes")
}

func TestAuditCountsRowsAndNotTheirChanges(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.RunBackground(t)
	page := open(t, n, adminEmail, "/audit?action=directory.entry.updated")
	page.WaitText("Live")
	record(t, n, audit.EntryUpdated, "entry_1", "Updated person Ada", allKinds())
	record(t, n, audit.EntryUpdated, "entry_1", "Updated person Ada again", allKinds())
	page.WaitText("Updated person Ada again")
	page.Reload()
	page.WaitText("2 events")
	record(t, n, audit.EntryUpdated, "entry_1", "Updated person Ada once more", allKinds())
	page.WaitText("3 events")
}

func TestAnErasedRowShowsWhatIsLeft(t *testing.T) {
	t.Parallel()
	n := start(t)
	entry := n.Admin(t).Entry(servertest.Body{"name": "Ada Lovelace"})
	record(t, n, audit.EntryUpdated, entry, "Updated person Ada Lovelace", allKinds())
	row := logged(t, n)[0]
	erase(t, n, row.ID)
	page := open(t, n, adminEmail, "/audit?action=directory.entry.updated")
	if got := page.Text("#" + row.ID); !strings.Contains(got, "Updated entry") || !strings.Contains(got, "Erased") || !strings.Contains(got, "usr_gone") {
		t.Errorf("the line is %q", got)
	}
	page.Click("#" + row.ID + " summary")
	page.WaitText("Erased: the names, addresses, description and changes were removed.")
	page.Accessible("audit-erased")
	page.Shoot("audit-erased")
	for _, path := range []string{"/audit/" + row.ID, "/directory/" + entry, ""} {
		page.Goto(n.PublicURL + room(n, path))
		page.WaitText("Erased")
		page.WaitText("Updated entry")
		if text := page.Text("main"); strings.Contains(text, "Grace Hopper") || strings.Contains(text, "Updated person") {
			t.Errorf("%s shows what was erased", path)
		}
		page.Accessible("erased" + path)
	}
	page.Goto(n.PublicURL + room(n, "/audit/"+row.ID))
	page.Shoot("audit-row-erased")
}

func TestAnEntrysPageShowsItsWholeHistory(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	entry, other := admin.Entry(servertest.Body{"name": "Ada Lovelace"}), admin.Entry(servertest.Body{"name": "Grace Hopper"})
	method := admin.AddMethod(entry, servertest.Account("1234567890"))
	admin.Patch("/v1/directory/"+entry+"/receiving-methods/"+method, servertest.Body{"account_name": "Ada King"}).OK()
	admin.Delete("/v1/directory/" + entry + "/receiving-methods/" + method).OK()
	want := []string{"Removed a receiving method of Ada Lovelace (bank)", "Updated a receiving method of Ada Lovelace (bank)",
		"Added a receiving method to Ada Lovelace (bank)", "Created person Ada Lovelace"}
	for i := range 12 {
		var changes audit.Changes
		changes.Add("fields.floor", i, i+1)
		text := fmt.Sprintf("Moved person Ada Lovelace to floor %d", i+1)
		record(t, n, audit.EntryUpdated, entry, text, changes)
		want = append([]string{text}, want...)
	}
	record(t, n, audit.EntryUpdated, entry, "Updated person Ada Lovelace", allKinds())
	want = append([]string{"Updated person Ada Lovelace"}, want...)

	const lines = "section[aria-labelledby=history] .feed > li"
	page := open(t, n, adminEmail, "/directory/"+entry)
	page.ClickText("9 changes")
	page.ClickText("1 change")
	page.WaitText("+63 917 555 0101")
	if got := changeRows(page, lines+":nth-child(2) table"); !slices.Equal(got, []string{"floor fields.floor | 11 | 12"}) {
		t.Errorf("the changes are %q", got)
	}
	narrow(t, page)
	page.Accessible("directory-history")
	page.Shoot("directory-history")
	first := page.URL()
	got := page.Texts(lines + " a")
	if len(got) != 10 {
		t.Errorf("a page of the history has %q", got)
	}
	page.ClickText("Show older")
	page.WaitText("Created person Ada Lovelace")
	page.Accessible("directory-history-older")
	page.Shoot("directory-history-older")
	if got = append(got, page.Texts(lines+" a")...); !slices.Equal(got, want) {
		t.Errorf("the history is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if page.Has(`a[rel="next"]`) {
		t.Error("after the oldest there are older ones")
	}
	_, cursor, _ := strings.Cut(page.URL(), "?")
	page.ClickText("Newest")
	page.WaitText("to floor 12")

	visitor := browse(t, n, adminEmail)
	cursor, _, _ = strings.Cut(cursor, "#")
	if got := visitor.get(room(n, "/directory/"+other+"?"+cursor)); got.path != room(n, "/directory/"+other) {
		t.Errorf("a page of the history of another entry leads to %d at %s", got.status, got.path)
	}
	n.Member(t, "viewer@example.com", "viewer")
	if got := browse(t, n, "viewer@example.com").get(strings.TrimPrefix(first, n.PublicURL)); got.status != 200 || strings.Contains(got.body, "floor 12") {
		t.Errorf("who may not read the log sees %d %s", got.status, got.body)
	}
}
