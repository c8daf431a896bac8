package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/browsertest"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// busy starts a server whose first workspace has audit entries of several kinds and people.
func busy(t *testing.T) *servertest.Node {
	t.Helper()
	n := start(t)
	admin := n.Admin(t)
	for _, name := range []string{"Ada Lovelace", "Grace Hopper", "=HYPERLINK(\"http://evil\")", "Zoë, \"the\" <b>bold</b>"} {
		admin.Patch("/v1/directory/"+admin.Entry(servertest.Body{"name": name, "tags": []string{"Staff"}}), servertest.Body{"status": "inactive"}).OK()
	}
	viewer := n.Member(t, "viewer@example.com", "viewer")
	viewer.Post("/v1/directory", servertest.Body{"workspace_id": n.First.WorkspaceID, "type": "person", "fields": servertest.Body{}}).Fails(http.StatusForbidden, "FORBIDDEN")
	return n
}

// logged lists the audit entries that the API returns for the same filters.
func logged(t *testing.T, n *servertest.Node, pairs ...string) []api.AuditEntry {
	t.Helper()
	admin := n.Admin(t)
	var rows []api.AuditEntry
	query := servertest.Query(append([]string{"limit", "100", "workspace_id", n.First.WorkspaceID}, pairs...)...)
	for next := query; ; {
		answer := admin.Get("/v1/audit?" + next).OK()
		var page []api.AuditEntry
		answer.Data(&page)
		rows = append(rows, page...)
		cursor, more := answer.Page()
		if !more {
			return rows
		}
		next = query + "&cursor=" + url.QueryEscape(cursor)
	}
}

// visible says whether an element is displayed.
func visible(page *browsertest.Page, selector string) (is bool) {
	page.Eval("document.querySelector("+strconv.Quote(selector)+").checkVisibility()", &is)
	return is
}

func TestAuditFiltersAreInTheURL(t *testing.T) {
	t.Parallel()
	n := busy(t)
	page := open(t, n, adminEmail, "/audit")
	page.Accessible("audit")
	page.Shoot("audit")
	page.Select("Outcome", "Denied")
	page.WaitURL("outcome=denied")
	page.WaitText("1 event")
	page.WaitGone("Ada Lovelace")
	page.Accessible("audit-filtered")
	page.Shoot("audit-filtered")
	page.Reload()
	page.WaitText("1 event")
	if got := page.Value("Outcome"); got != "denied" {
		t.Errorf("after a reload the outcome is %q", got)
	}
	page.Select("Action", "Updated entry")
	page.WaitText("No matching entries")
	page.Accessible("audit-none")
	page.Shoot("audit-none")
	page.Select("Outcome", "Any")
	page.WaitGone("outcome=denied")
	page.WaitText("4 events")
	page.Select("Who", "User viewer@example.com")
	page.WaitText("No matching entries")
	page.ClickText("Clear filters")
	page.WaitText("Ada Lovelace")
	if strings.Contains(page.URL(), "?") {
		t.Errorf("without filters the address is %s", page.URL())
	}
	created := logged(t, n, "action", "directory.entry.created", "outcome", "success")
	page.ClickText("Filter by ID")
	page.Fill("Resource ID", created[0].ResourceID)
	page.WaitURL("resource_id=" + created[0].ResourceID)
	page.WaitText("2 events")
	page.Fill("Resource ID", "")
	page.Fill("Actor ID", "usr_nobody")
	page.WaitText("No matching entries")
	page.Reload()
	if got := page.Value("Who"); got != "usr_nobody" {
		t.Errorf("the actor is %q", got)
	}
}

