package console_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

func TestAPIKeyExpiresWhenChosen(t *testing.T) {
	n := start(t)
	visitor := browse(t, n, adminEmail)
	tomorrow := n.Clock.Now().AddDate(0, 0, 1).UTC()
	visitor.post(room(n, "/keys"), "name", "dated", "expires", "date", "until", tomorrow.Format(time.DateOnly))
	visitor.post(room(n, "/keys"), "name", "endless", "expires", "never")
	visitor.post(room(n, "/keys"), "name", "year", "expires", "365")
	ends := map[string]int64{}
	for _, row := range n.Admin(t).Get("/v1/api-keys").OK().List() {
		at, _ := row["expires_at"].(float64)
		ends[row["name"].(string)] = int64(at)
	}
	midnight := time.Date(tomorrow.Year(), tomorrow.Month(), tomorrow.Day()+1, 0, 0, 0, 0, time.UTC)
	if ends["dated"] != midnight.UnixMilli() || ends["endless"] != 0 {
		t.Errorf("want the end of tomorrow and none, got %v", ends)
	}
	if left := time.Until(time.UnixMilli(ends["year"])); left < 364*24*time.Hour || left > 366*24*time.Hour {
		t.Errorf("want a year, got %s", left)
	}
	for _, until := range []string{"", "2020-01-01", "tomorrow"} {
		wrong := visitor.post(room(n, "/keys"), "name", "", "expires", "date", "until", until, "allowed_cidrs", "10.0.0.1\nhere")
		if wrong.status != http.StatusBadRequest || !strings.Contains(wrong.body, "Choose a date in the future.") ||
			!strings.Contains(wrong.body, "Must be networks such as") || !strings.Contains(wrong.body, "10.0.0.1\nhere") {
			t.Errorf("%q: want all that is wrong and what was typed, got %d\n%s", until, wrong.status, wrong.body)
		}
	}
	page := open(t, n, adminEmail, "/keys/new")
	page.ExpectStatus(http.StatusBadRequest)
	page.Fill("Name", "Laptop")
	page.Select("Expires", "On a date")
	page.Fill("Allowed networks (optional)", "everywhere")
	page.ClickText("Create API key")
	page.WaitText("Choose a date in the future.")
	page.Accessible("a wrong key")
	page.Shoot("keys-wrong")
}

func TestTablesOfKeysFitTheScreen(t *testing.T) {
	n := start(t)
	visitor := browse(t, n, adminEmail)
	visitor.post(room(n, "/keys"), "name", "Scripts for the end of the month", "expires", "90", "allowed_cidrs", "192.0.2.0/24\n2001:db8:1234:5678::/64")
	visitor.post(room(n, "/keys"), "name", "brief", "expires", "30")
	visitor.post(room(n, "/clients"), "name", "Nightly import", "role", "auditor")
	n.Clock.Advance(46 * 24 * time.Hour) // the first one is unused by then, and the second one has expired
	page := open(t, n, adminEmail, "/keys")
	page.Eval(`document.querySelectorAll("td.actions .more").forEach((el) => { el.open = true })`, nil)
	for _, width := range []int{1440, 1280, 1260, 1024, 390} {
		page.SetViewport(width, 900)
		var cut, broken []string
		page.Eval(`[...document.querySelectorAll("html, .tablewrap")].filter((el) => el.scrollWidth > el.clientWidth).map((el) => el.innerText)`, &cut)
		page.Eval(`[...document.querySelectorAll(".copyid")].filter((el) => el.getClientRects().length !== 1 || el.offsetHeight > 30).map((el) => el.ariaLabel)`, &broken)
		if len(cut)+len(broken) > 0 {
			t.Errorf("at %d pixels these are cut: %q, and these buttons wrap: %q", width, cut, broken)
		}
	}
	if text := page.Text("main"); strings.Contains(text, " AM") || strings.Contains(text, " PM") {
		t.Errorf("want days without times: %s", text)
	}
	page.Shoot("keys-ended")
}

func basic(id, secret string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret))
}

func TestKeysOfOtherPeopleAreNotFound(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := startOn(t, store)
		tenant := n.Tenant(t)
		client, _, err := n.Identity.CreateClient(t.Context(), db.Caller{}, tenant.WorkspaceID, "Theirs", "viewer")
		if err != nil {
			t.Fatal(err)
		}
		key, _, err := n.Identity.CreateKeyFor(t.Context(), db.Caller{}, "admin@example.com", identity.NewKey{Name: "Mine"})
		if err != nil {
			t.Fatal(err)
		}
		n.Member(t, "vic@example.com", "admin")
		vic := browse(t, n, "vic@example.com")
		for _, path := range []string{"/clients/" + client + "/rotate", "/clients/" + client + "/revoke", "/keys/" + key + "/rotate", "/keys/" + key + "/revoke"} {
			if got := vic.post(room(n, path), "grace_seconds", "0"); got.status != http.StatusNotFound {
				t.Errorf("POST %s answers %d", path, got.status)
			}
		}
		if got := vic.get(room(n, "/keys/"+key+"/rotate")); got.status != http.StatusNotFound {
			t.Errorf("somebody else's key opens: %d", got.status)
		}
	})
}

