package console

import (
	"fmt"
	"html/template"
	"image"
	"net/url"
	"strings"

	"github.com/pquerna/otp"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/signin"
)

func (c *Console) profileRoutes() []Route {
	get := func(path string, page func(v *visit) error) Route { return c.get(path, c.inLastWorkspace(page)) }
	post := func(path string, action audit.Action, do func(v *visit) error) Route {
		return c.post(path, action, c.inLastWorkspace(do))
	}
	// factor returns a route that is open to people who have yet to set up a second factor.
	factor := func(method, path string, page func(v *visit) error) Route {
		return Route{method, path, c.signedIn(page)}
	}
	return []Route{
		get("/account", c.profilePage),
		post("/account/name", audit.UserRenamed, c.rename),
		post("/account/sessions/{id}/end", audit.SessionRevoked, c.endSession),
		post("/account/sessions/end-others", audit.SessionRevoked, c.endOtherSessions),
		get("/account/password", c.withOwnFactor(c.recentlySignedIn(c.passwordPage))),
		post("/account/password", audit.PasswordChanged, c.withOwnFactor(c.recentlySignedIn(c.changePassword))),
		factor("GET", factorPath, c.recentlySignedIn(c.factorPage)),
		post(factorPath+"/leave/{ws}", audit.MemberRemoved, c.leaveHeld),
		factor("POST", "/account/passkeys", c.offerPasskey),
		factor("POST", "/account/passkeys/finish", c.addPasskey),
		post("/account/passkeys/{id}/remove", audit.PasskeyRemoved, c.withOwnFactor(c.recentlySignedIn(c.removePasskey))),
		factor("GET", "/account/totp", c.inLastWorkspace(c.recentlySignedIn(c.totpPage))),
		factor("POST", "/account/totp", c.inLastWorkspace(c.recentlySignedIn(c.enableTOTP))),
		get("/account/totp/off", c.withOwnFactor(c.recentlySignedIn(c.totpOffPage))),
		post("/account/totp/off", audit.TOTPDisabled, c.withOwnFactor(c.recentlySignedIn(c.disableTOTP))),
		post("/account/recovery-codes", audit.RecoveryCodesMade, c.withOwnFactor(c.recentlySignedIn(c.newRecoveryCodes))),
	}
}

// recentlySignedIn protects a page that changes how a person signs in. It asks for a new sign-in first, so that an unattended browser
// cannot be used for that.
func (c *Console) recentlySignedIn(page func(v *visit) error) func(v *visit) error {
	return func(v *visit) error {
		if !v.fresh() {
			if v.R.Method == "GET" {
				return v.signInFirst("")
			}
			return v.signInFirst("/account")
		}
		return page(v)
	}
}

// profilePage has the visitor's own settings.
type profilePage struct {
	Factors  signin.Factors
	Sessions []identity.SessionInfo
	Pages    pageLinks // links to other pages of sessions
	Passkeys bool      // the server supports them
	Fresh    bool      // the visitor signed in recently enough to add a passkey
}

func (c *Console) profilePage(v *visit) error {
	factors, err := c.SignIn.Factors(v.R.Context(), v.Caller)
	if err != nil {
		return err
	}
	sessions, err := read(v, c.Identity.Sessions, identity.SessionsInput{PageParams: v.pageParams()})
	if wrong(err, "cursor") {
		return v.redirect("/account")
	}
	if err != nil {
		return err
	}
	next, _ := sessions.Next()
	v.preset("name", v.Caller.Name)
	return v.show("profile", "Your account", profilePage{factors, sessions.Rows(), v.pageLinks("/account", nil, next), c.SignIn.TakesPasskeys(), v.fresh()})
}

func (c *Console) rename(v *visit) error {
	if err := c.SignIn.Rename(v.R.Context(), v.Caller, v.field("name")); err != nil {
		return v.again(err, c.profilePage)
	}
	return v.done("Name updated.", "/account")
}

func (c *Console) endSession(v *visit) error {
	if _, err := c.Identity.EndSession(v.R.Context(), v.Caller, v.R.PathValue("id")); err != nil {
		return err
	}
	if v.R.PathValue("id") == v.Caller.SessionID {
		v.dropCookie(sessionCookie)
		return v.redirect("/signin")
	}
	return v.done("Session ended.", "/account")
}

func (c *Console) endOtherSessions(v *visit) error {
	if err := c.Identity.EndOtherSessions(v.R.Context(), v.Caller); err != nil {
		return err
	}
	return v.done("All other sessions ended.", "/account")
}

func (c *Console) passwordPage(v *visit) error {
	factors, err := c.SignIn.Factors(v.R.Context(), v.Caller)
	if err != nil {
		return err
	}
	if v.form == nil {
		v.preset("revoke_keys", "yes")
	}
	return v.show("profile_password", "Password", factors)
}

func (c *Console) changePassword(v *visit) error {
	if err := c.SignIn.ChangePassword(v.R.Context(), v.Caller, v.form.Get("current"), v.form.Get("password"), v.form.Get("revoke_keys") == ""); err != nil {
		return v.again(err, c.passwordPage)
	}
	if v.form.Get("revoke_keys") != "" {
		return v.done("Password changed. All other sessions ended, and your API keys were revoked.", "/account")
	}
	return v.done("Password changed. All other sessions ended.", "/account")
}

var errSignInAgain = fault.New(api.CodeUnauthorized, "sign in again to add a passkey")

func (c *Console) offerPasskey(v *visit) error {
	if !v.fresh() {
		return v.answerError(errSignInAgain)
	}
	ceremony, err := c.SignIn.OfferPasskey(v.R.Context(), v.Caller)
	if err != nil {
		return v.answerError(err)
	}
	return v.begin(purposePasskeyAdd, ceremony, underway{Who: v.Caller.ID})
}

