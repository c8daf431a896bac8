package console_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/web"
)

// behindTLS makes the public address of the server one with TLS, which a proxy would
// terminate.
func behindTLS(c *config.Serve) { c.PublicURL = "https://pay.example.com" }

// knock sends a single request without following redirects or keeping cookies. form is nil
// for a GET request.
func knock(t testing.TB, n *servertest.Node, method, path string, form url.Values, headers ...string) *reply {
	t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	request, err := http.NewRequestWithContext(t.Context(), method, n.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/html")
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return &reply{response, string(data)}
}

// reply is the answer to a single request, which may be a redirect.
type reply struct {
	*http.Response
	body string
}

// set returns the cookie with a name that the answer sets, or nil.
func (r *reply) set(name string) *http.Cookie {
	var last *http.Cookie
	for _, c := range r.Cookies() {
		if c.Name == name {
			last = c
		}
	}
	return last
}

// signIn sends the sign-in form and returns the answer.
func signIn(t testing.TB, n *servertest.Node, email, secret string, headers ...string) *reply {
	t.Helper()
	return knock(t, n, "POST", "/signin", url.Values{"email": {email}, "password": {secret}}, headers...)
}

// cookieFor signs someone in by password and returns the Cookie header.
func cookieFor(t testing.TB, n *servertest.Node, email string) []string {
	t.Helper()
	return []string{"Cookie", "bursar_session=" + secretFor(t, n, email)}
}

func secretFor(t testing.TB, n *servertest.Node, email string) string {
	t.Helper()
	r := signIn(t, n, email, password)
	c := r.set("bursar_session")
	if r.StatusCode != http.StatusSeeOther || c == nil {
		t.Fatalf("%s could not sign in: %d", email, r.StatusCode)
	}
	return c.Value
}

// member creates a member of the first workspace who has the password.
func member(t testing.TB, n *servertest.Node, role string) (email string) {
	t.Helper()
	email = servertest.NewEmail()
	n.Member(t, email, role)
	setUp(t, n, email)
	return email
}

// setUp sets a person's password.
func setUp(t testing.TB, n *servertest.Node, email string) {
	t.Helper()
	r := knock(t, n, "POST", strings.TrimPrefix(link(t, n, email), n.PublicURL), url.Values{"name": {"Somebody"}, "password": {password}})
	if r.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s was not set up: %d", email, r.StatusCode)
	}
}

var wantedHeaders = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	"Referrer-Policy":         "same-origin",
	"X-Content-Type-Options":  "nosniff",
	"Cache-Control":           "no-store",
}

// guarded checks the security headers of a page.
func guarded(t testing.TB, r *reply) {
	t.Helper()
	for name, want := range wantedHeaders {
		if got := r.Header.Values(name); len(got) != 1 || got[0] != want {
			t.Errorf("%s %s: %d: %s is %q", r.Request.Method, r.Request.URL.Path, r.StatusCode, name, got)
		}
	}
	if strings.Contains(r.Header.Get("Content-Security-Policy"), "unsafe") {
		t.Error("the policy allows something unsafe")
	}
}

