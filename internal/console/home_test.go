package console_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// happened adds entries to the audit log of the first workspace, dated some time ago.
func happened(t testing.TB, store dbtest.Store, n *servertest.Node, ago time.Duration, outcomes ...audit.Outcome) {
	t.Helper()
	past := store.OpenAt(t, func() time.Time { return n.Clock.Now().Add(-ago) })
	by := db.Caller{Actor: audit.Actor{Type: audit.User, ID: "usr_gone", Name: "Grace Hopper", Email: "grace@example.com"}}
	for i, outcome := range outcomes {
		event := audit.Event{Action: audit.EntryUpdated, Outcome: outcome, WorkspaceID: n.First.WorkspaceID,
			ResourceID: "entry_1", Description: fmt.Sprintf("Updated person number %d", i+1)}
		if err := db.Record(t.Context(), past, by, event, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func outcomes(good, bad int) []audit.Outcome {
	list := make([]audit.Outcome, 0, good+bad)
	for range good {
		list = append(list, audit.Success)
	}
	for range bad {
		list = append(list, audit.Denied)
	}
	return list
}

func TestHomeChartShowsThirtyDays(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	n := startOn(t, store)
	const day = 24 * time.Hour
	for ago, c := range map[int][2]int{40: {100, 0}, 31: {60, 0}, 28: {6, 0}, 23: {11, 1}, 22: {14, 0}, 21: {30, 10}, 16: {3, 0}, 15: {8, 0}, 14: {22, 2},
		13: {17, 0}, 10: {9, 0}, 9: {26, 0}, 8: {31, 1}, 7: {12, 0}, 6: {4, 0}, 3: {19, 0}, 2: {0, 4}, 1: {23, 0}} {
		happened(t, store, n, time.Duration(ago)*day, outcomes(c[0], c[1])...)
	}
	admin := n.Admin(t)
	for _, name := range []string{"Ada Lovelace", "Grace Hopper", "Mary Jackson", "Edith Clarke", "Hedy Lamarr"} {
		admin.Entry(servertest.Body{"name": name, "tags": []string{"Staff"}})
	}
	admin.Post("/v1/workspaces/"+n.First.WorkspaceID+"/members", servertest.Body{"email": "katherine@example.com", "role": "member"}).OK()

	page := open(t, n, adminEmail, "")
	var bars []struct {
		Title     string
		Tall, Bad float64
	}
	page.Eval(`[...document.querySelectorAll(".chart g.day")].map((g) => ({Title: g.querySelector("title").textContent,
		Tall: Number(g.querySelector(".bar:not(.bad)").getAttribute("height")), Bad: Number(g.querySelector(".bar.bad")?.getAttribute("height") ?? 0)}))`, &bars)
	if len(bars) != 30 {
		t.Fatalf("there are %d bars", len(bars))
	}
	// The bar of 40 events has the full height of the chart, which is 160.
	for i, want := range map[int]struct {
		title     string
		tall, bad float64
	}{
		29 - 21: {"40 events, 10 refused", 120, 40}, 29 - 22: {"14 events", 56, 0}, 29 - 20: {"0 events", 0, 0}, 29 - 2: {"4 events, 4 refused", 0, 16},
	} {
		date := n.Clock.Now().UTC().AddDate(0, 0, i-29).Format("Jan 2")
		if got := bars[i]; got.Title != date+": "+want.title || got.Tall != want.tall || got.Bad != want.bad {
			t.Errorf("day %d is %+v, want %s: %+v", i, got, date, want)
		}
	}
	var drawn struct{ Wide, Bar, Room float64 }
	for _, width := range []int{375, 1440} {
		page.SetViewport(width, 900)
		page.Eval(`(() => { const svg = document.querySelector(".chart svg"), bar = svg.querySelector(".bar");
			return {Wide: svg.getBoundingClientRect().width, Bar: bar.getBoundingClientRect().width, Room: document.documentElement.scrollWidth} })()`, &drawn)
		if drawn.Wide < 250 || drawn.Bar < 4 || drawn.Room > float64(width) {
			t.Errorf("at %d the chart is %+v", width, drawn)
		}
	}
	page.WaitText("katherine@example.com hasn't accepted the invitation yet")
	page.Accessible("home-chart")
	page.ClickText("Numbers by day")
	page.Accessible("home-numbers")
	page.Eval("scrollTo(0, 0)", nil)
	page.Shoot("home-numbers")
	page.ClickText("Numbers by day")
	page.Eval("scrollTo(0, 0)", nil)
	page.Shoot("home")
	page.ClickText("Numbers by day")
	page.Click(`.chart + details tbody tr:nth-child(3) a`)
	page.WaitURL("/audit?from=")
	if got := page.Text(".count"); !strings.HasPrefix(got, "14 events") {
		t.Errorf("the numbers of a day lead to %q", got)
	}
}

func TestHomeListsUnusedKeys(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	admin.Entry(servertest.Body{"name": "Ada"})
	made := admin.Post("/v1/api-keys", servertest.Body{"name": "nightly export"}).OK().Text("id")
	admin.Post("/v1/api-keys", servertest.Body{"name": "short-lived", "expires_at": n.Clock.Now().Add(10 * 24 * time.Hour).UnixMilli()}).OK()
	if made == "" {
		t.Fatal("no key was made")
	}
	if _, _, err := n.Identity.CreateClient(t.Context(), db.Caller{}, n.First.WorkspaceID, "payroll job", "member"); err != nil {
		t.Fatal(err)
	}
	visitor := browse(t, n, adminEmail)
	if body := visitor.get(room(n, "")).body; !strings.Contains(body, "Nothing needs your attention") {
		t.Errorf("fresh keys need attention: %s", body)
	}
	n.Clock.Advance(46 * 24 * time.Hour)
	n.Admin(t) // this uses the admin's key
	page := open(t, n, adminEmail, "")
	page.WaitText("Your API key nightly export has never been used")
	page.WaitText("Machine client payroll job has never been used")
	if got := page.Texts(".attention > li"); len(got) != 3 { // the third is that there is no backup
		t.Errorf("what needs attention is %q", got)
	}
	page.Accessible("home-attention")
	page.Shoot("home-attention")

	n.Member(t, "auditor@example.com", "auditor")
	if body := browse(t, n, "auditor@example.com").get(room(n, "")).body; strings.Contains(body, "has never been used") {
		t.Error("an auditor sees keys of others")
	}
}
