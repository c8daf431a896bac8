package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/web"
)

// visit is one request from a browser.
type visit struct {
	*web.Exchange
	console *Console
	form    url.Values // of a POST
	zone    *time.Location

	browser    identity.Browser // its session, empty if nobody is signed in
	workspaces []api.Workspace  // that the visitor is a member of
	workspace  *api.Workspace   // the current one, nil outside of all
	held       access.Set       // the visitor's permissions in it
}

const maxForm = 1 << 20

var (
	errNoPage  = fault.New(fault.ResourceNotFound, "this page does not exist")
	errForeign = fault.New(fault.Forbidden, "this form was sent from another site")
)

// open makes an endpoint of a page that needs no sign-in. It still finds out who is
// signed in.
func (c *Console) open(page func(v *visit) error) web.Endpoint {
	return func(x *web.Exchange) {
		v := c.visit(x)
		err := v.prepare()
		if err == nil && v.browser.Actor.ID == "" {
			err = c.endpoints.Admit(x)
		}
		if err == nil {
			err = page(v)
		}
		if err != nil {
			v.fail(err)
		}
	}
}

// signedIn makes an endpoint of a page that needs a sign-in. Everybody else is sent
// to the sign-in page, which leads back.
func (c *Console) signedIn(page func(v *visit) error) web.Endpoint {
	return c.open(func(v *visit) error {
		if v.browser.Actor.ID == "" {
			return v.signInFirst("")
		}
		return page(v)
	})
}

func (c *Console) visit(x *web.Exchange) *visit {
	x.Caller.Actor = audit.Actor{Type: audit.System, RequestID: x.RequestID, IP: x.IP}
	c.setHeaders(x.W.Header())
	return &visit{Exchange: x, console: c, zone: zoneOf(x.R)}
}

// prepare reads the form and finds out who is signed in.
func (v *visit) prepare() error {
	if path := v.R.URL.Path; !utf8.ValidString(path) || strings.ContainsRune(path, 0) {
		return errNoPage
	}
	if err := v.console.foreign.Check(v.R); err != nil {
		return errForeign
	}
	if v.R.Method == http.MethodPost && strings.HasPrefix(v.R.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		v.R.Body = http.MaxBytesReader(v.W, v.R.Body, maxForm)
		err := v.R.ParseForm()
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return fault.New(fault.BodyTooLarge, "the form is larger than a megabyte")
		}
		if err != nil {
			return fault.New(fault.Validation, "the form could not be read")
		}
		v.form = v.R.PostForm
		for _, values := range v.form {
			for i := range values {
				values[i] = strings.ReplaceAll(strings.ToValidUTF8(values[i], "\uFFFD"), "\x00", "\uFFFD")
			}
		}
	}
	return v.identify()
}

// identify finds out who is signed in. A page that polls in the background says so:
// it must not keep an idle session alive.
func (v *visit) identify() error {
	secret := v.cookie(sessionCookie)
	if secret == "" {
		return nil
	}
	browser, err := v.console.Identity.Browser(v.R.Context(), secret, v.R.Header.Get("X-Background") == "")
	var f *fault.Fault
	if errors.As(err, &f) && f.Code == fault.Unauthorized {
		v.dropCookie(sessionCookie)
		return nil
	}
	if err != nil {
		return err
	}
	v.browser = browser
	v.Caller.Actor = browser.Actor
	v.Caller.RequestID, v.Caller.IP = v.RequestID, v.IP
	return v.console.config.Count(v.Exchange, browser.Actor.ID)
}

// ask calls a service method that only reads.
func ask[In, Out any](v *visit, fn web.Func[In, Out], args web.Args) (Out, error) {
	return web.Ask(v.console.endpoints, v.Exchange, fn, args)
}

// act calls a service method that changes something. The form's token serves as the
// idempotency key, so a form that is sent twice acts once.
func act[In, Out any](v *visit, action audit.Action, fn web.Func[In, Out], args web.Args) (Out, error) {
	if key := v.form.Get("once"); len(key) > 0 && len(key) <= 100 {
		args.Key = strings.ReplaceAll("console "+key, " ", "-")
	}
	return web.Act(v.console.endpoints, v.Exchange, action, fn, args)
}

// can says whether the visitor may do something in the workspace.
func (v *visit) can(p access.Permission) bool { return v.held.Has(p) }

// need refuses a page to a visitor who lacks a permission. The refusal goes into the
// audit log, as the API's do.
func (v *visit) need(p access.Permission) error {
	if v.can(p) {
		return nil
	}
	return web.Refuse(v.console.endpoints, v.Exchange, fault.Denied(string(p), fault.Scope{WorkspaceID: v.workspace.ID}))
}

// field is a value of the form without surrounding space.
func (v *visit) field(name string) string { return strings.TrimSpace(v.form.Get(name)) }

// optional puts a value into the body of a call unless it is empty.
func optional(body map[string]any, name, value string) {
	if value != "" {
		body[name] = value
	}
}

// redirect makes the browser GET another page.
func (v *visit) redirect(path string) error {
	http.Redirect(v.W, v.R, path, http.StatusSeeOther)
	return nil
}

// path is an address within the workspace.
func (v *visit) path(parts ...string) string { return workspacePath(v.workspace.ID, parts...) }

func workspacePath(id string, parts ...string) string {
	path := "/w/" + url.PathEscape(id)
	for _, part := range parts {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// zoneOf is the time zone that the browser's script told us of, or else UTC.
func zoneOf(r *http.Request) *time.Location {
	if cookie, err := r.Cookie("tz"); err == nil && cookie.Value != "" && cookie.Value != "Local" && len(cookie.Value) < 64 {
		if name, err := url.PathUnescape(cookie.Value); err == nil {
			if zone, err := time.LoadLocation(name); err == nil {
				return zone
			}
		}
	}
	return time.UTC
}