func TestEveryPageHasSecurityHeaders(t *testing.T) {
	t.Parallel()
	n := start(t)
	setUp(t, n, adminEmail)
	viewer := cookieFor(t, n, member(t, n, "viewer"))
	admin := cookieFor(t, n, adminEmail)
	open := link(t, n, member(t, n, "viewer"))
	ws := "/w/" + n.First.WorkspaceID
	for name, c := range map[string]struct {
		status  int
		method  string
		path    string
		headers []string
	}{
		"sign-in":               {200, "GET", "/signin", nil},
		"sign-in again":         {200, "GET", "/signin?next=/account", admin},
		"a link":                {200, "GET", strings.TrimPrefix(open, n.PublicURL), nil},
		"the account":           {200, "GET", "/account", admin},
		"the password":          {200, "GET", "/account/password", admin},
		"the app":               {200, "GET", "/account/totp", admin},
		"a device":              {200, "GET", "/device", admin},
		"a head":                {200, "HEAD", "/signin", nil},
		"the way to sign-in":    {303, "GET", "/account", nil},
		"a code without a pair": {303, "GET", "/signin/code", nil},
		"a dead link":           {404, "GET", "/invite/bln_x", nil},
		"nothing":               {404, "GET", "/nothing/at/all", nil},
		"nothing for a user":    {404, "GET", "/nothing", admin},
		"nobody's workspace":    {404, "GET", "/w/ws_x", admin},
		"no such asset":         {404, "GET", "/assets/nothing.css", nil},
		"no single sign-on":     {404, "GET", "/signin/sso", nil},
		"no mail":               {404, "GET", "/signin/recover", nil},
		"what needs more":       {403, "GET", ws + "/audit", viewer},
		"another site's form":   {403, "POST", "/signin", []string{"Sec-Fetch-Site", "cross-site"}},
		"a wrong pair":          {401, "POST", "/signin", nil},
		"a wrong method":        {405, "GET", "/signout", nil},
		"no passkey was asked":  {400, "POST", "/signin/passkey/finish", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var form url.Values
			if c.method == "POST" {
				form = url.Values{}
			}
			r := knock(t, n, c.method, c.path, form, c.headers...)
			if r.StatusCode != c.status {
				t.Fatalf("the status is %d", r.StatusCode)
			}
			guarded(t, r)
		})
	}
}

var assetPath = regexp.MustCompile(`/assets/[0-9a-f]{12}-[a-z.]+`)

func TestBrowsersCacheAssetsButNotPages(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := knock(t, n, "GET", "/signin", nil)
	paths := assetPath.FindAllString(page.body, -1)
	if len(paths) < 2 {
		t.Fatalf("the page names %v", paths)
	}
	for _, path := range paths {
		r := knock(t, n, "GET", path, nil)
		if r.StatusCode != 200 || r.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" || r.Header.Get("X-Content-Type-Options") != "nosniff" ||
			r.Header.Get("Content-Type") == "" || len(r.Cookies()) != 0 {
			t.Errorf("%s: %d %v", path, r.StatusCode, r.Header)
		}
	}
}

// elsewhere lists the headers that browsers send with a form of another site.
func elsewhere() map[string][]string {
	return map[string][]string{
		"another site":              {"Sec-Fetch-Site", "cross-site"},
		"another host of the site":  {"Sec-Fetch-Site", "same-site"},
		"an old browser":            {"Origin", "https://evil.example"},
		"an old browser, a sandbox": {"Origin", "null"},
		"another port":              {"Origin", "http://localhost:1"},
	}
}

func TestFormsFromOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := startOn(t, store)
		setUp(t, n, adminEmail)
		admin := cookieFor(t, n, adminEmail)
		for name, headers := range elsewhere() {
			t.Run(name, func(t *testing.T) {
				rows := n.Count(t, `SELECT count(*) FROM audit_log`)
				for path, form := range map[string]url.Values{
					"/signin":                                {"email": {adminEmail}, "password": {password}},
					"/signout":                               {},
					"/account/name":                          {"name": {"Mallory"}},
					"/account/password":                      {"current": {password}, "password": {"eleven green umbrellas"}},
					"/account/sessions/end-others":           {},
					"/account/totp/off":                      {"code": {"123456"}},
					"/device":                                {"code": {"ABC234"}, "decision": {"approve"}},
					"/w/" + n.First.WorkspaceID + "/members": {"email": {"mallory@evil.example"}, "role": {"admin"}},
				} {
					r := knock(t, n, "POST", path, form, append(append([]string{}, admin...), headers...)...)
					if r.StatusCode != http.StatusForbidden || len(r.Cookies()) != 0 {
						t.Errorf("%s: %d, cookies %v", path, r.StatusCode, r.Cookies())
					}
				}
				if got := n.Count(t, `SELECT count(*) FROM audit_log`); got != rows {
					t.Errorf("%d rows were written", got-rows)
				}
			})
		}
		if r := knock(t, n, "GET", "/account", nil, admin...); r.StatusCode != 200 || strings.Contains(r.body, "Mallory") {
			t.Errorf("afterwards the account answers %d", r.StatusCode)
		}
	})
}

