package console_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"bursar/internal/browsertest"
	"bursar/internal/browsertest/oidctest"
	"bursar/internal/config"
	"bursar/internal/mail/smtptest"
	"bursar/internal/server/servertest"
)

// signInWithPassword fills the sign-in form.
func signInWithPassword(page *browsertest.Page, n *servertest.Node, email string) {
	page.Goto(n.PublicURL + "/signin")
	page.Fill("Email address", email)
	page.Fill("Password", password)
	page.ClickText("Sign in")
}

func TestPasskeyCreatedThroughALinkSignsIn(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := browsertest.Open(t)
	key := page.AddAuthenticator()
	page.Goto(n.First.Link)
	page.Fill("Your name", "Ada")
	page.ClickText("Continue with a passkey")
	page.WaitURL("/w/")
	if made := key.Credentials(); len(made) != 1 || !made[0].Resident {
		t.Fatalf("the browser holds %v", made)
	}

	page.Goto(n.PublicURL + "/account")
	signOut(page)
	page.WaitURL("/signin")
	page.ClickText("Sign in with a passkey")
	page.WaitURL("/w/")
	page.Goto(n.PublicURL + "/account")
	page.WaitText("First passkey")
	page.WaitText("Passkey")
}

func signOut(page *browsertest.Page) {
	page.Click("details.profile summary")
	page.ClickText("Sign out")
}

func TestPasskeyOfAnotherPersonIsRefused(t *testing.T) {
	t.Parallel()
	there, here := start(t), start(t)
	page := browsertest.Open(t)
	page.AddAuthenticator()
	page.Goto(there.First.Link)
	page.Fill("Your name", "Ada")
	page.ClickText("Continue with a passkey")
	page.WaitURL("/w/")

	// Both servers are at localhost, so the browser offers the same passkey.
	page.Allow("401")
	page.Goto(here.PublicURL + "/signin")
	page.ClickText("Sign in with a passkey")
	page.WaitText("This passkey is not registered here.")
}

func TestPasswordAndCodeSignIn(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := browsertest.Open(t)
	signInBrowser(t, n, page, adminEmail)
	page.Goto(n.PublicURL + "/account/totp")
	page.Accessible("totp")
	page.Shoot("totp")
	secret := strings.ReplaceAll(page.Text("main p.mono"), " ", "")
	page.Fill("6-digit code from the app", code(t, n, secret))
	page.ClickText("Turn on")
	page.WaitText("Save your recovery codes")
	page.Accessible("recovery-codes")
	page.Shoot("recovery-codes")
	recovery := page.Texts(".recovery li")
	if len(recovery) != 10 {
		t.Fatalf("there are %d recovery codes", len(recovery))
	}
	if name, file := page.DownloadBy(func() { page.ClickText("Download") }); name != "bursar-recovery-codes.txt" || !strings.Contains(string(file), strings.Join(recovery, "\n")+"\n") {
		t.Errorf("the file %s holds %q", name, file)
	}
	page.Eval(`window.print = () => { document.body.dataset.printed = "yes"; }`, nil)
	page.ClickText("Print")
	if !page.Has("body[data-printed]") {
		t.Error("the page was not printed")
	}

	fresh := browsertest.Open(t)
	signInWithPassword(fresh, n, adminEmail)
	fresh.WaitText("Enter your code")
	fresh.Accessible("code")
	fresh.Shoot("code")
	fresh.ExpectStatus(http.StatusUnauthorized)
	fresh.Fill("Code", "000000")
	fresh.ClickText("Continue")
	fresh.WaitText("The code is incorrect.")
	n.Clock.Advance(time.Minute)
	fresh.ExpectStatus(http.StatusOK)
	fresh.Fill("Code", code(t, n, secret))
	fresh.ClickText("Continue")
	fresh.WaitURL("/w/")

	lost := browsertest.Open(t)
	signInWithPassword(lost, n, adminEmail)
	lost.Fill("Code", strings.ToLower(recovery[3]))
	lost.ClickText("Continue")
	lost.WaitURL("/w/")
	lost.Goto(n.PublicURL + "/account")
	lost.WaitText("9 left")
}

