package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"bursar/internal/browsertest"
	"bursar/internal/server/servertest"
)

func TestNavigationAndWorkspaceAreKeptEverywhere(t *testing.T) {
	t.Parallel()
	n := start(t)
	second := n.Admin(t).Post("/v1/workspaces", servertest.Body{"name": "Payroll", "organization_id": n.First.OrganizationID}).OK().Text("id")
	page := browsertest.Open(t)
	signInBrowser(t, n, page, adminEmail)
	page.Goto(n.PublicURL + "/w/" + second)
	for _, path := range []string{"/account", "/account/password", "/account/totp", "/workspaces/new"} {
		page.Goto(n.PublicURL + path)
		if page.Text(".switcher summary") != "Payroll" || !page.Has(`.sidebar a[href="/w/`+second+`/members"]`) {
			t.Errorf("%s has lost the workspace", path)
		}
	}
	page.ExpectStatus(http.StatusNotFound)
	for _, path := range []string{"/nothing", "/w/ws_x", "/w/" + second + "/directory/per_x"} {
		page.Goto(n.PublicURL + path)
		if page.Text(".switcher summary") != "Payroll" || !page.Has(".sidebar") {
			t.Errorf("%s has lost the workspace", path)
		}
	}
	page.Accessible("not found")
	page.Shoot("not-found")
}

func TestRefusalKeepsTheNavigation(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.Member(t, "vic@example.com", "viewer")
	page := browsertest.Open(t)
	signInAndOpen(t, n, page, "vic@example.com")
	page.ExpectStatus(http.StatusForbidden)
	page.Goto(n.PublicURL + room(n, "/audit"))
	page.WaitText("You need the permission ws.audit.read.")
	if page.Text(".switcher summary") != "Treasury" || !page.Has(".sidebar") {
		t.Error("the page has lost the workspace")
	}
	page.Accessible("refused")
	page.Shoot("refused")
}

func TestStrangersSeeAnErrorWithoutNavigation(t *testing.T) {
	t.Parallel()
	n := start(t)
	got := stranger(t, n).get("/nothing")
	if got.status != http.StatusNotFound || strings.Contains(got.body, "sidebar") || strings.Contains(got.body, n.First.WorkspaceID) {
		t.Errorf("answered %d:\n%s", got.status, got.body)
	}
}

func TestConsoleAndReferenceLinkToEachOther(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := open(t, n, adminEmail, "")
	page.ClickText("API reference")
	page.WaitURL("/docs")
	page.ClickText("Console")
	page.WaitURL(room(n, ""))
}

func TestOnAPhoneAllOfTheNavigationIsInSight(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := open(t, n, adminEmail, "/organization", browsertest.Phone())
	var hidden []string
	page.Eval(`[...document.querySelectorAll(".sidebar a, .topbar > *")].filter((el) => {
		const box = el.getBoundingClientRect();
		return box.left < 0 || box.right > innerWidth || box.top < 0;
	}).map((el) => el.textContent.trim())`, &hidden)
	if len(hidden) > 0 {
		t.Errorf("out of sight: %q", hidden)
	}
}

func TestIDsAreCopied(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := open(t, n, adminEmail, "/organization")
	page.Eval(`navigator.clipboard.writeText = async (text) => { window.copied = text; }`, nil)
	page.ClickText("Copy the ID " + n.First.WorkspaceID)
	page.WaitText("Copied")
	var copied string
	page.Eval("window.copied", &copied)
	if copied != n.First.WorkspaceID {
		t.Errorf("copied %q", copied)
	}
}

func TestTimesAreInTheLanguageOfThePage(t *testing.T) {
	n := start(t)
	bare := open(t, n, adminEmail, "/audit?scope=own", browsertest.WithoutScripts())
	if _, err := time.Parse("Jan 2, 2006, 3:04 PM", bare.Text(`time[data-time="short"]`)); err != nil {
		t.Errorf("without scripts the time looks different: %v", err)
	}
	page := open(t, n, adminEmail, "/audit?scope=own", browsertest.Language("de-DE"))
	var browser, shown string
	page.Eval(`Intl.DateTimeFormat().resolvedOptions().locale`, &browser)
	page.Eval(`document.querySelector('time[data-time="short"]').textContent`, &shown)
	if _, err := time.Parse("Jan 2, 2006, 3:04 PM", shown); err != nil || browser != "de-DE" {
		t.Errorf("in a browser that speaks %s the English page has the time %q", browser, shown)
	}
}