func TestAuditFiltersByTimeInTheReadersZone(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	n := startOn(t, store)
	happened(t, store, n, 3*24*time.Hour, outcomes(1, 0)...)
	happened(t, store, n, 2*24*time.Hour, outcomes(2, 0)...)
	manila, err := time.LoadLocation("Asia/Manila")
	if err != nil {
		t.Fatal(err)
	}
	first := logged(t, n, "action", "directory.entry.updated")[2]
	at := time.UnixMilli(first.Timestamp)
	minute := at.In(manila).Format("2006-01-02T15:04")

	page := browsertest.Open(t, browsertest.Zone("Asia/Manila"))
	signInAndOpen(t, n, page, adminEmail) // the first page tells the server the zone
	page.Goto(n.PublicURL + "/w/" + n.First.WorkspaceID + "/audit")
	page.WaitText("Times are in Asia/Manila")
	if visible(page, "#from") {
		t.Error("the times are asked for though no custom period is chosen")
	}
	page.Select("Period", "Custom")
	page.Fill("From", minute)
	page.WaitURL("period=custom&from=" + at.In(manila).Format("2006-01-02"))
	page.WaitText("4 events") // with the opening deposit
	page.Fill("To", minute)
	page.WaitText("1 event")
	if got := page.Texts("tbody tr:not(.detail) summary"); !slices.Equal(got, []string{"Updated person number 1"}) {
		t.Errorf("in that minute there are %q", got)
	}
	var when struct{ Text, Title, Exact string }
	page.Eval(`(() => { const time = document.querySelector("td[data-label=When] time"); return {Text: time.textContent, Title: time.title, Exact: time.dateTime} })()`, &when)
	exact := at.UTC().Format("2006-01-02T15:04:05.000Z")
	if !strings.Contains(when.Text, at.In(manila).Format("3:04")) || !strings.Contains(when.Title, exact) || !strings.Contains(when.Title, at.In(manila).Format("3:04:05")) || when.Exact != exact {
		t.Errorf("a row of %s, which is %s in Manila, is shown as %+v", exact, minute, when)
	}
	page.Reload()
	page.WaitText("1 event")
	if got := page.Value("From"); got != minute {
		t.Errorf("after a reload the beginning is %q, want %q", got, minute)
	}
	page.Fill("To", at.In(manila).AddDate(0, 0, -1).Format("2006-01-02T15:04"))
	page.Allow("422")
	page.WaitText("“To” must be later than “From”.")
	page.ExpectStatus(http.StatusUnprocessableEntity)
	page.Reload()
	page.WaitText("“To” must be later than “From”.")
	page.Accessible("audit-wrong-span")
	page.Shoot("audit-wrong-span")
}

func TestAuditRowOpensToEveryField(t *testing.T) {
	t.Parallel()
	n := busy(t)
	row := logged(t, n, "action", "directory.entry.created", "outcome", "success")[0]
	page := open(t, n, adminEmail, "/audit?action=directory.entry.created&outcome=success")
	line, detail := "#"+row.ID+" ", "#"+row.ID+"-detail "
	if got := page.Text(line); !strings.Contains(got, "Created entry") || !strings.Contains(got, row.Action) || !strings.Contains(got, row.ActorName) {
		t.Errorf("the line is %q", got)
	}
	if visible(page, detail+"dl") {
		t.Error("the detail is open from the start")
	}
	page.Click(line + "summary")
	page.WaitText("Exact time (UTC)")
	exact := time.UnixMilli(row.Timestamp).UTC()
	facts := page.Text(detail + ".facts")
	for _, want := range []string{exact.Format("2006-01-02 15:04:05.000"), "API key", "Directory entry", row.IP} {
		if want == "" || !strings.Contains(facts, want) {
			t.Errorf("there is no %q in %q", want, facts)
		}
	}
	if got := page.Text(detail); strings.Contains(got, row.Description) || strings.Contains(got, row.ID) {
		t.Errorf("the detail repeats the line, or shows ids: %q", got)
	}
	page.Accessible("audit-open")
	page.Shoot("audit-open")
	page.Click(detail + "summary")
	ids := page.Text(detail + ".kv")
	for _, want := range []string{row.ID, row.ResourceID, row.ActorID, row.RequestID} {
		if want == "" || !strings.Contains(ids, want) {
			t.Errorf("there is no %q in %q", want, ids)
		}
	}
	var wideRow, wideDetail float64
	page.Eval(`document.querySelector("`+line+`").getBoundingClientRect().width`, &wideRow)
	page.Eval(`document.querySelector("`+detail+`.facts").getBoundingClientRect().width`, &wideDetail)
	if wideDetail < 0.9*wideRow {
		t.Errorf("the detail is %v wide in a row of %v", wideDetail, wideRow)
	}
	var when string
	page.Eval(`document.querySelector("`+line+`time").dateTime`, &when)
	if want := exact.Format("2006-01-02T15:04:05.000Z"); when != want {
		t.Errorf("the time is %s, want %s", when, want)
	}
	if page.Has(".more b") {
		t.Error("what somebody was called is markup")
	}
	var wide int
	page.SetViewport(375, 812)
	page.Eval("document.documentElement.scrollWidth", &wide)
	page.SetViewport(1280, 800)
	if wide > 375 {
		t.Errorf("on a phone the page is %d wide", wide)
	}
	page.Accessible("audit-ids")
	page.Shoot("audit-ids")
	page.ClickText("Copy the Resource ID")
	page.WaitText("Copied")
	page.ClickText("Only this actor")
	page.WaitURL("actor=" + row.ActorID)
	page.WaitURL("outcome=success")
	page.Click("#" + row.ID + " summary")
	page.ClickText("Only this resource")
	page.WaitURL("resource_id=" + row.ResourceID)
	page.Click("#" + row.ID + " summary")
	page.Click(detail + "a[href*='/audit/aud_']")
	page.WaitURL("/audit/" + row.ID)
	page.WaitText(row.RequestID)
	page.Accessible("audit-row")
	page.Shoot("audit-row")
	page.Click("dd a[href*='/directory/']")
	page.WaitURL("/directory/" + row.ResourceID)
}

