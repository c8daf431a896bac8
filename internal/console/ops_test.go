package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"bursar/internal/backup/continuous"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/mail/smtptest"
	"bursar/internal/server/servertest"
)

func TestOperatorsHavePagesApartFromWorkspaces(t *testing.T) {
	box := smtptest.Start(t, smtptest.Options{})
	n := start(t, func(c *config.Serve) { c.SMTPURL, c.MailFrom = box.URL, "bursar@example.com" })
	kim := n.Member(t, "kim@example.com", "admin")
	x := n.FirstTenant(t)
	n.Admin(t).Operate("ops.access", "ops.money")
	other := n.Person(t, n.User(t, "other@example.com").Operate("ops.access", "ops.money"))
	if _, err := n.OperatorDeposit(x.Owner, x.LiveAccount(), "OPEN-1", 100); err != nil {
		t.Fatal(err)
	}
	page := open(t, n, adminEmail, "")
	page.Goto(n.PublicURL + "/ops")
	page.WaitText("1 request waits")
	page.WaitText("Rails and connectors")
	if page.Has(".switcher") {
		t.Error("the pages of operators show a workspace")
	}
	page.Accessible("the state of the server")
	page.Shoot("ops")
	page.Goto(n.PublicURL + "/ops/requests")
	page.WaitText("deposit of PHP 1.00 into the live account Real")
	page.Accessible("requests of operators")
	page.Shoot("ops-requests")
	page.Click(`form[action$="/approve"] button`)
	page.ClickText("Confirm")
	page.WaitText("Confirmed.")

	page.Goto(n.PublicURL + "/ops/users?q=kim")
	page.WaitText("Approver")
	page.Accessible("users")
	page.Shoot("ops-users")
	page.Click(`form[action$="/reset"] button`)
	page.ClickText("Reset")
	page.WaitText("Another operator has to confirm this.")
	kim.Get("/v1/workspaces/" + n.First.WorkspaceID).OK()
	waits := other.Get("/v1/ops/requests").OK().List()
	other.Post("/v1/ops/requests/"+waits[0]["id"].(string)+"/approve", servertest.Body{"digest": waits[0]["digest"]}).OK()
	kim.Get("/v1/workspaces/"+n.First.WorkspaceID).Fails(http.StatusUnauthorized, "UNAUTHORIZED")
	for _, path := range []string{"/ops/organizations", "/ops/audit"} {
		page.Goto(n.PublicURL + path)
		page.WaitText("Your workspaces")
		page.Accessible(path)
		page.Shoot(strings.ReplaceAll(path[1:], "/", "-"))
	}
}

func TestOperatorsSeeTheStateOfTheBackup(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.Admin(t).Operate("ops.read")
	visitor, now := browse(t, n, adminEmail), n.Clock.Now()
	shows := func(name string, wants ...string) {
		t.Helper()
		_, page, _ := strings.Cut(visitor.get("/ops").body, `<section class="panel" aria-labelledby="backup">`)
		section, _, _ := strings.Cut(page, "</section>")
		for _, want := range wants {
			if !strings.Contains(section, want) {
				t.Errorf("%s: the page shows no %q:\n%s", name, want, section)
			}
		}
	}
	shows("no backup", ">None<", "Start it with --backup.")
	var status continuous.Status
	n.Server.ShowBackup(func() continuous.Status { return status })
	for name, c := range map[string]struct {
		status continuous.Status
		wants  []string
	}{
		"good":         {continuous.Status{Base: now, Safe: now}, []string{">Good<", "Everything until", "is in the backup."}},
		"at the start": {continuous.Status{}, []string{">Not good<", "Nothing is in the backup yet."}},
		"old":          {continuous.Status{Base: now, Safe: now.Add(-time.Hour), Failure: "upload: no such host"}, []string{">Not good<", "upload: no such host"}},
		"not verified": {continuous.Status{Base: now, Safe: now, Verified: continuous.Verified{At: now, Error: "damaged"}},
			[]string{">Not good<", "The last verification failed: damaged"}},
	} {
		status = c.status
		shows(name, c.wants...)
	}
}

func TestAnEndedRequestIsOnlyRejected(t *testing.T) {
	n := start(t)
	n.Member(t, "kim@example.com", "viewer")
	for _, email := range []string{"one@example.com", "two@example.com"} {
		n.User(t, email).Operate("ops.access")
	}
	one, two := browse(t, n, "one@example.com"), browse(t, n, "two@example.com")
	one.post("/ops/approvers", "workspace_id", n.First.WorkspaceID, "email", "kim@example.com", "role", "admin")
	if page := two.get("/ops/requests").body; !strings.Contains(page, "/approve") || strings.Contains(page, "Ended:") {
		t.Errorf("the request cannot be confirmed:\n%s", page)
	}
	if _, err := n.Identity.DisableUser(t.Context(), db.Caller{}, "one@example.com"); err != nil {
		t.Fatal(err)
	}
	page := two.get("/ops/requests").body
	if strings.Contains(page, "/approve\"") || !strings.Contains(page, "/reject\"") || !strings.Contains(page, "Ended: whoever asked for it is disabled") {
		t.Errorf("the page says:\n%s", page)
	}
}

func TestOperatorWhoseSignInIsTooOldReturnsToThePageTheyUsed(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.Admin(t).Operate("ops.access")
	browse(t, n, adminEmail) // who chooses a password with that
	cookie := cookieFor(t, n, adminEmail)
	n.Clock.Advance(16 * time.Minute)
	for range 2 { // one visit does not affect the next
		for _, c := range []struct{ method, path, want string }{
			{"GET", "/ops/users?q=kim", "/signin?next=%2Fops%2Fusers%3Fq%3Dkim"},
			{"POST", "/ops/users/usr_1/disable", "/signin?next=%2Fops%2Fusers"},
			{"POST", "/ops/approvers", "/signin?next=%2Fops%2Frequests"},
		} {
			if got := knock(t, n, c.method, c.path, nil, cookie...).Header.Get("Location"); got != c.want {
				t.Errorf("%s %s leads to %q, want %q", c.method, c.path, got, c.want)
			}
		}
	}
}