func code(t testing.TB, n *servertest.Node, secret string) string {
	t.Helper()
	text, err := totp.GenerateCode(secret, n.Clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestWrongPasswordRevealsNothingAboutTheUser(t *testing.T) {
	t.Parallel()
	n := start(t)
	browse(t, n, adminEmail)
	page := browsertest.Open(t)
	page.ExpectStatus(http.StatusUnauthorized)
	texts := map[string]bool{}
	for _, email := range []string{adminEmail, "nobody@example.com"} {
		page.Goto(n.PublicURL + "/signin")
		page.Fill("Email address", email)
		page.Fill("Password", "not the password at all")
		page.ClickText("Sign in")
		page.WaitText("is incorrect")
		texts[page.Text(".notice.bad")] = true
	}
	if len(texts) != 1 {
		t.Errorf("the answers differ: %v", texts)
	}
	page.Accessible("signin-wrong")
	page.Shoot("signin-wrong")
}

func TestSingleSignOnLetsAnInvitedPersonAccept(t *testing.T) {
	t.Parallel()
	provider := oidctest.Start(t, oidctest.User{Subject: "1", Email: "Grace@Example.com", Verified: true, Name: "Grace Hopper", Password: "cobol"})
	n := start(t, withProvider(provider))
	provider.Redirect(n.PublicURL + "/signin/sso/callback")
	invited := n.Admin(t).Post("/v1/workspaces/"+n.First.WorkspaceID+"/members", servertest.Body{"email": "grace@example.com", "role": "viewer"}).OK()
	page := browsertest.Open(t)
	page.Goto(n.PublicURL + "/")
	page.WaitURL("/signin")
	page.Accessible("signin-sso")
	page.Shoot("signin-sso")
	page.Goto(invited.Text("invitation_url"))
	page.ClickText("Continue with Example Inc")
	page.Fill("Email", "Grace@Example.com")
	page.Fill("Password", "cobol")
	page.ClickText("Sign in")
	page.ClickText("Join Treasury")
	page.WaitURL(room(n, ""))
	page.Goto(n.PublicURL + room(n, "/members"))
	page.WaitText("Grace Hopper")
}

func TestSingleSignOnRefusesUnknownOrUnverifiedPeople(t *testing.T) {
	t.Parallel()
	provider := oidctest.Start(t, oidctest.User{Subject: "1", Email: adminEmail, Verified: false, Name: "Mallory", Password: "m"})
	provider.Add(oidctest.User{Subject: "2", Email: "stranger@example.com", Verified: true, Name: "Stranger", Password: "s"})
	n := start(t, withProvider(provider))
	provider.Redirect(n.PublicURL + "/signin/sso/callback")
	for _, person := range []struct{ email, password, told string }{
		{adminEmail, "m", "has not verified your email address"},
		{"stranger@example.com", "s", "ask for an invitation"},
	} {
		page := browsertest.Open(t)
		page.ExpectStatus(http.StatusUnauthorized)
		page.Goto(n.PublicURL + "/signin")
		page.ClickText("Continue with Example Inc")
		page.Fill("Email", person.email)
		page.Fill("Password", person.password)
		page.ClickText("Sign in")
		page.WaitText(person.told)
	}
}

func withProvider(p *oidctest.Provider) servertest.Option {
	return func(c *config.Serve) {
		c.OIDC = config.OIDC{Issuer: p.Issuer, ClientID: p.ClientID, ClientSecret: p.ClientSecret, Name: "Example Inc"}
	}
}

func TestInvitationArrivesByMailAndIsAccepted(t *testing.T) {
	t.Parallel()
	post := smtptest.Start(t, smtptest.Options{})
	n := start(t, func(c *config.Serve) { c.SMTPURL, c.MailFrom = post.URL, "Bursar <bursar@example.com>" })
	n.RunBackground(t)
	n.Admin(t).Post("/v1/workspaces/"+n.First.WorkspaceID+"/members", servertest.Body{"email": "grace@example.com", "role": "viewer"}).OK()
	letter := post.Wait(t, 1)[0]
	if !strings.Contains(letter.Text, "Treasury") || letter.To[0] != "grace@example.com" {
		t.Errorf("the letter to %v says:\n%s", letter.To, letter.Text)
	}
	_, rest, found := strings.Cut(letter.Text, n.PublicURL+"/invite/")
	if !found {
		t.Fatalf("there is no link in the letter:\n%s", letter.Text)
	}
	page := browsertest.Open(t)
	page.Goto(n.PublicURL + "/invite/" + strings.Fields(rest)[0])
	page.WaitText("Join Treasury")
	page.WaitText("Your role: Viewer")
	page.WaitText("Sees the members and the directory, and changes nothing.")
	page.WaitText("This link works once and expires on")
	page.Accessible("invitation")
	page.Shoot("invitation")
	page.Fill("Your name", "Grace Hopper")
	page.Fill("Password", password)
	page.ClickText("Continue with a password")
	page.WaitURL(room(n, ""))
	page.WaitText("Grace Hopper")
}

// askForCode starts a device login, as the command line does.
func askForCode(t testing.TB, n *servertest.Node, verifier string) (code, verificationURL string) {
	t.Helper()
	sum := sha256.Sum256([]byte(verifier))
	asked := n.Stranger(t).Do(http.MethodPost, "/v1/auth/device-code",
		servertest.Body{"intent": "sign in to bursar", "code_challenge": base64.RawURLEncoding.EncodeToString(sum[:])}, "User-Agent", "bursar/1.0 (laptop)").OK()
	return asked.Text("code"), asked.Text("verification_url")
}

func TestDeviceIsApprovedInTheBrowser(t *testing.T) {
	t.Parallel()
	n := start(t)
	browse(t, n, adminEmail)
	verifier := "a verifier that only the command line knows"
	code, address := askForCode(t, n, verifier)
	page := browsertest.Open(t)
	page.Goto(address)
	page.WaitURL("/signin?next=")
	page.Fill("Email address", adminEmail)
	page.Fill("Password", password)
	page.ClickText("Sign in")
	page.WaitURL("/device?code=" + code)
	for _, told := range []string{code, "sign in to bursar", "bursar/1.0 (laptop)", "127.0.0.1", "Never approve a code that you didn't request yourself."} {
		page.WaitText(told)
	}
	page.Accessible("device")
	page.Shoot("device")
	page.ClickText("Approve")
	page.WaitText("Device approved")
	page.Accessible("device-approved")
	page.Shoot("device-approved")

	polled := n.Stranger(t).Do(http.MethodGet, "/v1/auth/device-code/"+code, nil, "X-Code-Verifier", verifier).OK()
	if polled.Text("status") != "approved" {
		t.Fatalf("the poll says %s", polled.Text("status"))
	}
	if me := n.Holder(t, polled.Text("token")).Get("/v1/auth/me").OK(); me.Text("email") != adminEmail {
		t.Errorf("the device acts as %s", me.Text("email"))
	}
	page.Goto(address)
	page.WaitText("This code has been used")
	page.Accessible("device-used")
	page.Shoot("device-used")
	page.Goto(n.PublicURL + "/account")
	page.WaitText("Device code")
}

func TestDeviceIsDenied(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := browsertest.Open(t)
	signInAndOpen(t, n, page, adminEmail)
	code, _ := askForCode(t, n, "v")
	page.Goto(n.PublicURL + "/device")
	page.Accessible("device-code")
	page.Shoot("device-code")
	page.Fill("Code", strings.ToLower(code[:3]+" - "+code[3:]))
	page.ClickText("Continue")
	page.WaitText(code)
	page.ClickText("Deny")
	page.WaitText("Device denied")
	page.Accessible("device-turned-away")
	page.Shoot("device-turned-away")
	if status := n.Stranger(t).Get("/v1/auth/device-code/" + code).OK().Text("status"); status != "denied" {
		t.Errorf("the poll says %s", status)
	}
	page.Goto(n.PublicURL + "/device?code=" + code)
	page.WaitText("This code was denied")
	page.Accessible("device-denied")
	page.Shoot("device-denied")
}

func TestLinkToRecoverIsMailed(t *testing.T) {
	t.Parallel()
	post := smtptest.Start(t, smtptest.Options{})
	n := start(t, func(c *config.Serve) { c.SMTPURL, c.MailFrom = post.URL, "bursar@example.com" })
	n.RunBackground(t)
	page := browsertest.Open(t)
	page.Goto(n.PublicURL + "/signin")
	page.ClickText("Forgot your password?")
	page.Accessible("recover")
	page.Shoot("recover")
	page.Fill("Email address", adminEmail)
	page.ClickText("Send link")
	page.WaitText("Check your email")
	page.Accessible("recover-sent")
	page.Shoot("recover-sent")
	if letter := post.Wait(t, 1)[0]; letter.To[0] != adminEmail || !strings.Contains(letter.Text, n.PublicURL+"/invite/") {
		t.Errorf("the letter to %v says:\n%s", letter.To, letter.Text)
	}
}