func TestAuditShowsAPeriod(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	n := startOn(t, store)
	happened(t, store, n, 40*24*time.Hour, outcomes(1, 0)...)
	happened(t, store, n, 20*24*time.Hour, outcomes(2, 0)...)
	happened(t, store, n, 3*24*time.Hour, outcomes(3, 0)...)
	page := open(t, n, adminEmail, "/audit?action=directory.entry.updated")
	page.WaitText("6 events")
	page.Select("Period", "Last 30 days")
	page.WaitURL("period=30d")
	page.WaitText("5 events")
	page.Select("Period", "Last 7 days")
	page.WaitText("3 events")
	page.Reload()
	page.WaitText("3 events")
	if got := page.Value("Period"); got != "7d" {
		t.Errorf("after a reload the period is %q", got)
	}
	page.Select("Period", "Today")
	page.WaitText("No matching entries")
	page.Accessible("audit-period")
	page.Shoot("audit-period")
	page.Select("Period", "Custom")
	page.WaitText("6 events") // the page is dimmed while it loads
	var tops []float64
	page.Eval(`["#from", "#to"].map((id) => document.querySelector(id).getBoundingClientRect().top)`, &tops)
	if tops[0] != tops[1] {
		t.Errorf("From and To are not side by side: %v", tops)
	}
	page.Accessible("audit-custom")
	page.Shoot("audit-custom")
}

func TestAuditPages(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	n := startOn(t, store)
	happened(t, store, n, time.Hour, outcomes(55, 5)...)
	want := logged(t, n, "outcome", "success", "action", "directory.entry.updated")
	page := open(t, n, adminEmail, "/audit?outcome=success&action=directory.entry.updated", browsertest.WithoutScripts())
	var got []string
	for range 3 {
		page.Eval(`[...document.querySelectorAll("tbody tr:not(.detail)")].map((r) => r.id)`, &got)
		if !slices.EqualFunc(got, want[:min(25, len(want))], func(id string, row api.AuditEntry) bool { return id == row.ID }) {
			t.Fatalf("a page has %v", got)
		}
		want = want[len(got):]
		if len(want) > 0 {
			page.ClickText("Older")
		}
	}
	if len(want) != 0 || page.Has(`a[rel="next"]`) || page.Has("[data-poll]") {
		t.Errorf("after the last page there are %d rows, and it goes on", len(want))
	}
	if count := page.Text(".count"); strings.Contains(count, "Newest") {
		t.Errorf("the oldest rows are called %q", count)
	}
	page.Accessible("audit-older")
	page.Shoot("audit-older")
	page.ClickText("Newest")
	page.WaitText("Newest 25 events · updated just now")
	page.Select("Outcome", "Denied")
	page.ClickText("Filter")
	page.WaitText("5 events")

	visitor := browse(t, n, adminEmail)
	body := visitor.get(room(n, "/audit?outcome=success")).body
	cursor := regexp.MustCompile(`cursor=([^"&]+)`).FindStringSubmatch(body)[1]
	if got := visitor.get(room(n, "/audit?outcome=denied&cursor="+cursor)); got.status != http.StatusOK || got.path != room(n, "/audit?outcome=denied") {
		t.Errorf("a page of other filters leads to %d at %s", got.status, got.path)
	}

	n.RunBackground(t)
	page = open(t, n, adminEmail, "/audit?outcome=success")
	page.WaitText("Newest 25 events")
	n.Admin(t).Entry(servertest.Body{"name": "Hedy Lamarr"})
	page.WaitText("Newest 26 events")
}

