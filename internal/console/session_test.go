package console_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/wait"
)

// inside says whether a session's secret opens the account page.
func inside(t testing.TB, n *servertest.Node, secret string, headers ...string) bool {
	t.Helper()
	r := knock(t, n, "GET", "/account", nil, append([]string{"Cookie", "bursar_session=" + secret}, headers...)...)
	if r.StatusCode != http.StatusOK && r.StatusCode != http.StatusSeeOther {
		t.Fatalf("the account answers %d", r.StatusCode)
	}
	return r.StatusCode == http.StatusOK
}

// each runs a test on every engine with an admin who has the password.
func each(t *testing.T, run func(t *testing.T, n *servertest.Node), options ...servertest.Option) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := startOn(t, store, options...)
		setUp(t, n, adminEmail)
		run(t, n)
	})
}

func TestSessionCookieIsHiddenFromScriptsAndOtherSites(t *testing.T) {
	t.Parallel()
	n := start(t)
	setUp(t, n, adminEmail)
	c := signIn(t, n, adminEmail, password).set("bursar_session")
	if c == nil || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.Secure {
		t.Fatalf("the cookie is %v", c)
	}
	if life := time.Duration(c.MaxAge) * time.Second; life > 12*time.Hour || life < 12*time.Hour-time.Minute {
		t.Errorf("it is kept for %v", life)
	}
}

func TestBehindTLSCookiesAreSecure(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t), behindTLS)
	setUp(t, n, adminEmail)
	r := signIn(t, n, adminEmail, password)
	for _, c := range r.Cookies() {
		if !strings.HasPrefix(c.Name, "__Host-") || !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" || c.SameSite != http.SameSiteLaxMode {
			t.Errorf("the cookie is %v", c)
		}
	}
	c := r.set("__Host-bursar_session")
	if c == nil {
		t.Fatalf("there is no session: %v", r.Cookies())
	}
	t.Run("it opens pages", func(t *testing.T) {
		if r := knock(t, n, "GET", "/account", nil, "Cookie", c.Name+"="+c.Value); r.StatusCode != 200 {
			t.Errorf("answered %d", r.StatusCode)
		}
	})
	t.Run("one that anybody can have set does not", func(t *testing.T) {
		if r := knock(t, n, "GET", "/account", nil, "Cookie", "bursar_session="+c.Value); r.StatusCode != http.StatusSeeOther {
			t.Errorf("answered %d", r.StatusCode)
		}
	})
	t.Run("the flash is as safe", func(t *testing.T) {
		r := knock(t, n, "POST", "/account/name", url.Values{"name": {"New Name"}}, "Cookie", c.Name+"="+c.Value)
		if f := r.set("__Host-bursar_flash"); f == nil || !f.Secure || !f.HttpOnly {
			t.Errorf("the cookies are %v", r.Cookies())
		}
	})
}

func TestBehindTLSEveryAnswerHasStrictTransportSecurity(t *testing.T) {
	t.Parallel()
	secure, plain := servertest.Start(t, dbtest.SQLite(t), behindTLS), start(t)
	asset := assetPath.FindString(knock(t, secure, "GET", "/signin", nil).body)
	for _, path := range []string{"/signin", "/account", "/nothing", asset, "/v1/auth/me", "/v1/nothing", "/docs", "/invite/x", "/signout"} {
		if got := knock(t, secure, "GET", path, nil).Header.Get("Strict-Transport-Security"); got != "max-age=31536000" {
			t.Errorf("%s: %q", path, got)
		}
		if got := knock(t, plain, "GET", path, nil).Header.Get("Strict-Transport-Security"); got != "" {
			t.Errorf("%s without TLS: %q", path, got)
		}
	}
}

func TestSigningInReplacesTheSession(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		old := secretFor(t, n, adminEmail)
		if !inside(t, n, old) {
			t.Fatal("the first session is not good")
		}
		fresh := signIn(t, n, adminEmail, password, "Cookie", "bursar_session="+old).set("bursar_session").Value
		if fresh == old || inside(t, n, old) || !inside(t, n, fresh) {
			t.Errorf("the old one is good: %v, the new one: %v", inside(t, n, old), inside(t, n, fresh))
		}
	})
}

