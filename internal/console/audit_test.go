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
	makeBusy(t, n)
	return n
}

func makeBusy(t testing.TB, n *servertest.Node) {
	t.Helper()
	admin := n.Admin(t)
	for _, name := range []string{"Ada Lovelace", "Grace Hopper", "=HYPERLINK(\"http://evil\")", "Zoë, \"the\" <b>bold</b>"} {
		admin.Patch("/v1/directory/"+admin.Entry(servertest.Body{"name": name, "tags": []string{"Staff"}}), servertest.Body{"status": "inactive"}).OK()
	}
	viewer := n.Member(t, "viewer@example.com", "viewer")
	viewer.Post("/v1/directory", servertest.Body{"workspace_id": n.First.WorkspaceID, "type": "person", "fields": servertest.Body{}}).Fails(http.StatusForbidden, "FORBIDDEN")
}

// logged lists the audit entries that the API returns for the same filters.
func logged(t testing.TB, n *servertest.Node, pairs ...string) []api.AuditEntry {
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