func TestAuditShowsNewRowsByItself(t *testing.T) {
	t.Parallel()
	n := busy(t)
	n.RunBackground(t)
	page := open(t, n, adminEmail, "/audit?action=directory.entry.created&outcome=success")
	page.WaitText("Live")
	admin := n.Admin(t)
	admin.Entry(servertest.Body{"name": "Hedy Lamarr"})
	admin.Post("/v1/directory/tags", servertest.Body{"workspace_id": n.First.WorkspaceID, "name": "Partners"}).OK()
	page.WaitText("Created person Hedy Lamarr")
	if got := page.Texts("tbody tr:not(.detail) summary"); got[0] != "Created person Hedy Lamarr" || len(got) != 5 {
		t.Errorf("the rows are %q", got)
	}
	page.Accessible("audit-live")
	page.WaitGone("Partners")

	page.ClickText("Pause")
	page.WaitText("Paused")
	admin.Entry(servertest.Body{"name": "Mary Jackson"})
	if got := page.Texts("tbody tr:not(.detail) summary"); slices.Contains(got, "Created person Mary Jackson") {
		t.Error("a row arrives though new ones are paused")
	}
	page.ClickText("Pause")
	page.WaitText("Created person Mary Jackson")

	page.Goto(n.PublicURL + room(n, "/audit?action=directory.tag.deleted"))
	page.WaitText("No matching entries")
	page.WaitText("Live")
	tag := admin.Get("/v1/directory/tags?workspace_id=" + n.First.WorkspaceID).OK().Column("id")[0]
	admin.Delete("/v1/directory/tags/" + tag).OK()
	page.WaitText("Deleted tag")
	page.WaitGone("No matching entries")
}

// A poll must return all new entries, even if there are more of them than fit on a page.
func TestAuditMissesNoneOfManyNewRows(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	n := startOn(t, store)
	visitor := browse(t, n, adminEmail)
	n.Admin(t).Entry(servertest.Body{"name": "Ada"})
	n.SequenceAudit(t)
	poll := regexp.MustCompile(`data-poll="([^"]+)"`).FindStringSubmatch(visitor.get(room(n, "/audit")).body)[1]
	happened(t, store, n, 0, outcomes(60, 0)...)
	n.SequenceAudit(t)
	answer := visitor.get(poll, "X-Fragment", "rows", "X-Background", "1")
	rows := answer.body
	if got := strings.Count(rows, `class="detail"`); got != 60 || strings.Count(rows, "<tr id=") != 2*got {
		t.Errorf("%d rows arrive, want 60", got)
	}
	if again := visitor.get(answer.header.Get("X-Next-Poll"), "X-Fragment", "rows", "X-Background", "1").body; strings.Contains(again, "<tr id=") {
		t.Errorf("rows arrive again: %s", again)
	}
	if strings.Contains(rows, "<main") {
		t.Errorf("a fragment is a page: %s", rows)
	}
}

func TestAuditThatIsLeftOpenSignsOut(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.RunBackground(t)
	page := open(t, n, adminEmail, "/audit")
	page.WaitText("Live")
	n.Clock.Advance(20 * time.Minute)
	n.Admin(t).Entry(servertest.Body{"name": "Ada"})
	page.WaitText("Created person Ada") // this shows that the page still polls after 20 minutes
	n.Clock.Advance(11 * time.Minute)
	page.Allow("status of 401")
	page.WaitText("Signed out.")
	page.Accessible("audit-signed-out")
	page.Shoot("audit-signed-out")
	page.ClickText("Sign in again")
	page.WaitURL("/signin?next=")
}