// An attacker can plant a cookie in a browser before its owner signs in. The sign-in
// must replace it.
func TestSessionFixationFails(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		planted := "bws_" + strings.Repeat("a", 36)
		got := signIn(t, n, adminEmail, password, "Cookie", "bursar_session="+planted).set("bursar_session")
		if got == nil || got.Value == planted || inside(t, n, planted) {
			t.Errorf("the session is %v", got)
		}
	})
}

func TestFailedSignInKeepsTheCurrentSession(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		secret := secretFor(t, n, adminEmail)
		signIn(t, n, adminEmail, "the wrong password", "Cookie", "bursar_session="+secret)
		if !inside(t, n, secret) {
			t.Error("it ended")
		}
	})
}

func TestSigningOutEndsTheSessionImmediately(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		secret := secretFor(t, n, adminEmail)
		r := knock(t, n, "POST", "/signout", url.Values{}, "Cookie", "bursar_session="+secret)
		if c := r.set("bursar_session"); c == nil || c.MaxAge >= 0 || c.Value != "" || r.Header.Get("Location") != "/signin" {
			t.Errorf("answered %d %v", r.StatusCode, r.Cookies())
		}
		if inside(t, n, secret) {
			t.Error("the secret is still good")
		}
	})
}

func TestSessionEndsAfterTwelveHours(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		secret := secretFor(t, n, adminEmail)
		for range 24 {
			n.Clock.Advance(29 * time.Minute)
			if !inside(t, n, secret) {
				t.Fatal("it ended early")
			}
		}
		n.Clock.Advance(24 * time.Minute)
		if inside(t, n, secret) {
			t.Error("it lives on after twelve hours")
		}
	})
}

func TestIdleSessionEnds(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		t.Run("pages keep it", func(t *testing.T) {
			secret := secretFor(t, n, adminEmail)
			for range 3 {
				n.Clock.Advance(29 * time.Minute)
				if !inside(t, n, secret) {
					t.Fatal("it ended")
				}
			}
			n.Clock.Advance(30 * time.Minute)
			if inside(t, n, secret) {
				t.Error("it lives on")
			}
		})
		t.Run("a page that asks for news does not", func(t *testing.T) {
			secret := secretFor(t, n, adminEmail)
			for range 3 {
				n.Clock.Advance(9 * time.Minute)
				if !inside(t, n, secret, "X-Background", "1") {
					t.Fatal("it ended early")
				}
			}
			n.Clock.Advance(3 * time.Minute)
			if inside(t, n, secret, "X-Background", "1") {
				t.Error("it lives on")
			}
		})
	})
}

func TestExpiredSessionCookieIsDeleted(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		secret := secretFor(t, n, adminEmail)
		n.Clock.Advance(time.Hour)
		r := knock(t, n, "GET", "/account", nil, "Cookie", "bursar_session="+secret)
		if c := r.set("bursar_session"); c == nil || c.MaxAge >= 0 {
			t.Errorf("the cookies are %v", r.Cookies())
		}
	})
}

func TestDisabledUserIsSignedOutImmediately(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		email := member(t, n, "admin")
		secret := secretFor(t, n, email)
		inside(t, n, secret)
		if _, err := n.Identity.DisableUser(t.Context(), db.Caller{}, email); err != nil {
			t.Fatal(err)
		}
		if inside(t, n, secret) {
			t.Error("the session is good")
		}
	})
}