// Anyone who finds an unattended browser must not be able to make a lasting credential with
// it, and its owner must not have to type everything again.
func TestMakingACredentialAsksForARecentSignInAndLeadsBackToTheFilledForm(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := open(t, n, adminEmail, "/keys/new")
	page.Fill("Name", "Laptop")
	page.Select("Expires", "In 365 days")
	page.Fill("Allowed networks (optional)", "127.0.0.0/8\n::1/128")
	n.Clock.Advance(15 * time.Minute)
	page.ClickText("Create API key")
	page.Fill("Password", password)
	page.ClickText("Sign in")
	if name, networks := page.Value("Name"), page.Value("Allowed networks (optional)"); name != "Laptop" || !strings.Contains(networks, "::1/128") {
		t.Fatalf("the form has the name %q and the networks %q", name, networks)
	}
	page.ClickText("Create API key")
	page.WaitText(`API key "Laptop" created.`)

	cookie := cookieFor(t, n, adminEmail)
	n.Clock.Advance(15 * time.Minute)
	code := n.NewDeviceCode(t, nil)
	asked := func(method, path string, form url.Values) {
		if got := knock(t, n, method, path, form, cookie...); !strings.HasPrefix(got.Header.Get("Location"), "/signin?next=") {
			t.Errorf("%s %s is answered %d %s", method, path, got.StatusCode, got.Header.Get("Location"))
		}
	}
	asked("POST", room(n, "/keys"), url.Values{"name": {"x"}, "expires": {"never"}})
	asked("POST", room(n, "/keys/key_1/rotate"), url.Values{"grace_seconds": {"3600"}})
	asked("POST", room(n, "/clients"), url.Values{"name": {"x"}, "role": {"viewer"}})
	asked("POST", room(n, "/clients/cli_1/rotate"), nil)
	asked("POST", room(n, "/members/usr_1/link"), nil)
	asked("POST", room(n, "/organization/owners"), url.Values{"user_id": {"usr_1"}})
	asked("POST", room(n, "/organization/owners/usr_1/remove"), nil)
	asked("POST", "/device", url.Values{"code": {code}, "decision": {"approve"}})
	asked("GET", room(n, "/keys/new"), nil)
	asked("GET", room(n, "/clients/new"), nil)
	asked("GET", "/device?code="+code, nil)
	n.PollDevice(t, code).DeviceStatus("pending", false)
}

// An unattended browser lets no one in who decides, and changes no one's rights to that. It may still invite others.
func TestAnUnattendedBrowserCannotDecide(t *testing.T) {
	t.Parallel()
	n := start(t)
	x := n.FirstTenant(t)
	viewer := x.Member("viewer")
	x.Define("clerk", "ws.read")
	x.Give(viewer, "clerk")
	browse(t, n, adminEmail) // who chooses a password with that
	cookie := cookieFor(t, n, adminEmail)
	n.Clock.Advance(16 * time.Minute)
	send := func(path string, form url.Values) string {
		t.Helper()
		return knock(t, n, "POST", room(n, path), form, cookie...).Header.Get("Location")
	}
	rights := func() string {
		return n.Dump(t, "workspace_member", "member_role", "workspace_role", "organization", "organization_member")
	}
	before := rights()
	for path, form := range map[string]url.Values{
		"/members":                             {"email": {servertest.NewEmail()}, "role": {"admin"}},
		"/members/" + viewer.UserID + "/roles": {"role": {"directory_manager"}},
		"/roles/clerk":                         {"name": {"Clerk"}, "permissions": {"ws.read", "ws.payouts.read", "ws.payouts.create"}},
		"/organization/second-factor":          {"require_second_factor": {"yes"}},
		"/organization/audit-retention":        {"audit_retention_days": {"365"}},
		"/organization/leaver":                 {"email": {viewer.Email()}},
	} {
		if location := send(path, form); !strings.HasPrefix(location, "/signin?next=") {
			t.Errorf("%s leads to %q", path, location)
		}
	}
	if after := rights(); after != before {
		t.Errorf("it was:\n%s\nit is:\n%s", before, after)
	}
	location := send("/members", url.Values{"email": {servertest.NewEmail()}, "role": {"viewer"}})
	if strings.HasPrefix(location, "/signin") || rights() == before {
		t.Errorf("an invitation of a viewer leads to %q", location)
	}
}