func TestAuditForRolesWithoutExport(t *testing.T) {
	t.Parallel()
	n := busy(t)
	n.Member(t, "auditor@example.com", "auditor")
	page := open(t, n, "auditor@example.com", "/audit")
	page.WaitText("Ada Lovelace")
	if got := page.Texts(".tabs a"); !slices.Equal(got, []string{"This workspace", "Your activity"}) {
		t.Errorf("an auditor can choose %q", got)
	}
	if !page.Has(`form[action$="/audit/export"]`) {
		t.Error("an auditor cannot export")
	}
	page.Accessible("audit-auditor")
	page.Goto(n.PublicURL + room(n, "/members"))
	if page.Has(`main form[method="post"]:not([data-confirm^="Leave"])`) { // which everybody can
		t.Error("an auditor can change members")
	}

	n.Admin(t).Put("/v1/workspaces/"+n.First.WorkspaceID+"/roles/reader", servertest.Body{"name": "Reader", "permissions": []string{"ws.audit.read"}}).OK()
	n.Member(t, "reader@example.com", "reader")
	reader := browse(t, n, "reader@example.com")
	if got := reader.get(room(n, "/audit")); got.status != http.StatusOK || strings.Contains(got.body, "/audit/export") || strings.Contains(got.body, "(viewer@example.com)") {
		t.Errorf("who may only read the log sees %d %s", got.status, got.body)
	}
	if got := reader.post(room(n, "/audit/export"), "format", "csv"); got.status != http.StatusForbidden || !strings.Contains(got.body, "ws.audit.export") {
		t.Errorf("who may not export gets %d %s", got.status, got.body)
	}
	if rows := logged(t, n, "action", "audit.exported"); len(rows) != 1 || rows[0].Outcome != "denied" {
		t.Errorf("the exports on record are %v", rows)
	}
}

func TestAuditIsRefusedToAViewer(t *testing.T) {
	t.Parallel()
	n := busy(t)
	row := logged(t, n)[0]
	page := open(t, n, "viewer@example.com", "")
	page.ExpectStatus(http.StatusForbidden)
	for _, path := range []string{"/audit", "/audit/" + row.ID} {
		before := len(logged(t, n, "action", "iam.access.denied"))
		page.Goto(n.PublicURL + room(n, path))
		page.WaitText("ws.audit.read")
		if got := logged(t, n, "action", "iam.access.denied"); len(got) != before+1 || got[0].Outcome != "denied" || got[0].ActorEmail != "viewer@example.com" {
			t.Errorf("%s: the refusals on record are %v", path, got)
		}
	}
	page.Accessible("audit-refused")
	page.Shoot("audit-refused")
	page.Goto(n.PublicURL + room(n, "/audit?scope=own"))
	page.WaitText("Signed in to the console with a link")
	page.Accessible("audit-own")
	page.Shoot("audit-own")
}

func TestAuditOfTheOrganizationIsForItsOwner(t *testing.T) {
	t.Parallel()
	n := busy(t)
	page := open(t, n, adminEmail, "/audit")
	page.Click(`.tabs a[href$="scope=organization"]`)
	page.WaitText("Signed in to the console with a link")
	page.Select("Action", "Signed in")
	page.WaitURL("scope=organization&action=auth.session.created")
	page.Accessible("audit-organization")
	page.Shoot("audit-organization")
	name, data := page.DownloadBy(func() { page.ClickText("Export NDJSON") })
	if !strings.HasPrefix(name, "audit-organization-") || !strings.Contains(string(data), `"action":"auth.session.created"`) || strings.Contains(string(data), "directory.") {
		t.Errorf("the export %s is %s", name, data)
	}
	if got := browse(t, n, "viewer@example.com").get(room(n, "/audit?scope=organization")); got.status != http.StatusForbidden {
		t.Errorf("somebody else gets %d", got.status)
	}
	page.SetViewport(390, 844)
	var tabs struct{ Needs, Has int }
	page.Eval(`(({ scrollWidth: Needs, clientWidth: Has }) => ({ Needs, Has }))(document.querySelector(".tabs"))`, &tabs)
	if tabs.Needs > tabs.Has {
		t.Errorf("on a phone the tabs are cut: %+v", tabs)
	}
}

func TestAuditRowOfElsewhereIsNotFound(t *testing.T) {
	t.Parallel()
	n := start(t)
	elsewhere := n.Tenant(t)
	id := elsewhere.Audit("")[0]["id"].(string)
	visitor := browse(t, n, adminEmail)
	for _, path := range []string{room(n, "/audit/"+id), room(n, "/audit/aud_nothing"), "/w/" + elsewhere.WorkspaceID + "/audit"} {
		if got := visitor.get(path); got.status != http.StatusNotFound {
			t.Errorf("%s gives %d", path, got.status)
		}
	}
}
