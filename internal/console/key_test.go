package console_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

func TestAPIKeyIsCreatedRotatedAndRevoked(t *testing.T) {
	n := start(t)
	page := open(t, n, adminEmail, "/keys")
	page.Accessible("keys")
	page.ClickText("Compromised?")
	page.Accessible("a key that can be reported")
	page.Shoot("keys-compromised")
	page.ClickText("New API key")
	page.Accessible("a new key")
	page.Fill("Name", "Laptop")
	page.Select("Expires", "In 30 days")
	page.Fill("Allowed networks (optional)", "127.0.0.0/8\n::1/128")
	page.Shoot("keys-new")
	page.ClickText("Create API key")
	page.WaitText(`API key "Laptop" created.`)
	first := page.Value("Your new key")
	n.Exchange(t, "Bearer "+first).OK()
	if line := page.Text("#try-line"); line != "curl -X POST "+n.PublicURL+"/v1/auth/token -H 'Authorization: Bearer "+first+"'" {
		t.Errorf("the line to try it is %q", line)
	}
	page.Accessible("keys with a secret")
	page.Shoot("keys-made")
	page.ClickText("Copy the command")
	page.Reload()
	if page.Has("#shown-once") || page.Has("#try-line") || strings.Contains(page.Text("body"), first) {
		t.Error("the secret is still there")
	}

	page.ClickText("Rotate key Laptop")
	page.Accessible("a key to rotate")
	page.Shoot("keys-rotate")
	page.Select("Old key expires", "in 1 hour")
	page.ClickText("Rotate key")
	page.WaitText(`API key "Laptop" rotated. The old key works for another 1 hour.`)
	second := page.Value("Your new key")
	n.Exchange(t, "Bearer "+first).OK()
	n.Exchange(t, "Bearer "+second).OK()
	n.Clock.Advance(61 * time.Minute)
	n.Exchange(t, "Bearer "+first).Fails(http.StatusUnauthorized, "UNAUTHORIZED")

	page = open(t, n, adminEmail, "/keys")
	page.WaitText("Expired")
	page.Click("tr:not(.off):nth-child(3) .danger")
	page.ClickText("Revoke")
	page.WaitText("API key revoked.")
	n.Exchange(t, "Bearer "+second).Fails(http.StatusUnauthorized, "UNAUTHORIZED")
}

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

func TestUnusedKeysAreMarked(t *testing.T) {
	n := start(t)
	browse(t, n, adminEmail).post(room(n, "/clients"), "name", "Nightly import", "role", "auditor")
	n.Clock.Advance(44 * 24 * time.Hour)
	if got := browse(t, n, adminEmail).get(room(n, "/keys")).body; strings.Contains(got, "Unused for 45 days") {
		t.Error("44 days are not 45")
	}
	n.Clock.Advance(2 * 24 * time.Hour)
	if got := browse(t, n, adminEmail).get(room(n, "/keys")).body; strings.Count(got, "Unused for 45 days") != 2 {
		t.Error("want the key and the client to be marked")
	}
	n.Admin(t)
	if got := browse(t, n, adminEmail).get(room(n, "/keys")).body; strings.Count(got, "Unused for 45 days") != 1 {
		t.Error("the key was used since")
	}
	page := open(t, n, adminEmail, "/keys")
	page.Accessible("keys, some unused")
	page.Shoot("keys")
}

func basic(id, secret string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret))
}

func TestMachineClientIsCreatedRotatedAndRevoked(t *testing.T) {
	n := start(t)
	page := open(t, n, adminEmail, "/keys")
	page.ClickText("New machine client")
	page.Accessible("a new machine client")
	page.Shoot("keys-client")
	page.Fill("Name", "Nightly import")
	page.Select("Role", "Directory manager")
	page.ClickText("Create machine client")
	page.WaitText(`Machine client "Nightly import" created.`)
	first := page.Value("Secret of Nightly import")
	id := page.Text("tr[id^=cli_] small .mono")
	if line := page.Text("#try-line"); !strings.HasSuffix(line, " -u '"+id+":"+first+"'") {
		t.Errorf("the line to try it is %q", line)
	}
	if page.Text("tr[id^=cli_] .chip") != "Directory manager" {
		t.Error("want its role")
	}
	token := n.Exchange(t, basic(id, first)).OK().Text("token")
	n.Holder(t, token).Entries().OK()
	page.Accessible("keys with a client's secret")
	page.Shoot("keys-client-made")
	page.Reload()
	if page.Has("#shown-once") {
		t.Error("the secret is still there")
	}

	page.ClickText("Rotate the secret of Nightly import")
	page.ClickText("New secret")
	page.WaitText("has a new secret")
	second := page.Value("Secret of Nightly import")
	n.Exchange(t, basic(id, first)).Fails(http.StatusUnauthorized, "INVALID_CREDENTIALS")
	n.Holder(t, token).Get("/v1/auth/me").Fails(http.StatusUnauthorized, "UNAUTHORIZED")
	n.Exchange(t, basic(id, second)).OK()

	page.ClickText("Revoke the machine client Nightly import")
	page.ClickText("Revoke")
	page.WaitText("Machine client revoked.")
	n.Exchange(t, basic(id, second)).Fails(http.StatusUnauthorized, "INVALID_CREDENTIALS")
	if page.Has("tr[id^=cli_]") {
		t.Error("a revoked client is listed")
	}
}