func TestSessionIsSharedByAllNodes(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		here, there := startOn(t, store), startOn(t, store)
		setUp(t, here, adminEmail)
		t.Run("one that began here is good there", func(t *testing.T) {
			if !inside(t, there, secretFor(t, here, adminEmail)) {
				t.Error("it is not")
			}
		})
		for name, end := range map[string]func(secret string){
			"signing out": func(secret string) {
				knock(t, here, "POST", "/signout", url.Values{}, "Cookie", "bursar_session="+secret)
			},
			"ending all others": func(string) {
				knock(t, here, "POST", "/account/sessions/end-others", url.Values{}, cookieFor(t, here, adminEmail)...)
			},
			"a new password": func(secret string) {
				r := knock(t, here, "POST", "/account/password", url.Values{"current": {password}, "password": {password + "!"}}, cookieFor(t, here, adminEmail)...)
				if r.StatusCode != http.StatusSeeOther {
					t.Fatalf("the password was not changed: %d", r.StatusCode)
				}
				setUp(t, here, adminEmail)
			},
			"an account link": func(string) { setUp(t, here, adminEmail) },
		} {
			t.Run(name+" here ends it there", func(t *testing.T) {
				secret := secretFor(t, here, adminEmail)
				if !inside(t, here, secret) || !inside(t, there, secret) {
					t.Fatal("it is not good")
				}
				end(secret)
				if inside(t, here, secret) {
					t.Error("it is good here")
				}
				wait.Until(t, "there", func() bool { return !inside(t, there, secret) })
			})
		}
		t.Run("what is begun here is finished there", func(t *testing.T) {
			// The flash travels in the browser, sealed with a key that all nodes share.
			cookie := cookieFor(t, here, adminEmail)
			told := knock(t, here, "POST", "/account/name", url.Values{"name": {"Renamed"}}, cookie...).set("bursar_flash")
			page := knock(t, there, "GET", "/account", nil, "Cookie", cookie[1]+"; bursar_flash="+told.Value)
			if !strings.Contains(page.body, "Name updated.") {
				t.Error("the other node does not tell it")
			}
		})
	})
}

var endPath = regexp.MustCompile(`/account/sessions/(ses_[0-9a-z]+)/end`)

// sessionsShown are the ids of the sessions on the account page.
func sessionsShown(t testing.TB, n *servertest.Node, cookie []string) (ids []string) {
	t.Helper()
	for _, found := range endPath.FindAllStringSubmatch(knock(t, n, "GET", "/account", nil, cookie...).body, -1) {
		ids = append(ids, found[1])
	}
	return ids
}

var nextPage = regexp.MustCompile(`href="(/account\?[^"#]+)#sessions" rel="next"`)

// A session must not hide behind others: an attacker could start as many with a key.
func TestEverySessionIsListed(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		mine := cookieFor(t, n, adminEmail)
		oldest := sessionsShown(t, n, mine)
		for range 101 {
			n.Admin(t)
		}
		if first := sessionsShown(t, n, mine); slices.Contains(first, oldest[len(oldest)-1]) {
			t.Errorf("%d sessions are on one page", len(first))
		}
		listed := map[string]bool{}
		for path, pages := "/account", 0; path != ""; pages++ {
			shown := knock(t, n, "GET", path, nil, mine...)
			for _, found := range endPath.FindAllStringSubmatch(shown.body, -1) {
				if listed[found[1]] {
					t.Errorf("%s is listed twice", found[1])
				}
				listed[found[1]] = true
			}
			if path = ""; pages < 20 {
				if next := nextPage.FindStringSubmatch(shown.body); next != nil {
					path = html.UnescapeString(next[1])
				}
			}
		}
		for _, id := range oldest {
			if !listed[id] {
				t.Errorf("%s, which is live, is not listed among %d", id, len(listed))
			}
		}
		if len(listed) != len(oldest)+101 {
			t.Errorf("%d sessions are listed, want %d", len(listed), len(oldest)+101)
		}
		if r := knock(t, n, "GET", "/account?cursor=made-up", nil, mine...); r.Header.Get("Location") != "/account" {
			t.Errorf("a cursor that is made up answers %d", r.StatusCode)
		}
	})
}

func TestSessionsAreEndedOneByOne(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		email := member(t, n, "viewer")
		theirs := cookieFor(t, n, adminEmail)
		first, second := secretFor(t, n, email), secretFor(t, n, email)
		mine := []string{"Cookie", "bursar_session=" + first}
		t.Run("somebody else's is not there", func(t *testing.T) {
			for _, id := range append(sessionsShown(t, n, theirs), "ses_unknown") {
				if r := knock(t, n, "POST", "/account/sessions/"+id+"/end", url.Values{}, mine...); r.StatusCode != http.StatusNotFound {
					t.Errorf("%s: answered %d", id, r.StatusCode)
				}
			}
			if r := knock(t, n, "GET", "/account", nil, theirs...); r.StatusCode != 200 {
				t.Error("it is ended")
			}
		})
		t.Run("another of one's own", func(t *testing.T) {
			ids := sessionsShown(t, n, mine) // the newest is first; those of the API key and of the link are in the list, too
			r := knock(t, n, "POST", "/account/sessions/"+ids[0]+"/end", url.Values{}, mine...)
			if r.StatusCode != http.StatusSeeOther || inside(t, n, second) || !inside(t, n, first) {
				t.Errorf("answered %d; that one is good: %v, this one: %v", r.StatusCode, inside(t, n, second), inside(t, n, first))
			}
		})
		t.Run("this one", func(t *testing.T) {
			id := sessionsShown(t, n, mine)[0]
			r := knock(t, n, "POST", "/account/sessions/"+id+"/end", url.Values{}, mine...)
			if c := r.set("bursar_session"); c == nil || c.MaxAge >= 0 || inside(t, n, first) {
				t.Errorf("answered %d %v", r.StatusCode, r.Cookies())
			}
		})
	})
}

