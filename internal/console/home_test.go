package console_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/browsertest"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// happened adds entries to the audit log of the first workspace, dated some time ago.
func happened(t *testing.T, store dbtest.Store, n *servertest.Node, ago time.Duration, outcomes ...audit.Outcome) {
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

// steps are the first steps on the home page, each with whether it is done.
func steps(page *browsertest.Page) map[string]bool {
	var list []struct {
		Title string
		Done  bool
	}
	page.Eval(`[...document.querySelectorAll("section[aria-labelledby=steps-title] li")].map((li) => (
		{Title: li.querySelector("strong").textContent, Done: li.querySelector(".badge") !== null}))`, &list)
	found := map[string]bool{}
	for _, step := range list {
		found[step.Title] = step.Done
	}
	return found
}

func TestHomeShowsTheFirstStepsUntilAllAreDone(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := open(t, n, adminEmail, "")
	admin := n.Admin(t)
	want := map[string]bool{"Add a payee": false, "Invite a colleague": false, "Create an API key": false} // the key that the setup created does not count
	if got := steps(page); !maps.Equal(got, want) {
		t.Errorf("at the start the steps are %v, want %v", got, want)
	}
	admin.Entry(servertest.Body{"name": "Ada"})
	admin.Post("/v1/workspaces/"+n.First.WorkspaceID+"/members", servertest.Body{"email": "katherine@example.com", "role": "member"}).OK()
	page.Reload()
	want["Add a payee"], want["Invite a colleague"] = true, true
	if got := steps(page); !maps.Equal(got, want) {
		t.Errorf("after two steps they are %v, want %v", got, want)
	}
	page.Accessible("home-steps")
	page.Shoot("home-steps")
	admin.Post("/v1/api-keys", servertest.Body{"name": "nightly export"}).OK()
	page.Reload()
	page.WaitGone("First steps")
}

func TestFirstStepsCanBeDismissedInOneWorkspace(t *testing.T) {
	t.Parallel()
	n := start(t)
	other := n.Admin(t).Post("/v1/workspaces", servertest.Body{"name": "Grants", "organization_id": n.First.OrganizationID}).OK().Text("id")
	page := open(t, n, adminEmail, "", browsertest.WithoutScripts())
	page.ClickText("Dismiss first steps")
	page.WaitText("Recent activity")
	page.WaitGone("First steps")
	page.Reload()
	page.WaitGone("First steps")
	page.Goto(n.PublicURL + "/w/" + other)
	page.WaitText("First steps")

	n.Member(t, "viewer@example.com", "viewer")
	if body := browse(t, n, "viewer@example.com").get(room(n, "")).body; strings.Contains(body, "First steps") {
		t.Error("a viewer, who cannot set up the workspace, sees the first steps")
	}
}

func TestHomeOfAnEmptyWorkspaceSaysHowToBegin(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := open(t, n, adminEmail, "")
	page.WaitText("First steps")
	page.WaitText("Nothing needs your attention")
	page.Accessible("home-empty")
	page.Shoot("home-empty")
	if got := page.Texts(".stat"); strings.Join(got, " ") != "0 People 0 Organizations 0 Inactive 0 Tags 1 Member" {
		t.Errorf("the numbers are %q", got)
	}
	page.ClickText("Add a payee")
	page.WaitURL("/directory/new")
}

func TestHomeShowsCountsAndRecentActivity(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	n := startOn(t, store)
	admin := n.Admin(t)
	for _, name := range []string{"Ada Lovelace", "Grace Hopper", "Mary Jackson"} {
		admin.Entry(servertest.Body{"name": name, "tags": []string{"Staff"}})
	}
	admin.Patch("/v1/directory/"+admin.Entry(servertest.Body{"name": "Edith Clarke"}), servertest.Body{"status": "inactive"}).OK()
	admin.Entry(servertest.Body{"type": "organization", "name": "Analytical Engines Ltd"})
	viewer := n.Member(t, "viewer@example.com", "viewer")
	viewer.Post("/v1/directory", servertest.Body{"workspace_id": n.First.WorkspaceID, "type": "person", "fields": servertest.Body{}}).Fails(http.StatusForbidden, "FORBIDDEN")

	page := open(t, n, adminEmail, "")
	if got := page.Texts(".stat"); strings.Join(got, " ") != "4 People 1 Organization 1 Inactive 1 Tag 2 Members" {
		t.Errorf("the numbers are %q", got)
	}
	feed := page.Texts("section[aria-labelledby=recent-title] li")
	if len(feed) < 8 || !strings.Contains(feed[0], "Denied") || !strings.Contains(feed[0], "User viewer@example.com") {
		t.Errorf("what happened last is %q", feed)
	}
	page.Accessible("home")
	page.ClickText("Analytical Engines Ltd")
	page.WaitURL("/audit/aud_")
	page.WaitText("Request ID")
	page.Goto(n.PublicURL + room(n, ""))
	page.Click(`.stat[href$="status=inactive"]`)
	page.WaitURL("/directory?status=inactive")
	page.WaitText("Edith Clarke")
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

func TestHomeMakesSenseForEveryRole(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.Admin(t).Entry(servertest.Body{"name": "Ada"})
	viewer := n.Member(t, "viewer@example.com", "viewer")
	page := open(t, n, "viewer@example.com", "")
	if page.Has(".chart") || page.Has(".feed") || page.Has(`a[href$="/audit"]`) || !page.Has(".stats") {
		t.Error("a viewer sees the log, or no numbers")
	}
	page.Accessible("home-viewer")
	page.Shoot("home-viewer")

	n.Admin(t).Delete("/v1/workspaces/" + n.First.WorkspaceID + "/roles/" + viewer.UserID + "/viewer").OK()
	page.Reload()
	page.WaitText("don't have a role in it yet")
	if page.Has(".stats") {
		t.Error("somebody without a role sees numbers")
	}
	page.Accessible("home-roleless")
	page.Shoot("home-roleless")
}

func TestTheStartPageIsTheLastWorkspace(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	second := admin.Post("/v1/workspaces", servertest.Body{"name": "Grants", "organization_id": n.First.OrganizationID}).OK().Text("id")
	visitor := browse(t, n, adminEmail)
	goes := func(v interface {
		get(string, ...string) answer
	}, want string) {
		t.Helper()
		if got := v.get("/").path; got != want {
			t.Errorf("the start is %s, want %s", got, want)
		}
	}
	goes(visitor, "/w/"+n.First.WorkspaceID)
	visitor.get("/w/" + second)
	goes(visitor, "/w/"+second)

	n.Member(t, "ada@example.com", "viewer")
	admin = n.Admin(t) // signing in with a link has ended the earlier session
	admin.Post("/v1/workspaces/"+second+"/members", servertest.Body{"email": "ada@example.com", "role": "viewer"}).OK()
	ada := browse(t, n, "ada@example.com")
	ada.get("/w/" + second)
	goes(ada, "/w/"+second)
	members := admin.Get("/v1/workspaces/" + second + "/members").OK().List()
	for _, m := range members {
		if m["email"] == "ada@example.com" {
			admin.Delete("/v1/workspaces/" + second + "/members/" + m["id"].(string)).OK()
		}
	}
	goes(ada, "/w/"+n.First.WorkspaceID)

	n.User(t, "nobody@example.com")
	goes(browse(t, n, "nobody@example.com"), "/workspaces/new")
	if got := stranger(t, n).get("/"); !strings.HasPrefix(got.path, "/signin") {
		t.Errorf("a stranger is at %s", got.path)
	}
}

func TestSwitcherLeadsToTheOtherWorkspace(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.Admin(t).Post("/v1/workspaces", servertest.Body{"name": "Grants", "organization_id": n.First.OrganizationID}).OK()
	page := open(t, n, adminEmail, "")
	page.ClickText("Treasury")
	page.ClickText("Grants")
	if got := page.Text("h1"); got != "Grants" {
		t.Errorf("the switcher leads to %s", got)
	}
	page.Goto(n.PublicURL + "/")
	if got := page.Text("h1"); got != "Grants" {
		t.Errorf("the start is %s", got)
	}
}
