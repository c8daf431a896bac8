package console

import (
	"errors"
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

// visit is one request of a browser on its way to a page.
type visit struct {
	*web.Exchange
	console *Console
	form    url.Values // of a POST
	zone    *time.Location

	browser    identity.Browser // who sits before it, if they are signed in
	workspaces []api.Workspace
	workspace  *api.Workspace
	held       access.Set
}

const maxForm = 1 << 20

var (
	errNoPage  = fault.New(fault.ResourceNotFound, "this page does not exist")
	errForeign = fault.New(fault.Forbidden, "this form was sent from another site")
)

// open makes a page for everybody. Who is signed in is known on it.
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

// signedIn makes a page for somebody who is signed in; others are sent to sign in
// and come back.
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

// identify finds out who is signed in. A page that only asks for news says so, and
// does not keep the session from ending.
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

// ask calls a service method that changes nothing.
func ask[In, Out any](v *visit, fn web.Func[In, Out], args web.Args) (Out, error) {
	return web.Ask(v.console.endpoints, v.Exchange, fn, args)
}

// act calls a service method that changes something. A form that is sent twice
// does it once.
func act[In, Out any](v *visit, action audit.Action, fn web.Func[In, Out], args web.Args) (Out, error) {
	if key := v.form.Get("once"); len(key) > 0 && len(key) <= 100 {
		args.Key = "console " + key
		args.Key = strings.ReplaceAll(args.Key, " ", "-")
	}
	return web.Act(v.console.endpoints, v.Exchange, action, fn, args)
}

// can says whether the visitor may do something in the workspace.
func (v *visit) can(p access.Permission) bool { return v.held.Has(p) }

// need refuses a page to a visitor who lacks a permission, and puts that on record
// as the API does.
func (v *visit) need(p access.Permission) error {
	if v.can(p) {
		return nil
	}
	return web.Refuse(v.console.endpoints, v.Exchange, fault.Denied(string(p), fault.Scope{WorkspaceID: v.workspace.ID}))
}

// field is a value of the form without the space around it.
func (v *visit) field(name string) string { return strings.TrimSpace(v.form.Get(name)) }

// optional is a value for the body of a call, absent where the form has none.
func optional(body map[string]any, name, value string) {
	if value != "" {
		body[name] = value
	}
}

// redirect sends the browser on with a GET.
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

// problems are what is wrong with a form.
type problems struct {
	Text   string            // about the whole
	Fields map[string]string // by field

	wait time.Duration // until it can be tried again
}

// Any says whether something is wrong.
func (p problems) Any() bool { return p.Text != "" || len(p.Fields) > 0 }

// Of is what is wrong with a field.
func (p problems) Of(field string) string { return p.Fields[field] }

// mend tells whether an error is one that the person can mend in the form, and
// how. known are the fields that the form shows; what is wrong elsewhere stands
// above it.
func mend(err error, known ...string) (problems, int, bool) {
	var f *fault.Fault
	if !errors.As(err, &f) {
		return problems{}, 0, false
	}
	switch status := f.Code.Status(); status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusConflict:
		p := problems{Fields: map[string]string{}}
		details, ok := f.Details.(fault.ViolationDetails)
		if !ok {
			p.Text = sentence(f.Message)
			if f.Code == fault.IdempotencyConflict {
				p.Text = "This form was already sent with different content. Check whether that went through before you send it again."
			}
			if f.RetryAfter > 0 {
				p.Text, p.wait = "Too many attempts. Try again in "+roughly(f.RetryAfter)+".", f.RetryAfter
			}
			return p, status, true
		}
		for _, violation := range details.Fields {
			if slices.Contains(known, violation.Field) {
				p.Fields[violation.Field] = sentence(violation.Constraint)
			} else {
				p.Text = strings.TrimSpace(p.Text + " " + sentence(violation.Field+" "+violation.Constraint))
			}
		}
		return p, status, true
	}
	return problems{}, 0, false
}

// sentence makes a text of the API one for people.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

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