func TestSessionCookieIsRefusedByTheAPI(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		secret := secretFor(t, n, adminEmail)
		for name, headers := range map[string][]string{
			"as a cookie":      {"Cookie", "bursar_session=" + secret},
			"as a token":       {"Authorization", "Bearer " + secret},
			"as a password":    {"Authorization", "Basic " + secret},
			"as a naked value": {"Authorization", secret},
		} {
			t.Run(name, func(t *testing.T) {
				for _, path := range []string{"/v1/auth/me", "/v1/workspaces", "/v1/directory?workspace_id=" + n.First.WorkspaceID} {
					n.Stranger(t).Do("GET", path, nil, headers...).Fails(401, "UNAUTHORIZED")
				}
				if a := n.Stranger(t).Do("POST", "/v1/auth/token", nil, headers...); a.Status != http.StatusUnauthorized {
					t.Errorf("exchanged: %d", a.Status)
				}
			})
		}
	})
}

func TestAPITokenIsNoBrowserSession(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		token := n.Admin(t).Token
		for name, headers := range map[string][]string{
			"as a token":  {"Authorization", "Bearer " + token},
			"as a cookie": {"Cookie", "bursar_session=" + token},
			"the API key": {"Cookie", "bursar_session=" + n.First.APIKey},
		} {
			if r := knock(t, n, "GET", "/account", nil, headers...); r.StatusCode != http.StatusSeeOther {
				t.Errorf("%s: answered %d", name, r.StatusCode)
			}
		}
	})
}

func TestChangingHowToSignInNeedsARecentSignIn(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		email := member(t, n, "viewer")
		cookie := cookieFor(t, n, email)
		for _, path := range []string{"/account/password", "/account/totp"} {
			if r := knock(t, n, "GET", path, nil, cookie...); r.StatusCode != 200 {
				t.Errorf("freshly: %s answers %d", path, r.StatusCode)
			}
		}
		n.Clock.Advance(15 * time.Minute)
		for _, path := range []string{"/account/password", "/account/totp", "/account/totp/off"} {
			if r := knock(t, n, "GET", path, nil, cookie...); r.Header.Get("Location") != "/signin?next="+url.QueryEscape(path) {
				t.Errorf("later: %s answers %d %s", path, r.StatusCode, r.Header.Get("Location"))
			}
		}
		for path, form := range map[string]url.Values{
			"/account/password":          {"current": {password}, "password": {"eleven green umbrellas"}},
			"/account/totp":              {"code": {"123456"}},
			"/account/totp/off":          {"code": {"123456"}},
			"/account/recovery-codes":    {},
			"/account/passkeys/x/remove": {},
		} {
			if r := knock(t, n, "POST", path, form, cookie...); r.Header.Get("Location") != "/signin?next=%2Faccount" {
				t.Errorf("later: %s answers %d %s", path, r.StatusCode, r.Header.Get("Location"))
			}
		}
		if r := knock(t, n, "POST", "/account/passkeys", url.Values{}, cookie...); r.StatusCode != http.StatusUnauthorized {
			t.Errorf("later: a passkey is offered: %d", r.StatusCode)
		}
		if r := signIn(t, n, email, password); r.StatusCode != http.StatusSeeOther {
			t.Error("the password was changed")
		}
	})
}

