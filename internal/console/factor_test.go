package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"bursar/internal/browsertest"
	"bursar/internal/browsertest/oidctest"
	"bursar/internal/server/servertest"
)

// adminWithPasskey opens a browser in which the first admin has signed in with a passkey.
func adminWithPasskey(t *testing.T, n *servertest.Node) *browsertest.Page {
	t.Helper()
	page := browsertest.Open(t)
	page.AddAuthenticator()
	page.Goto(link(t, n, adminEmail))
	page.Fill("Your name", "Ada")
	page.ClickText("Continue with a passkey")
	page.WaitURL("/w/")
	return page
}

func TestAnOwnerDemandsASecondFactor(t *testing.T) {
	t.Parallel()
	n := start(t)
	plain := open(t, n, adminEmail, "/organization")
	plain.WaitText("To demand one you need one yourself.")
	if plain.Has("form[action$='/second-factor']") {
		t.Error("somebody without a second factor is offered to demand one")
	}
	page := adminWithPasskey(t, n)
	page.Goto(n.PublicURL + room(n, "/organization"))
	page.WaitText("it stops whoever has signed in without, at once")
	page.Accessible("organization that may demand a second factor")
	page.Shoot("organization-may-demand")
	page.ClickText("Demand a second factor")
	page.ClickText("Demand")
	page.WaitText("The organization now demands a second factor.")
	page.Accessible("organization that demands a second factor")
	page.Shoot("organization-demands")
	page.Goto(n.PublicURL + "/account")
	page.WaitText("Acme demands a second factor")
	page.ExpectStatus(http.StatusUnprocessableEntity)
	page.Click("button[aria-label='Remove passkey First passkey']")
	page.ClickText("Confirm")
	page.WaitText("Acme demands a second factor, and this is your only one: add another one first.")
	page.ExpectStatus(http.StatusOK)

	n.Clock.Advance(16 * time.Minute)
	page.Goto(n.PublicURL + room(n, "/organization"))
	page.ClickText("Stop demanding a second factor")
	page.ClickText("Stop demanding")
	page.WaitText("Confirm that it's you")
	page.ClickText("Sign in with a passkey")
	page.WaitURL(room(n, "/organization"))
	page.ClickText("Stop demanding a second factor")
	page.ClickText("Stop demanding")
	page.WaitText("The organization no longer demands a second factor.")
}

// demand makes the first organization demand a second factor.
func demand(t *testing.T, n *servertest.Node) {
	t.Helper()
	page := adminWithPasskey(t, n)
	page.Goto(n.PublicURL + room(n, "/organization"))
	page.ClickText("Demand a second factor")
	page.ClickText("Demand")
	page.WaitText("The organization now demands a second factor.")
}

func TestAPasskeyIsSetUpBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.Member(t, "vic@example.com", "viewer")
	page := open(t, n, "vic@example.com", "/directory")
	page.AddAuthenticator()
	demand(t, n)
	page.Goto(n.PublicURL + room(n, "/members?status=active"))
	page.WaitText("Acme demands that you sign in with more than a password.")
	page.Accessible("second-factor")
	page.Shoot("second-factor")
	page.Goto(n.PublicURL + "/account/password")
	page.WaitURL("/account/second-factor")
	page.Goto(n.PublicURL + room(n, "/members?status=active"))
	page.Fill("Passkey name", "Phone")
	page.ClickText("Add passkey")
	page.WaitURL(room(n, "/members?status=active"))
	page.WaitText("Passkey added.")

	other := browsertest.Open(t)
	signInWithPassword(other, n, "vic@example.com")
	other.WaitText("Sign in again with your passkey.")
	other.Accessible("second-factor-missing")
	other.Shoot("second-factor-missing")
	other.ClickText("Sign out")
	other.WaitURL("/signin")
}

func TestAnAuthenticatorAppIsSetUpBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.Member(t, "vic@example.com", "viewer")
	browse(t, n, "vic@example.com")
	demand(t, n)
	page := browsertest.Open(t)
	page.Goto(n.PublicURL + room(n, "/directory"))
	page.Fill("Email address", "vic@example.com")
	page.Fill("Password", password)
	page.ClickText("Sign in")
	page.ClickText("Use an authenticator app")
	page.Accessible("totp on demand")
	page.Shoot("totp-on-demand")
	secret := strings.ReplaceAll(page.Text("main p.mono"), " ", "")
	page.ExpectStatus(http.StatusBadRequest)
	page.Fill("6-digit code from the app", "000000")
	page.ClickText("Turn on")
	page.WaitText("Does not match")
	page.ExpectStatus(http.StatusOK)
	page.Fill("6-digit code from the app", code(t, n, secret))
	page.ClickText("Turn on")
	page.WaitText("Save your recovery codes")
	page.ClickText("I've saved these codes")
	page.WaitURL(room(n, "/directory"))

	n.Clock.Advance(time.Minute)
	later := browsertest.Open(t)
	signInWithPassword(later, n, "vic@example.com")
	later.Fill("Code", code(t, n, secret))
	later.ClickText("Continue")
	later.WaitURL("/w/")
	n.Clock.Advance(time.Minute)
	later.Goto(n.PublicURL + "/account/totp/off")
	later.ExpectStatus(http.StatusUnprocessableEntity)
	later.Fill("Code from your app, or a recovery code", code(t, n, secret))
	later.ClickText("Turn off")
	later.WaitText("Acme demands a second factor, and this is your only one: add another one first.")
}

func TestSingleSignOnIsASecondFactor(t *testing.T) {
	t.Parallel()
	provider := oidctest.Start(t, oidctest.User{Subject: "1", Email: "vic@example.com", Verified: true, Name: "Vic", Password: "v"})
	n := start(t, withProvider(provider))
	provider.Redirect(n.PublicURL + "/signin/sso/callback")
	n.Member(t, "vic@example.com", "viewer")
	page := open(t, n, "vic@example.com", "")
	demand(t, n)
	page.Goto(n.PublicURL + room(n, "/directory"))
	page.ClickText("Continue with Example Inc")
	page.Fill("Email", "vic@example.com")
	page.Fill("Password", "v")
	page.ClickText("Sign in")
	page.WaitURL(room(n, "/directory"))
	page.WaitText("Directory")

	other := browsertest.Open(t)
	signInWithPassword(other, n, "vic@example.com")
	other.WaitText("Sign in again with Example Inc.")
}