func TestFormsFromOurOwnPagesAreAccepted(t *testing.T) {
	t.Parallel()
	n := start(t)
	setUp(t, n, adminEmail)
	for name, headers := range map[string][]string{
		"a browser":      {"Sec-Fetch-Site", "same-origin"},
		"typed in":       {"Sec-Fetch-Site", "none"},
		"an old browser": {"Origin", n.PublicURL},
		"no browser":     nil,
	} {
		if r := signIn(t, n, adminEmail, password, headers...); r.StatusCode != http.StatusSeeOther {
			t.Errorf("%s: %d", name, r.StatusCode)
		}
	}
}

// Links on other sites may open our pages. Only what changes something is refused.
func TestPagesOpenFromOtherSites(t *testing.T) {
	t.Parallel()
	n := start(t)
	if r := knock(t, n, "GET", "/signin", nil, "Sec-Fetch-Site", "cross-site"); r.StatusCode != 200 {
		t.Errorf("answered %d", r.StatusCode)
	}
}

func TestSigningInNeverLeadsToAnotherSite(t *testing.T) {
	t.Parallel()
	n := start(t)
	setUp(t, n, adminEmail)
	for _, next := range []string{
		"//evil.example", "///evil.example", "////evil.example", "https://evil.example", "http:evil.example", "javascript:alert(1)", "evil.example",
		"/\\evil.example", "\\/evil.example", "\\\\evil.example", "/\t/evil.example", "/\n/evil.example", "/\r/evil.example", "\t//evil.example", " //evil.example",
		"/x\r\nSet-Cookie: a=b", "/signin?next=/signin", "/signout", strings.Repeat("/a", 1000), "",
	} {
		t.Run(fmt.Sprintf("%.30q", next), func(t *testing.T) {
			r := knock(t, n, "POST", "/signin", url.Values{"email": {adminEmail}, "password": {password}, "next": {next}})
			if got := r.Header.Get("Location"); r.StatusCode != http.StatusSeeOther || got != "/" {
				t.Errorf("%d, led to %q", r.StatusCode, got)
			}
			page := knock(t, n, "GET", "/signin?"+url.Values{"next": {next}}.Encode(), nil)
			if page.StatusCode != 200 || strings.Contains(page.body, "evil.example") {
				t.Errorf("the page answers %d, and names another site", page.StatusCode)
			}
		})
	}
}

// These addresses look like other hosts, but browsers read them as paths on this host.
func TestSigningInStaysOnThisHost(t *testing.T) {
	t.Parallel()
	n := start(t)
	setUp(t, n, adminEmail)
	for _, next := range []string{"/%2f%2fevil.example", "/%5cevil.example", "/.//evil.example", "/x/..//evil.example", "/\x0b/evil.example", "/\x00/evil.example", "/@evil.example", "/\u2215evil.example"} {
		t.Run(fmt.Sprintf("%q", next), func(t *testing.T) {
			r := knock(t, n, "POST", "/signin", url.Values{"email": {adminEmail}, "password": {password}, "next": {next}})
			base, err := url.Parse(n.PublicURL + "/signin")
			if err != nil {
				t.Fatal(err)
			}
			location := r.Header.Get("Location")
			to, err := base.Parse(location)
			if err != nil || to.Host != base.Host || strings.HasPrefix(location, "//") || strings.HasPrefix(location, "/\\") || strings.ContainsFunc(location, func(r rune) bool { return r < ' ' }) {
				t.Errorf("led to %q: %v", location, err)
			}
		})
	}
}

func TestSigningInLeadsBackToThePage(t *testing.T) {
	t.Parallel()
	n := start(t)
	setUp(t, n, adminEmail)
	for _, path := range []string{"/account", "/device?code=ABC234", "/w/" + n.First.WorkspaceID + "/audit?outcome=denied&actor=x"} {
		sent := knock(t, n, "GET", path, nil).Header.Get("Location")
		to, err := url.Parse(sent)
		if err != nil || to.Path != "/signin" || to.Query().Get("next") != path {
			t.Fatalf("%s: sent to %q", path, sent)
		}
		r := knock(t, n, "POST", "/signin", url.Values{"email": {adminEmail}, "password": {password}, "next": {to.Query().Get("next")}})
		if got := r.Header.Get("Location"); got != path {
			t.Errorf("%s: came back to %q", path, got)
		}
	}
}