// The state cookie between the password and the code must not open anything.
func TestPasswordWithoutTheCodeOpensNothing(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		secret := turnOn(t, n, adminEmail)
		r := signIn(t, n, adminEmail, password)
		state := r.set("bursar_state")
		if r.Header.Get("Location") != "/signin/code" || state == nil || r.set("bursar_session") != nil {
			t.Fatalf("sent to %q with %v", r.Header.Get("Location"), r.Cookies())
		}
		t.Run("it opens nothing", func(t *testing.T) {
			for _, name := range []string{"bursar_state", "bursar_session", "bursar_flash"} {
				if r := knock(t, n, "GET", "/account", nil, "Cookie", name+"="+state.Value); r.StatusCode != http.StatusSeeOther {
					t.Errorf("as %s: %d", name, r.StatusCode)
				}
			}
		})
		t.Run("it is not what other steps keep", func(t *testing.T) {
			for _, path := range []string{"/signin/passkey/finish"} {
				if r := knock(t, n, "POST", path, url.Values{}, "Cookie", "bursar_state="+state.Value); r.StatusCode != http.StatusBadRequest {
					t.Errorf("%s: %d", path, r.StatusCode)
				}
			}
			if r := knock(t, n, "GET", "/signin/code", nil, "Cookie", "bursar_state="+r.set("bursar_state").Value+"x"); r.StatusCode != http.StatusSeeOther {
				t.Errorf("a changed one shows the form: %d", r.StatusCode)
			}
		})
		t.Run("it is over after ten minutes", func(t *testing.T) {
			n.Clock.Advance(10 * time.Minute)
			r := knock(t, n, "POST", "/signin/code", url.Values{"code": {code(t, n, secret)}}, "Cookie", "bursar_state="+state.Value)
			if r.Header.Get("Location") != "/signin" || r.set("bursar_session") != nil {
				t.Errorf("sent to %q", r.Header.Get("Location"))
			}
		})
		t.Run("with the code it is whole", func(t *testing.T) {
			n.Clock.Advance(5 * time.Minute)
			state := signIn(t, n, adminEmail, password).set("bursar_state")
			r := knock(t, n, "POST", "/signin/code", url.Values{"code": {code(t, n, secret)}}, "Cookie", "bursar_state="+state.Value)
			if c := r.set("bursar_session"); c == nil || !inside(t, n, c.Value) {
				t.Errorf("answered %d", r.StatusCode)
			}
			if c := r.set("bursar_state"); c == nil || c.MaxAge >= 0 {
				t.Error("what was kept stays")
			}
		})
	})
}

// Anyone who changes a password that another person knows must not leave that person the
// second step to take.
func TestAChangedPasswordEndsASignInThatWaitsForItsCode(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		secret := turnOn(t, n, adminEmail)
		begun := signIn(t, n, adminEmail, password).set("bursar_state")
		with := func(c *http.Cookie) *reply {
			n.Clock.Advance(time.Minute)
			return knock(t, n, "POST", "/signin/code", url.Values{"code": {code(t, n, secret)}}, "Cookie", "bursar_state="+c.Value)
		}
		mine := with(signIn(t, n, adminEmail, password).set("bursar_state")).set("bursar_session")
		const next = "eleven green umbrellas"
		r := knock(t, n, "POST", "/account/password", url.Values{"current": {password}, "password": {next}}, "Cookie", "bursar_session="+mine.Value)
		if r.Header.Get("Location") != "/account" {
			t.Fatalf("the password is not changed: %d", r.StatusCode)
		}
		if r := with(begun); r.set("bursar_session") != nil || r.StatusCode != http.StatusUnauthorized || r.set("bursar_state").MaxAge >= 0 {
			t.Errorf("with the old password answered %d %v", r.StatusCode, r.Cookies())
		}
		if r := with(signIn(t, n, adminEmail, next).set("bursar_state")); r.set("bursar_session") == nil {
			t.Errorf("with the new password answered %d", r.StatusCode)
		}
	})
}

var typedSecret = regexp.MustCompile(`[A-Z2-7]{4}( [A-Z2-7]{4}){7}`)

// turnOn turns on someone's two-step sign-in and returns its secret.
func turnOn(t *testing.T, n *servertest.Node, email string) string {
	t.Helper()
	cookie := cookieFor(t, n, email)
	page := knock(t, n, "GET", "/account/totp", nil, cookie...)
	secret := strings.ReplaceAll(typedSecret.FindString(page.body), " ", "")
	r := knock(t, n, "POST", "/account/totp", url.Values{"code": {code(t, n, secret)}}, "Cookie", cookie[1]+"; bursar_state="+page.set("bursar_state").Value)
	if r.StatusCode != http.StatusOK {
		t.Fatalf("the second factor is not on: %d", r.StatusCode)
	}
	n.Clock.Advance(2 * time.Minute)
	return secret
}

