package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"bursar/internal/browsertest"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// addPayee adds a person to a workspace.
func addPayee(t testing.TB, by *servertest.Client, workspaceID, first, last string) string {
	t.Helper()
	return by.On(t).Post("/v1/directory", servertest.Body{
		"workspace_id": workspaceID, "type": "person", "fields": servertest.Body{"first-name": first, "last-name": last},
	}).OK().Text("id")
}

// waitFocus waits until the element that a CSS selector finds has the focus.
func waitFocus(page *browsertest.Page, selector string) {
	page.Eval(`new Promise((done) => {
		const look = () => document.activeElement?.matches(`+fmt.Sprintf("%q", selector)+`) ? done(true) : requestAnimationFrame(look);
		look();
	})`, nil)
}

func TestSearchDialogIsUsedByKeyboardAlone(t *testing.T) {
	t.Parallel()
	n := start(t)
	grace := addPayee(t, n.Admin(t), n.First.WorkspaceID, "Grace", "Hopper")
	n.Member(t, "grace.member@example.com", "viewer")
	page := open(t, n, adminEmail, "/keys")
	page.Press("Control+k")
	page.WaitText("New machine client")
	page.Accessible("search dialog")
	page.Shoot("search-dialog")
	page.Fill("Search payees, members and pages", "gra")
	page.WaitText("Grace Hopper")
	page.WaitText("grace.member@example.com")
	page.Accessible("search dialog with results")
	page.Shoot("search-dialog-results")
	page.Press("ArrowDown")
	waitFocus(page, ".searchbox a[href$='"+grace+"']")
	page.Press("ArrowDown")
	waitFocus(page, ".searchbox a[href*='/members?q=']")
	page.Press("ArrowUp")
	page.Press("Enter")
	page.WaitURL("/directory/" + grace)

	page.Press("/")
	page.Fill("Search payees, members and pages", "audit log")
	page.Press("Enter") // this must work before and after the results have arrived
	page.WaitURL("/audit")

	page.ClickText("Search…")
	waitFocus(page, ".searchbox input")
	page.Press("Escape")
	page.WaitNone("dialog")
	waitFocus(page, "a[data-search]")
}

func TestSlashInAFieldIsJustASlash(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := open(t, n, adminEmail, "/keys/new")
	page.Fill("Name", "a")
	page.Press("/")
	if page.Has("dialog") || page.Value("Name") != "a/" {
		t.Errorf("the field holds %q", page.Value("Name"))
	}
}

func TestSearchWorksWithoutScripts(t *testing.T) {
	t.Parallel()
	n := start(t)
	grace := addPayee(t, n.Admin(t), n.First.WorkspaceID, "Grace", "Hopper")
	page := open(t, n, adminEmail, "", browsertest.WithoutScripts())
	page.ClickText("Search…")
	page.WaitURL("/search")
	page.Fill("Search for", "hopp")
	page.Click("main form button")
	page.WaitText("1 result")
	page.Accessible("search")
	page.Shoot("search")
	page.ClickText("Grace Hopper")
	page.WaitURL("/directory/" + grace)
	page.Goto(n.PublicURL + room(n, "/search?q=zzz"))
	page.WaitText("No results")
}

func TestSearchShowsOnlyWhatTheVisitorMaySee(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := startOn(t, store)
		admin := n.Admin(t)
		addPayee(t, admin, n.First.WorkspaceID, "Visible", "Payee")
		n.Member(t, "visible.member@example.com", "viewer")
		tenant := n.Tenant(t)
		addPayee(t, tenant.Owner, tenant.WorkspaceID, "Visible", "Foreigner")
		roles := map[string][]string{"blind": {"ws.read"}, "payees": {"ws.read", "ws.directory.read"}, "people": {"ws.read", "ws.members.read"}}
		for role, permissions := range roles {
			admin.Put("/v1/workspaces/"+n.First.WorkspaceID+"/roles/"+role, servertest.Body{"name": role, "permissions": permissions}).OK()
			n.Member(t, role+"@example.com", role)
		}
		for _, c := range []struct {
			email           string
			payees, members bool
		}{
			{adminEmail, true, true}, {"blind@example.com", false, false}, {"payees@example.com", true, false}, {"people@example.com", false, true},
		} {
			visitor := browse(t, n, c.email)
			got := visitor.get(room(n, "/search?q=visible"))
			if got.status != http.StatusOK || strings.Contains(got.body, "Visible Payee") != c.payees || strings.Contains(got.body, "visible.member@example.com") != c.members {
				t.Errorf("%s: answered %d:\n%s", c.email, got.status, got.body)
			}
			if strings.Contains(got.body, "Foreigner") {
				t.Errorf("%s sees a payee of another tenant", c.email)
			}
			pages := visitor.get(room(n, "/search")).body
			if strings.Contains(pages, room(n, "/directory/tags")) != c.payees || strings.Contains(pages, `<a href="`+room(n, "/roles")+`">Roles</a></li>`) != c.members {
				t.Errorf("%s is offered the wrong pages", c.email)
			}
		}
		if got := browse(t, n, adminEmail).get("/w/" + tenant.WorkspaceID + "/search?q=visible"); got.status != http.StatusNotFound || strings.Contains(got.body, "Foreigner") {
			t.Errorf("the search of another tenant answers %d", got.status)
		}
		if n.Count(t, `SELECT count(*) FROM audit_entry WHERE action = 'iam.access.denied' AND workspace_id IS NOT NULL`) != 0 {
			t.Error("a search is recorded as a refusal")
		}
	})
}

func TestSearchShowsAFewResultsAndLeadsToAll(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	for i := range 7 {
		addPayee(t, admin, n.First.WorkspaceID, "Many", fmt.Sprintf("Payee%d", i))
		admin.Post("/v1/workspaces/"+n.First.WorkspaceID+"/members", servertest.Body{"email": fmt.Sprintf("many%d@example.com", i), "role": "viewer"}).OK()
	}
	visitor := browse(t, n, adminEmail)
	got := visitor.get(room(n, "/search?q=many"), "X-Fragment", "results").body
	if strings.Count(got, "Many Payee") != 5 || !strings.Contains(got, room(n, "/directory?q=many")) || !strings.Contains(got, room(n, "/members?q=many")) || !strings.Contains(got, "10 results") {
		t.Errorf("the results are:\n%s", got)
	}
	for name, q := range map[string]string{"long": strings.Repeat("x", 500), "many words": strings.Repeat("x%20", 20), "signs": "%25%5f%27%22%3c%00%ff"} {
		if got := visitor.get(room(n, "/search?q="+q)); got.status != http.StatusOK {
			t.Errorf("%s: answered %d", name, got.status)
		}
	}
}