func TestTooManyAttemptsStateWhenToRetry(t *testing.T) {
	t.Parallel()
	n := start(t, servertest.RateLimit("50/s"))
	setUp(t, n, adminEmail)
	for name, email := range map[string]string{"a known account": adminEmail, "an unknown account": "nobody@example.com"} {
		t.Run(name, func(t *testing.T) {
			var r *reply
			for tries := 0; ; tries++ {
				if r = signIn(t, n, email, "the wrong password"); r.StatusCode == http.StatusTooManyRequests {
					break
				}
				if tries > 12 || r.StatusCode != http.StatusUnauthorized {
					t.Fatalf("attempt %d is answered %d", tries+1, r.StatusCode)
				}
			}
			seconds, err := strconv.Atoi(r.Header.Get("Retry-After"))
			if err != nil || seconds < 1 || seconds > 120 {
				t.Errorf("Retry-After is %q", r.Header.Get("Retry-After"))
			}
			if !strings.Contains(r.body, "Too many attempts. Try again in") {
				t.Error("the page does not say so")
			}
			guarded(t, r)
		})
	}
}

// The page is the same for every wrong email and password, except for what was typed.
func TestWrongPasswordPageNeverRevealsWhetherAUserExists(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := startOn(t, store)
		setUp(t, n, adminEmail)
		gone, invited := member(t, n, "viewer"), servertest.NewEmail()
		if _, err := n.Identity.DisableUser(t.Context(), db.Caller{}, gone); err != nil {
			t.Fatal(err)
		}
		n.Admin(t).Post("/v1/workspaces/"+n.First.WorkspaceID+"/members", servertest.Body{"email": invited, "role": "viewer"}).OK()
		look := func(email, secret string) string {
			r := signIn(t, n, email, secret)
			if r.StatusCode != http.StatusUnauthorized || len(r.Cookies()) != 0 {
				t.Errorf("%s: %d, cookies %v", email, r.StatusCode, r.Cookies())
			}
			body := strings.ReplaceAll(r.body, email, "EMAIL")
			return strings.ReplaceAll(body, r.Header.Get("X-Request-Id"), "REQUEST")
		}
		want := look("nobody@example.com", password)
		for name, c := range map[string][2]string{
			"a wrong password":   {adminEmail, "the wrong password"},
			"a disabled account": {gone, password},
			"an invited account": {invited, password},
		} {
			if got := look(c[0], c[1]); got != want {
				t.Errorf("%s looks different:\n%s\n%s", name, got, want)
			}
		}
	})
}

// NUL bytes and invalid UTF-8 must be answered as the client's mistake, not as a failure
// of the server.
func TestInvalidTextIsRefusedWithoutAServerError(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := startOn(t, store)
		setUp(t, n, adminEmail)
		admin := cookieFor(t, n, adminEmail)
		for _, bad := range []string{"\x00", "\xff", "ada\x00@example.com", "ada\xff@example.com"} {
			for path, form := range map[string]url.Values{
				"/signin":           {"email": {bad}, "password": {bad}},
				"/account/name":     {"name": {bad}},
				"/account/password": {"current": {bad}, "password": {bad}},
				"/account/totp/off": {"code": {bad}},
				"/device":           {"code": {bad}, "decision": {"approve"}},
				"/account/sessions/" + url.PathEscape(bad) + "/end":    {},
				"/account/passkeys/" + url.PathEscape(bad) + "/remove": {},
				"/invite/" + url.PathEscape(bad):                       {"name": {bad}, "password": {bad}},
				"/invite/" + url.PathEscape(bad) + "/accept":           {},
			} {
				if r := knock(t, n, "POST", path, form, admin...); r.StatusCode >= 500 {
					t.Errorf("%s with %q: %d", path, bad, r.StatusCode)
				}
			}
			for _, path := range []string{"/w/" + url.PathEscape(bad), "/invite/" + url.PathEscape(bad), "/device?code=" + url.QueryEscape(bad)} {
				if r := knock(t, n, "GET", path, nil, admin...); r.StatusCode >= 500 {
					t.Errorf("%s: %d", path, r.StatusCode)
				}
			}
		}
		t.Run("a browser's name", func(t *testing.T) {
			if r := signIn(t, n, adminEmail, password, "User-Agent", "Odd\xffBrowser"); r.StatusCode != http.StatusSeeOther {
				t.Errorf("answered %d", r.StatusCode)
			}
		})
		if strings.Contains(n.Log.String(), "unexpected failure") {
			t.Error("something failed on our side")
		}
	})
}

func TestAFormThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	n := start(t)
	if r := signIn(t, n, strings.Repeat("a", 2<<20), password); r.StatusCode != http.StatusBadRequest && r.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("answered %d", r.StatusCode)
	}
}

func sealer(t testing.TB, key string, now *int64) *web.Sealer {
	t.Helper()
	s, err := web.NewSealer([]byte(strings.Repeat(key, 32)), func() int64 { return *now })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestValuesInTheBrowserAreSealed(t *testing.T) {
	now := int64(1_700_000_000_000)
	s := sealer(t, "k", &now)
	type thing struct{ Text string }
	text, err := web.Seal(s, "purpose", thing{"a secret"}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	opens := func(s *web.Sealer, purpose, text string) bool {
		got, ok := web.Unseal[thing](s, purpose, text)
		if !ok && got != (thing{}) {
			t.Errorf("what is refused gives %+v", got)
		}
		return ok
	}
	if got, ok := web.Unseal[thing](s, "purpose", text); !ok || got.Text != "a secret" {
		t.Fatalf("it does not open: %+v", got)
	}
	if strings.Contains(text, "secret") {
		t.Error("it can be read")
	}
	if again, _ := web.Seal(s, "purpose", thing{"a secret"}, time.Minute); again == text {
		t.Error("equal things look alike")
	}
	t.Run("for another purpose", func(t *testing.T) {
		if opens(s, "another", text) || opens(s, "", text) {
			t.Error("it opens")
		}
	})
	t.Run("by another key", func(t *testing.T) {
		if opens(sealer(t, "x", &now), "purpose", text) {
			t.Error("it opens")
		}
	})
	t.Run("by another node with the same key", func(t *testing.T) {
		if !opens(sealer(t, "k", &now), "purpose", text) {
			t.Error("it does not open")
		}
	})
	t.Run("changed anywhere", func(t *testing.T) {
		for i := range text {
			changed := []byte(text)
			changed[i] = "AB"[map[bool]int{true: 1}[changed[i] == 'A']]
			// Some bits of the last character are not part of the encoded data, so changing
			// it might change nothing.
			if string(changed) != text && i < len(text)-1 && opens(s, "purpose", string(changed)) {
				t.Fatalf("it opens with another character at %d", i)
			}
		}
	})
	t.Run("cut off or made up", func(t *testing.T) {
		for _, bad := range []string{"", "A", text[:len(text)-4], text + "AAAA", "not base64 at all!", strings.Repeat("A", 60)} {
			if opens(s, "purpose", bad) {
				t.Errorf("%q opens", bad)
			}
		}
	})
	t.Run("once its time is over", func(t *testing.T) {
		now += time.Minute.Milliseconds() - 1
		if !opens(s, "purpose", text) {
			t.Error("it does not open in time")
		}
		now++
		if opens(s, "purpose", text) {
			t.Error("it opens")
		}
	})
}

func TestIdentityProviderThatIsDownIsExplainedAndLogged(t *testing.T) {
	t.Parallel()
	down := httptest.NewServer(nil)
	down.Close()
	n := start(t, func(c *config.Serve) {
		c.OIDC = config.OIDC{Issuer: down.URL, ClientID: "bursar", ClientSecret: "s", Name: "Northwind"}
	})
	for _, path := range []string{"/signin/sso", "/signin/sso?next=/account", "/signin/sso/callback?state=s&code=c"} {
		r := knock(t, n, "GET", path, nil)
		if r.StatusCode != http.StatusUnauthorized || !strings.Contains(r.body, "The identity provider isn&#39;t responding. Try again later, or sign in another way.") {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
		if !strings.Contains(r.body, `name="password"`) {
			t.Errorf("%s: no other way is offered", path)
		}
		guarded(t, r)
	}
	if log := n.Log.String(); strings.Count(log, "the identity provider failed") != 3 || strings.Contains(log, "unexpected failure") {
		t.Errorf("the log says %s", log)
	}
}
