package console_test

import (
	"testing"

	"bursar/internal/browsertest"
	"bursar/internal/browsertest/oidctest"
	"bursar/internal/server/servertest"
)

// adminWithPasskey opens a browser in which the first admin has signed in with a passkey.
func adminWithPasskey(t testing.TB, n *servertest.Node) *browsertest.Page {
	t.Helper()
	page := browsertest.Open(t)
	page.AddAuthenticator()
	page.Goto(link(t, n, adminEmail))
	page.Fill("Your name", "Ada")
	page.ClickText("Continue with a passkey")
	page.WaitURL("/w/")
	return page
}

// demand makes the first organization demand a second factor.
func demand(t testing.TB, n *servertest.Node) {
	t.Helper()
	page := adminWithPasskey(t, n)
	page.Goto(n.PublicURL + room(n, "/organization"))
	page.ClickText("Demand a second factor")
	page.ClickText("Demand")
	page.WaitText("The organization now demands a second factor.")
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
