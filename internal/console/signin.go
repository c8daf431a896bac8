package console

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/signin"
)

func (c *Console) signInRoutes() []Route {
	open := func(method, path string, page func(v *visit) error) Route { return Route{method, path, c.open(page)} }
	return []Route{
		open("GET", "/signin", c.signInPage),
		open("POST", "/signin", c.signInByPassword),
		open("GET", "/signin/code", c.codePage),
		open("POST", "/signin/code", c.signInByCode),
		open("POST", "/signin/passkey", c.askPasskey),
		open("POST", "/signin/passkey/finish", c.signInByPasskey),
		open("GET", "/signin/sso", c.startSSO),
		open("GET", signin.CallbackPath, c.finishSSO),
		open("GET", "/signin/recover", c.recoverPage),
		open("POST", "/signin/recover", c.recover),
		open("POST", "/signout", c.signOut),
		open("GET", "/invite/{link}", c.invitePage),
		open("POST", "/invite/{link}", c.redeem),
		open("POST", "/invite/{link}/passkey", c.offerLinkPasskey),
		open("POST", "/invite/{link}/passkey/finish", c.redeemByPasskey),
		c.post("/invite/{link}/accept", audit.MemberAccepted, c.accept),
	}
}

// signInPage offers the ways to sign in.
type signInPage struct {
	Next     string
	Again    bool // the visitor is signed in and must confirm their identity
	Passkeys bool
	Provider string
	Recovery bool
}

// showSignIn shows the sign-in page, which leads to next.
func (v *visit) showSignIn(next string) error {
	in := v.console.SignIn
	return v.show("signin", "Sign in", signInPage{Next: inner(next), Again: v.browser.Actor.ID != "",
		Passkeys: in.TakesPasskeys(), Provider: in.ProviderName(), Recovery: in.Recovers()})
}

// signInFirst redirects to the sign-in page, which redirects to next, or back to the requested page.
func (v *visit) signInFirst(next string) error {
	if next == "" && v.R.Method == http.MethodGet {
		next = v.R.URL.RequestURI()
	}
	if v.R.Header.Get("X-Fragment") != "" {
		v.W.WriteHeader(http.StatusUnauthorized)
		return nil
	}
	path := "/signin"
	if next = inner(next); next != "/" {
		path += "?next=" + url.QueryEscape(next)
	}
	return v.redirect(path)
}

// fresh reports whether the visitor signed in recently enough to change how they sign in and to create credentials.
func (v *visit) fresh() bool {
	return access.RequireRecentLogin(v.Caller.Actor, v.console.endpoints.DB.Now()) == nil
}

// recentForm protects a form that creates a credential. A visitor whose sign-in is too old signs in again and returns to the form, at the
// path that form returns, with all typed values.
func (c *Console) recentForm(form func(v *visit) string, page func(v *visit) error) func(v *visit) error {
	return func(v *visit) error {
		switch {
		case v.fresh():
			return page(v)
		case v.R.Method == http.MethodGet:
			return v.signInFirst("")
		}
		typed := maps.Clone(v.form)
		delete(typed, "once") // the form gets a new idempotency key
		return v.signInFirst(form(v) + "?" + typed.Encode())
	}
}

func (c *Console) signInPage(v *visit) error {
	next := v.R.URL.Query().Get("next")
	if v.browser.Actor.ID != "" && next == "" {
		return v.redirect("/")
	}
	v.preset("email", v.Caller.Email)
	return v.showSignIn(next)
}

// signInWrong shows the sign-in page again with its problems.
func (v *visit) signInWrong(err error, next string) error {
	return v.again(err, func(v *visit) error { return v.showSignIn(next) })
}

func (c *Console) signInByPassword(v *visit) error {
	proven, err := c.SignIn.Password(v.R.Context(), v.Caller, v.field("email"), v.form.Get("password"))
	path := ""
	if err == nil {
		path, err = v.admit(proven, v.form.Get("next"))
	}
	if err != nil {
		return v.signInWrong(err, v.form.Get("next"))
	}
	return v.redirect(path)
}

// halfway is a sign-in that has the password and still needs the code.
type halfway struct {
	Proven signin.Proven
	Next   string
}

const purposeCode = "code"

// admit starts a session for a person who has proven their identity, or asks for the second factor first. It returns the next path.
func (v *visit) admit(proven signin.Proven, next string) (path string, err error) {
	if proven.NeedsCode {
		return "/signin/code", keep(v, purposeCode, halfway{proven, inner(next)})
	}
	session, err := v.console.Identity.BeginWeb(v.R.Context(), v.Caller, identity.WebSignIn{
		UserID: proven.UserID, Method: proven.Method, SecondFactor: proven.SecondFactor, Version: proven.Version,
		Before: v.cookie(sessionCookie), Browser: v.cookie(browserCookie),
	})
	if err != nil {
		return "", err
	}
	v.setCookie(sessionCookie, session.Secret, time.Duration(session.ExpiresAt-v.console.endpoints.DB.Now())*time.Millisecond)
	v.setCookie(browserCookie, session.Browser, browserLife)
	v.dropCookie(stateCookie)
	return inner(next), nil
}

func (c *Console) codePage(v *visit) error {
	if _, ok := kept[halfway](v, purposeCode); !ok {
		return v.redirect("/signin")
	}
	return v.show("signin_code", "Enter your code", nil)
}

