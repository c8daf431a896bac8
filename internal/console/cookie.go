package console

import (
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"bursar/internal/web"
)

const (
	sessionCookie   = "bursar_session"
	stateCookie     = "bursar_state" // a sign-in in progress
	flashCookie     = "bursar_flash"
	workspaceCookie = "bursar_workspace"
	browserCookie   = "bursar_browser" // an id that identifies a person's browser

	// stateLife is the maximum duration of a sign-in.
	stateLife = 10 * time.Minute
	// browserLife is the maximum lifetime of a cookie in browsers.
	browserLife = 400 * 24 * time.Hour
)

// cookieName adds the prefix __Host- under TLS. Browsers then accept the cookie only from this exact host, not from a sibling of the same
// domain.
func (c *Console) cookieName(name string) string {
	if c.secure {
		return "__Host-" + name
	}
	return name
}

func (v *visit) cookie(name string) string {
	cookie, err := v.R.Cookie(v.console.cookieName(name))
	if err != nil {
		return ""
	}
	return cookie.Value
}

func (v *visit) setCookie(name, value string, life time.Duration) {
	http.SetCookie(v.W, &http.Cookie{
		Name: v.console.cookieName(name), Value: value, Path: "/", MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: v.console.secure, SameSite: http.SameSiteLaxMode,
	})
}

func (v *visit) dropCookie(name string) { v.setCookie(name, "", -time.Second) }

// keep stores a value, sealed, in the browser until the next step of a sign-in.
func keep[T any](v *visit, purpose string, value T) error {
	text, err := web.Seal(v.console.config.Sealer, purpose, value, stateLife)
	if err != nil {
		return err
	}
	v.setCookie(stateCookie, text, stateLife)
	return nil
}

// kept returns the value that keep stored for this purpose, unless it has expired.
func kept[T any](v *visit, purpose string) (value T, ok bool) {
	return web.Unseal[T](v.console.config.Sealer, purpose, v.cookie(stateCookie))
}

// flash is a message for the next page.
type flash struct {
	Kind string // good, warn or bad
	Text string
	// Undo is the address of a form that undoes the action, or empty.
	Undo string
	// Secret is shown once, with the message.
	Secret *secret
}

// secret is a value that is stored nowhere and shown only once.
type secret struct {
	Label string
	Value string
	Note  string
}

// setFlash shows a message on the next page.
func (v *visit) setFlash(f flash) error {
	text, err := web.Seal(v.console.config.Sealer, "flash "+v.Caller.ID, f, time.Minute)
	if err != nil {
		return err
	}
	v.setCookie(flashCookie, text, time.Minute)
	return nil
}

// redirectWith shows a message on another page.
func (v *visit) redirectWith(f flash, path string) error {
	if err := v.setFlash(f); err != nil {
		return err
	}
	return v.redirect(path)
}

// done shows a success message on another page.
func (v *visit) done(text, path string) error {
	return v.redirectWith(flash{Kind: "good", Text: text}, path)
}

// popFlash returns the message for this page. It is shown once.
func (v *visit) popFlash() *flash {
	text := v.cookie(flashCookie)
	if text == "" || v.R.Header.Get("X-Fragment") != "" {
		return nil
	}
	v.dropCookie(flashCookie)
	f, ok := web.Unseal[flash](v.console.config.Sealer, "flash "+v.Caller.ID, text)
	if !ok {
		return nil
	}
	return &f
}

func (v *visit) rememberWorkspace(id string) {
	if v.cookie(workspaceCookie) != id {
		v.setCookie(workspaceCookie, id, 365*24*time.Hour)
	}
}

func notInPath(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f || r == utf8.RuneError }

// inner returns a path of this site to go to after signing in. Anything that could
// lead to another site becomes "/".
func inner(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsFunc(next, notInPath) || len(next) > 1000 ||
		strings.HasPrefix(next, "/signin") || strings.HasPrefix(next, "/signout") {
		return "/"
	}
	return next
}