// While two-step sign-in is being turned on, the browser keeps the secret for the app. That
// secret must not work for another account.
func TestAuthenticatorAppBelongsToTheAccountThatRequestedIt(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		other := cookieFor(t, n, member(t, n, "viewer"))
		page := knock(t, n, "GET", "/account/totp", nil, other...)
		secret := strings.ReplaceAll(typedSecret.FindString(page.body), " ", "")
		r := knock(t, n, "POST", "/account/totp", url.Values{"code": {code(t, n, secret)}},
			"Cookie", cookieFor(t, n, adminEmail)[1]+"; bursar_state="+page.set("bursar_state").Value)
		if n.Count(t, `SELECT count(*) FROM totp`) != 0 {
			t.Errorf("answered %d, and the app of one account is now another's", r.StatusCode)
		}
	})
}

// People can read what was done with their account, successful or not.
func TestAccountActivityIsVisibleToItsOwner(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		secret := turnOn(t, n, adminEmail)
		signIn(t, n, adminEmail, "the wrong password")
		state := signIn(t, n, adminEmail, password).set("bursar_state")
		session := knock(t, n, "POST", "/signin/code", url.Values{"code": {code(t, n, secret)}}, "Cookie", "bursar_state="+state.Value).set("bursar_session")
		n.Clock.Advance(2 * time.Minute)
		mine := []string{"Cookie", "bursar_session=" + session.Value}
		for path, form := range map[string]url.Values{
			"/account/name":                {"name": {"New Name"}},
			"/account/password":            {"current": {password}, "password": {"eleven green umbrellas"}},
			"/account/recovery-codes":      {},
			"/account/sessions/end-others": {},
		} {
			if r := knock(t, n, "POST", path, form, mine...); r.StatusCode >= 400 {
				t.Fatalf("%s: %d", path, r.StatusCode)
			}
		}
		knock(t, n, "POST", "/account/totp/off", url.Values{"code": {code(t, n, secret)}}, mine...)
		knock(t, n, "POST", "/signout", url.Values{}, mine...)
		got := n.Admin(t).Get("/v1/auth/activity?limit=100").OK().Column("action")
		for _, want := range []string{"auth.account.recovered", "auth.session.created", "auth.totp.enabled", "auth.login.failed", "auth.password.changed",
			"auth.recovery_codes.created", "auth.session.revoked", "auth.totp.disabled", "iam.user.renamed"} {
			if !slices.Contains(got, want) {
				t.Errorf("%s is missing from %v", want, got)
			}
		}
	})
}

// Ending all sessions must also cancel a device that is approved but has not fetched its
// token yet.
func TestEndingSessionsAlsoEndsApprovedDevices(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		for name, end := range map[string]func(t *testing.T, email string){
			"by a new password": func(t *testing.T, email string) {
				r := knock(t, n, "POST", "/account/password", url.Values{"current": {password}, "password": {"eleven green umbrellas"}}, cookieFor(t, n, email)...)
				if r.StatusCode != http.StatusSeeOther {
					t.Fatalf("the password was not changed: %d", r.StatusCode)
				}
			},
			"by an account link": func(t *testing.T, email string) { setUp(t, n, email) },
			"by ending all others": func(t *testing.T, email string) {
				knock(t, n, "POST", "/account/sessions/end-others", url.Values{}, cookieFor(t, n, email)...)
			},
		} {
			t.Run(name, func(t *testing.T) {
				email := member(t, n, "viewer")
				code := n.Stranger(t).Post("/v1/auth/device-code", nil).OK().Text("code")
				r := knock(t, n, "POST", "/device", url.Values{"code": {code}, "decision": {"approve"}}, cookieFor(t, n, email)...)
				if r.StatusCode != 200 {
					t.Fatalf("approving is answered %d", r.StatusCode)
				}
				end(t, email)
				if got := n.Stranger(t).Get("/v1/auth/device-code/" + code).OK(); got.Text("token") != "" {
					t.Errorf("the code is %s, and the token is picked up", got.Text("status"))
				}
			})
		}
	})
}