func (c *Console) signInByCode(v *visit) error {
	half, ok := kept[halfway](v, purposeCode)
	if !ok {
		return v.redirect("/signin")
	}
	proven, err := c.SignIn.SecondStep(v.R.Context(), v.Caller, half.Proven, v.form.Get("code"))
	path := ""
	if err == nil {
		path, err = v.admit(proven, half.Next)
	}
	if errors.Is(err, identity.ErrCredentialsChanged) {
		v.dropCookie(stateCookie)
		return v.signInWrong(err, half.Next)
	}
	if err != nil {
		return v.again(err, c.codePage)
	}
	return v.redirect(path)
}

// underway is a passkey ceremony in progress.
type underway struct {
	State []byte
	Next  string
	Who   string // the id of the account, or the link, that the passkey is for
}

const (
	purposePasskeySignIn = "passkey sign-in"
	purposePasskeyLink   = "passkey by link"
	purposePasskeyAdd    = "passkey to add"
)

func (c *Console) askPasskey(v *visit) error {
	ceremony, err := c.SignIn.AskPasskey(v.Caller)
	if err != nil {
		return v.answerError(err)
	}
	return v.begin(purposePasskeySignIn, ceremony, underway{Next: inner(v.R.URL.Query().Get("next"))})
}

// begin starts a passkey ceremony and sends the options to the browser.
func (v *visit) begin(purpose string, ceremony signin.Ceremony, u underway) error {
	u.State = ceremony.State
	if err := keep(v, purpose, u); err != nil {
		return err
	}
	return v.answer(http.StatusOK, json.RawMessage(ceremony.Options))
}

var errCeremonyOver = fault.New(api.CodeValidation, "that took too long. Try again")

// ended reads the browser's response to a passkey ceremony.
func (v *visit) ended(purpose string) (underway, []byte, error) {
	u, ok := kept[underway](v, purpose)
	if !ok {
		return u, nil, errCeremonyOver
	}
	answer, err := io.ReadAll(http.MaxBytesReader(v.W, v.R.Body, 64<<10))
	if err != nil {
		return u, nil, fault.New(api.CodeValidation, "the browser's answer could not be read")
	}
	v.dropCookie(stateCookie)
	return u, answer, nil
}

func (c *Console) signInByPasskey(v *visit) error {
	u, answer, err := v.ended(purposePasskeySignIn)
	if err != nil {
		return v.answerError(err)
	}
	proven, err := c.SignIn.Passkey(v.R.Context(), v.Caller, u.State, answer)
	if err != nil {
		return v.answerError(err)
	}
	return v.admitAndAnswer(proven, u.Next)
}

func (v *visit) admitAndAnswer(proven signin.Proven, next string) error {
	path, err := v.admit(proven, next)
	if err != nil {
		return v.answerError(err)
	}
	return v.answer(http.StatusOK, map[string]string{"location": path})
}

// answer writes JSON for the page's script.
func (v *visit) answer(status int, value any) error {
	v.W.Header().Set("Content-Type", "application/json")
	v.W.WriteHeader(status)
	return json.NewEncoder(v.W).Encode(value)
}

// answerError sends the page's script a message to show.
func (v *visit) answerError(err error) error {
	f := v.Explain(v.refused(err))
	text := sentence(f.Message)
	if f.RetryAfter > 0 {
		text = "Too many attempts. Try again in " + roughly(f.RetryAfter) + "."
	}
	return v.answer(f.Code.Info().Status, map[string]string{"error": text})
}

const purposeSSO = "single sign-on"

type ssoUnderway struct {
	State signin.SSOState
	Next  string
}

func (c *Console) startSSO(v *visit) error {
	location, state, err := c.SignIn.StartSSO(v.R.Context(), v.browser.Actor.ID != "")
	if err != nil {
		return v.ssoFailed(err, v.R.URL.Query().Get("next"))
	}
	if err := keep(v, purposeSSO, ssoUnderway{state, inner(v.R.URL.Query().Get("next"))}); err != nil {
		return err
	}
	return v.redirect(location)
}

func (c *Console) finishSSO(v *visit) error {
	u, _ := kept[ssoUnderway](v, purposeSSO)
	v.dropCookie(stateCookie)
	proven, err := c.SignIn.FinishSSO(v.R.Context(), v.Caller, u.State, v.R.URL.Query())
	if err != nil {
		return v.ssoFailed(err, u.Next)
	}
	path, err := v.admit(proven, u.Next)
	if err != nil {
		return err
	}
	return v.redirect(path)
}

func (v *visit) ssoFailed(err error, next string) error {
	if signin.Unreachable(err) {
		v.Log.Error("the identity provider failed", "request_id", v.RequestID, "error", err.Error())
		err = fault.New(api.CodeInvalidCredentials, "the identity provider isn't responding. Try again later, or sign in another way")
	}
	return v.signInWrong(err, next)
}

// recoverPage asks for an email address to send a link to.
type recoverPage struct{ Sent bool }

func (c *Console) recoverPage(v *visit) error {
	if !c.SignIn.Recovers() {
		return errNoPage
	}
	return v.show("recover", "Recover your account", recoverPage{})
}

func (c *Console) recover(v *visit) error {
	if !c.SignIn.Recovers() {
		return errNoPage
	}
	err := fault.Invalid("email", api.EmailRule)
	if api.IsEmail(v.field("email")) {
		err = c.SignIn.Recover(v.R.Context(), v.Caller, v.field("email"))
	}
	if err != nil {
		return v.again(err, c.recoverPage)
	}
	return v.show("recover", "Check your email", recoverPage{Sent: true})
}

func (c *Console) signOut(v *visit) error {
	v.dropCookie(sessionCookie)
	v.dropCookie(flashCookie)
	if v.browser.Actor.ID != "" {
		if _, err := c.Identity.Logout(v.R.Context(), v.Caller, struct{}{}); err != nil {
			return err
		}
	}
	return v.redirect("/signin")
}