func TestMachineClientsNeedThePermission(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := startOn(t, store)
		admin := browse(t, n, adminEmail)
		made := admin.post(room(n, "/clients"), "name", "Nightly import", "role", "viewer")
		id := regexp.MustCompile(`cli_\w+`).FindString(made.body)
		if id == "" {
			t.Fatalf("no machine client was made: %d", made.status)
		}
		n.Member(t, "vic@example.com", "viewer")
		vic := browse(t, n, "vic@example.com")
		if seen := vic.get(room(n, "/keys")); seen.status != http.StatusOK || strings.Contains(seen.body, "cli_") || strings.Contains(seen.body, "/clients") {
			t.Errorf("a viewer sees their own keys alone: %d", seen.status)
		}
		refused(t, vic.get(room(n, "/clients/new")), "ws.keys.write")
		for _, try := range []struct{ path, action string }{
			{"/clients", "auth.client.created"},
			{"/clients/" + id + "/rotate", "auth.client.rotated"},
			{"/clients/" + id + "/revoke", "auth.client.revoked"},
		} {
			refused(t, vic.post(room(n, try.path), "name", "Mine", "role", "viewer"), "ws.keys.write")
			if denied(t, n, try.action) != 1 {
				t.Errorf("the refusal of %s is not on record", try.action)
			}
		}
	})
}

func TestMachineClientGetsNoMoreThanItsCreatorHas(t *testing.T) {
	n := start(t)
	n.Admin(t).Put("/v1/workspaces/"+n.First.WorkspaceID+"/roles/operator", servertest.Body{
		"name": "Operator", "permissions": []string{"ws.read", "ws.keys.read", "ws.keys.write", "ws.members.read", "ws.directory.read", "ws.payouts.read", "ws.accounts.read"},
	}).OK()
	n.Member(t, "otto@example.com", "operator")
	otto := browse(t, n, "otto@example.com")
	form := otto.get(room(n, "/clients/new")).body
	if !strings.Contains(form, `value="viewer"`) || !strings.Contains(form, `value="operator"`) || strings.Contains(form, `value="admin"`) {
		t.Error("want only roles that the visitor holds all of")
	}
	refused(t, otto.post(room(n, "/clients"), "name", "Mine", "role", "admin"), "ws.write")
	wrong := otto.post(room(n, "/clients"), "name", "", "role", "viewer")
	if wrong.status != http.StatusBadRequest || !strings.Contains(wrong.body, `id="name-problem"`) {
		t.Errorf("want the problem at the field, got %d", wrong.status)
	}
}

func TestTheConsoleShowsWhatAMachineClientEffectivelyHolds(t *testing.T) {
	n := start(t)
	visitor := browse(t, n, adminEmail)
	if form := visitor.get(room(n, "/clients/new")).body; strings.Contains(form, "Full access") || strings.Contains(form, "Create, edit and delete roles") {
		t.Error("the form promises what a machine client never holds")
	}
	visitor.post(room(n, "/clients"), "name", "Nightly import", "role", "admin")
	for _, path := range []string{"/members", "/keys"} {
		if !strings.Contains(visitor.get(room(n, path)).body, "manage members, roles or machine clients") {
			t.Errorf("%s does not say what the machine client can't do", path)
		}
	}
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

// Whoever finds an unattended browser must not be able to make a lasting credential with
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
func TestAnUnattendedBrowserLetsNobodyDecide(t *testing.T) {
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

func TestAPasswordChangeOffersToRevokeTheKeys(t *testing.T) {
	t.Parallel()
	n := start(t)
	secret := n.First.APIKey
	page := open(t, n, adminEmail, "")
	page.Goto(n.PublicURL + "/account/password")
	page.Accessible("a new password")
	page.Fill("Current password", password)
	page.Fill("New password", password+"?")
	page.Uncheck("Also revoke my API keys")
	page.ClickText("Save")
	page.WaitText("Password changed. All other sessions ended.")
	n.Exchange(t, "Bearer "+secret).OK()

	page.Goto(n.PublicURL + "/account/password")
	page.Fill("Current password", password+"?")
	page.Fill("New password", password+"!")
	page.ClickText("Save")
	page.WaitText("your API keys were revoked")
	n.Exchange(t, "Bearer "+secret).Fails(http.StatusUnauthorized, "UNAUTHORIZED")
}