func (c *Console) addPasskey(v *visit) error {
	u, answer, err := v.ended(purposePasskeyAdd)
	if err == nil && (u.Who != v.Caller.ID || !v.fresh()) {
		err = errSignInAgain
	}
	if err == nil {
		err = c.SignIn.AddPasskey(v.R.Context(), v.Caller, strings.TrimSpace(v.R.URL.Query().Get("name")), u.State, answer)
	}
	if err != nil {
		return v.answerError(err)
	}
	if err := v.setFlash(flash{Kind: "good", Text: "Passkey added."}); err != nil {
		return err
	}
	return v.answer(200, map[string]string{"location": v.afterFactor()})
}

func (c *Console) removePasskey(v *visit) error {
	if err := c.SignIn.RemovePasskey(v.R.Context(), v.Caller, v.R.PathValue("id")); err != nil {
		return v.again(err, c.profilePage)
	}
	return v.done("Passkey removed.", "/account")
}

const purposeTOTP = "authenticator app of "

// totpPage shows a secret for an authenticator app, as a QR code and as text.
type totpPage struct {
	Picture template.HTML
	Secret  string
	Address template.URL // opens an app on the same device
	Next    string       // the next page
}

func (c *Console) totpPage(v *visit) error {
	key, err := c.SignIn.NewTOTP(v.Caller)
	if err != nil {
		return err
	}
	if err := keep(v, purposeTOTP+v.Caller.ID, key.URL()); err != nil {
		return err
	}
	return v.showTOTP(key.URL())
}

func (v *visit) showTOTP(address string) error {
	picture, secret, err := totpPicture(address)
	if err != nil {
		return err
	}
	return v.show("profile_totp", "Two-step sign-in", totpPage{picture, spaced(secret), template.URL(address), v.afterFactor()})
}

func (c *Console) enableTOTP(v *visit) error {
	address, ok := kept[string](v, purposeTOTP+v.Caller.ID)
	if !ok {
		return v.redirect("/account/totp")
	}
	_, secret, err := totpPicture(address)
	if err != nil {
		return err
	}
	codes, err := c.SignIn.EnableTOTP(v.R.Context(), v.Caller, secret, v.form.Get("code"))
	if err != nil {
		return v.again(err, func(v *visit) error { return v.showTOTP(address) })
	}
	v.dropCookie(stateCookie)
	return v.showRecoveryCodes(codes)
}

// recoveryPage shows recovery codes once.
type recoveryPage struct {
	Codes []string
	File  template.URL // a text file with the codes
	Next  string       // the next page
}

func (v *visit) showRecoveryCodes(codes []string) error {
	text := "Bursar recovery codes for " + v.Caller.Email + "\nEach code works once.\n\n" + strings.Join(codes, "\n") + "\n"
	return v.show("profile_recovery", "Recovery codes", recoveryPage{
		codes, template.URL("data:text/plain;charset=utf-8," + url.PathEscape(text)), v.afterFactor(),
	})
}

func (c *Console) newRecoveryCodes(v *visit) error {
	codes, err := c.SignIn.NewRecoveryCodes(v.R.Context(), v.Caller)
	if err != nil {
		return err
	}
	return v.showRecoveryCodes(codes)
}

func (c *Console) totpOffPage(v *visit) error {
	return v.show("profile_totp_off", "Turn off two-step sign-in", nil)
}

func (c *Console) disableTOTP(v *visit) error {
	if err := c.SignIn.DisableTOTP(v.R.Context(), v.Caller, v.form.Get("code")); err != nil {
		return v.again(err, c.totpOffPage)
	}
	return v.done("Two-step sign-in is off.", "/account")
}

// totpPicture returns the QR code for an authenticator app as one SVG path, and the secret in its address.
func totpPicture(address string) (picture template.HTML, secret string, err error) {
	key, err := otp.NewKeyFromURL(address)
	if err != nil {
		return "", "", fmt.Errorf("parse the secret for an authenticator app: %w", err)
	}
	img, err := key.Image(qrSize, qrSize)
	if err != nil {
		return "", "", fmt.Errorf("draw the QR code for an authenticator app: %w", err)
	}
	return template.HTML(`<svg class="qr" viewBox="0 0 200 200" role="img" aria-label="QR code for an authenticator app" shape-rendering="crispEdges">` +
		`<rect width="200" height="200" fill="#fff"/><path fill="#000" d="` + darkRuns(img) + `"/></svg>`), key.Secret(), nil
}

const qrSize = 200

// darkRuns converts the dark pixels of an image to an SVG path, with one rectangle for each horizontal run.
func darkRuns(img image.Image) string {
	var path strings.Builder
	bounds := img.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		begin := -1
		for x := bounds.Min.X; x <= bounds.Max.X; x++ {
			dark := false
			if x < bounds.Max.X {
				r, _, _, _ := img.At(x, y).RGBA()
				dark = r < 0x8000
			}
			switch {
			case dark && begin < 0:
				begin = x
			case !dark && begin >= 0:
				fmt.Fprintf(&path, "M%d %dh%dv1H%dz", begin, y, x-begin, begin)
				begin = -1
			}
		}
	}
	return path.String()
}

// spaced splits a secret into groups of four, which are easier to type.
func spaced(secret string) string {
	var groups []string
	for len(secret) > 4 {
		groups, secret = append(groups, secret[:4]), secret[4:]
	}
	return strings.Join(append(groups, secret), " ")
}
