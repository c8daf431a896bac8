package console

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
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
	action  audit.Action // action of the route, under which a refusal is audited
	form    url.Values   // form values of a POST
	values  url.Values   // values that the inputs of the page show: those of the form, or presets
	zone    *time.Location

	browser    identity.Browser // its session, empty if no one is signed in
	workspaces []api.Workspace  // workspaces of the visitor
	workspace  *api.Workspace   // the current one, or nil
	held       access.Set       // the visitor's permissions in it

	invitations int // open invitations of the visitor
	waiting     int // approvals in the workspace that the visitor may decide

	problems problems // of a form that is shown again
	status   int      // of the response in that case
}

const maxForm = 1 << 20

var (
	errNoPage  = fault.New(api.CodeNotFound, "this page does not exist")
	errForeign = fault.New(api.CodeForbidden, "this form was sent from another site")
)

// open returns an endpoint of a page that needs no sign-in. It still identifies a signed-in visitor.
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

// signedIn returns an endpoint of a page that needs a sign-in. Other visitors are redirected to the sign-in page, which leads back.
func (c *Console) signedIn(page func(v *visit) error) web.Endpoint {
	return c.open(func(v *visit) error {
		if v.browser.Actor.ID == "" {
			return v.signInFirst("")
		}
		return page(v)
	})
}

func (c *Console) visit(x *web.Exchange) *visit {
	x.Caller.Actor = audit.Actor{Type: audit.System, RequestID: x.RequestID, IP: x.IP, Agent: x.R.UserAgent()}
	c.setHeaders(x.W.Header())
	return &visit{Exchange: x, console: c, action: audit.AccessDenied, zone: zoneOf(x.R), values: url.Values{}, status: http.StatusOK}
}

// prepare reads the form and identifies the visitor.
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
			return fault.New(api.CodeBodyTooLarge, "the form is larger than a megabyte")
		}
		if err != nil {
			return fault.New(api.CodeValidation, "the form could not be read")
		}
		v.form = v.R.PostForm
		makeStorable(v.form)
		v.values = maps.Clone(v.form)
	}
	if query := v.R.URL.Query(); makeStorable(query) {
		v.R.URL.RawQuery = query.Encode()
	}
	return v.identify()
}

// makeStorable replaces what no database column can hold: invalid UTF-8 and NUL. It reports whether there was any.
func makeStorable(values url.Values) (changed bool) {
	for _, list := range values {
		for i, text := range list {
			list[i] = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
			changed = changed || list[i] != text
		}
	}
	return changed
}

// identify identifies the signed-in visitor. A page that polls in the background is marked as such, because it must not keep an idle
// session alive.
func (v *visit) identify() error {
	secret := v.cookie(sessionCookie)
	if secret == "" {
		return nil
	}
	browser, err := v.console.Identity.Browser(v.R.Context(), secret, v.R.Header.Get("X-Background") == "")
	if hasCode(err, api.CodeUnauthorized) {
		v.dropCookie(sessionCookie)
		return nil
	}
	if err != nil {
		return err
	}
	v.browser = browser
	v.Caller.Actor = browser.Actor
	v.Caller.RequestID, v.Caller.IP, v.Caller.Agent = v.RequestID, v.IP, v.R.UserAgent()
	return v.console.config.Count(v.Exchange, browser.Actor.ID)
}

// read calls a service method that only reads.
func read[In, Out any](v *visit, fn web.Func[In, Out], in In) (Out, error) {
	return web.Call(v.console.endpoints, v.Exchange, fn, in)
}

// change calls a service method that makes a change. The form's token is the idempotency key, so a form that is sent twice makes the change
// once.
func change[In, Out any](v *visit, fn web.Func[In, Out], in In) (Out, error) {
	token := v.form.Get("once")
	if token == "" || len(token) > 100 {
		return web.Call(v.console.endpoints, v.Exchange, fn, in)
	}
	key := strings.ReplaceAll("console "+token, " ", "-")
	return web.CallOnce(v.console.endpoints, v.Exchange, key, []byte(v.form.Encode()), fn, in)
}

// refused writes the audit row of a visitor who lacks a permission, with the action of the route. Every error that is shown passes through
// it.
func (v *visit) refused(err error) error {
	if v.browser.Actor.ID == "" {
		return err // an unknown visitor is not a member
	}
	return v.console.endpoints.RecordRefusal(v.Exchange, v.action, err)
}

// can reports whether the visitor has a permission in the workspace.
func (v *visit) can(p access.Permission) bool { return v.held.Has(p) }

// need refuses a page to a visitor who lacks a permission.
func (v *visit) need(p access.Permission) error {
	if v.can(p) {
		return nil
	}
	return fault.Denied(string(p), fault.Scope{WorkspaceID: v.workspace.ID})
}

// here returns the error of reading something of a workspace, which is not found in another one.
func (v *visit) here(workspaceID string, err error) error {
	if err == nil && workspaceID != v.workspace.ID {
		return errNoPage
	}
	return err
}

// hasCode reports whether an error is a fault with one of these codes.
func hasCode(err error, codes ...api.Code) bool {
	var f *fault.Fault
	return errors.As(err, &f) && slices.Contains(codes, f.Code)
}

// field returns a value of the form without surrounding space.
func (v *visit) field(name string) string { return strings.TrimSpace(v.form.Get(name)) }

// optional returns the value of an optional parameter. It is nil, which omits the parameter, if the text is empty.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// redirect makes the browser GET another page.
func (v *visit) redirect(path string) error {
	http.Redirect(v.W, v.R, path, http.StatusSeeOther)
	return nil
}

// path returns an address within the workspace.
func (v *visit) path(parts ...string) string { return workspacePath(v.workspace.ID, parts...) }

func workspacePath(id string, parts ...string) string {
	path := "/w/" + url.PathEscape(id)
	for _, part := range parts {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// zoneOf returns the time zone that the browser's script reported, or else UTC.
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
