package console

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the machine may have no time zone database

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/identity/credential"
	"bursar/internal/web"
)

//go:embed templates/*.html
var templateFiles embed.FS

// pages are the templates by file name. A page is shown in the frame app, with the navigation, unless it names the frame plain: a single
// card. A page is parsed when it is first shown, so that the server starts sooner.
type pages map[string]func() (*template.Template, error)

func loadPages(a assets) (pages, error) {
	shared, err := template.New("").Funcs(functions(a)).ParseFS(templateFiles, "templates/frame_*.html")
	if err != nil {
		return nil, fmt.Errorf("read the frames of pages: %w", err)
	}
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("list the pages: %w", err)
	}
	all := pages{}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "templates/"), ".html")
		if strings.HasPrefix(name, "frame_") {
			continue
		}
		all[name] = sync.OnceValues(func() (*template.Template, error) {
			own, err := shared.Clone()
			if err == nil {
				own, err = own.ParseFS(templateFiles, file)
			}
			if err != nil {
				return nil, fmt.Errorf("read page %s: %w", name, err)
			}
			return own, nil
		})
	}
	return all, nil
}

// view contains what a template can use.
type view struct {
	Page       string // the template's name, for the navigation
	Title      string
	User       *api.User
	Workspaces []api.Workspace
	Workspace  *api.Workspace
	Flash      *flash
	Problems   problems
	RequestID  string
	Data       any

	Invitations int // open invitations of the visitor
	Waiting     int // approvals in the workspace that the visitor may decide

	held   access.Set
	values url.Values // of the inputs
	zone   *time.Location
	now    time.Time
}

// Can reports whether the visitor has a permission in the workspace.
func (v view) Can(permission string) bool { return v.held.Has(access.Permission(permission)) }

// W returns an address within the workspace.
func (v view) W(parts ...string) string { return workspacePath(v.Workspace.ID, parts...) }

// IdempotencyKey returns a hidden input with a random key. A form with that input takes effect once, even if the browser sends it twice.
func (v view) IdempotencyKey() template.HTML {
	return template.HTML(`<input type="hidden" name="once" value="` + credential.NewCode(20) + `">`)
}

// The server formats dates like the script in the language of the pages. So a page looks the same before and after the script has run.
const (
	dayFormat    = "Jan 2"
	dateFormat   = dayFormat + ", 2006"
	minuteFormat = dateFormat + ", 3:04 PM"
	secondFormat = dateFormat + ", 3:04:05 PM MST"
)

// Ago, Short, Full and Date format a time, given in Unix milliseconds. A script rewrites it in the reader's time zone.
func (v view) Ago(at int64) template.HTML   { return v.time(at, "ago") }
func (v view) Short(at int64) template.HTML { return v.time(at, "short") }
func (v view) Full(at int64) template.HTML  { return v.time(at, "full") }
func (v view) Date(at int64) template.HTML  { return v.time(at, "date") }

func (v view) time(at int64, form string) template.HTML {
	if at == 0 {
		return ""
	}
	when := time.UnixMilli(at)
	local := when.In(v.zone)
	text := local.Format(minuteFormat)
	switch form {
	case "date":
		text = local.Format(dateFormat)
	case "ago":
		text = ago(v.now.Sub(when), local)
	case "full":
		text = local.Format(secondFormat)
	}
	exact := when.UTC().Format("2006-01-02T15:04:05.000Z")
	return template.HTML(fmt.Sprintf(`<time datetime="%s" data-time="%s" title="%s">%s</time>`, exact, form,
		template.HTMLEscapeString(local.Format(secondFormat)+" ("+exact+")"), template.HTMLEscapeString(text)))
}

// Stamp formats a time as plain text, for attributes.
func (v view) Stamp(at int64) string {
	return time.UnixMilli(at).In(v.zone).Format(minuteFormat + " MST")
}

func ago(d time.Duration, at time.Time) string {
	switch {
	case d < 0:
		return "in " + roughly(-d)
	case d < 45*time.Second:
		return "just now"
	case d < 7*24*time.Hour:
		return roughly(d) + " ago"
	}
	return at.Format(dateFormat)
}

// roughly formats a span of time in words.
func roughly(d time.Duration) string {
	count := func(n float64, unit string) string {
		whole := int(math.Ceil(n))
		if whole == 1 {
			return "1 " + unit
		}
		return strconv.Itoa(whole) + " " + unit + "s"
	}
	switch {
	case d < time.Minute:
		return count(max(1, d.Seconds()), "second")
	case d < time.Hour:
		return count(math.Floor(d.Minutes()), "minute")
	case d < 48*time.Hour:
		return count(math.Floor(d.Hours()), "hour")
	}
	return count(math.Floor(d.Hours()/24), "day")
}

func functions(a assets) template.FuncMap {
	all := template.FuncMap{
		"asset":       a.path,
		"query":       url.QueryEscape,
		"section":     section,
		"method":      methodName,
		"program":     identity.ProgramName,
		"breakable":   breakable,
		"unproved":    func(proved *bool) bool { return proved != nil && !*proved },
		"roleSummary": func(r api.Role) string { return roleSummary(r.Key, r.BuiltIn, permissionSet(r.Permissions)) },
	}
	maps.Copy(all, fieldFunctions())
	return all
}

// breakable allows a line break after the dots and underscores of a name, such as that of a permission. So the name does not break within a
// word.
func breakable(name string) template.HTML {
	return template.HTML(strings.NewReplacer(".", ".<wbr>", "_", "_<wbr>").Replace(template.HTMLEscapeString(name)))
}

// section reports whether a page belongs to a part of the navigation: the page's name begins with it.
func section(page, part string) bool { return page == part || strings.HasPrefix(page, part+"_") }

// show renders a page, again if its form has problems.
func (v *visit) show(page, title string, data any) error {
	return v.showStatus(v.status, page, title, v.problems, data)
}

// showAgain renders a form again, with its problems.
func (v *visit) showAgain(status int, page, title string, p problems, data any) error {
	v.retryAfter(p.wait)
	return v.showStatus(status, page, title, p, data)
}

func (v *visit) showStatus(status int, page, title string, p problems, data any) error {
	template, err := v.console.pages[page]()
	if err != nil {
		return err
	}
	view := v.view(page, title, p, data)
	if p.Any() { // the page knows its inputs, and so which problems can be shown beside one, only after it is rendered
		if err := template.ExecuteTemplate(io.Discard, "page", view); err != nil {
			return fmt.Errorf("render page %s: %w", page, err)
		}
		view.Problems = view.Problems.placed()
	}
	name := "page"
	if fragment := v.R.Header.Get("X-Fragment"); fragment != "" {
		if template.Lookup("fragment_"+fragment) == nil {
			return errNoPage
		}
		name = "fragment_" + fragment
	}
	var body bytes.Buffer
	if err := template.ExecuteTemplate(&body, name, view); err != nil {
		return fmt.Errorf("render page %s: %w", page, err)
	}
	h := v.W.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	v.W.WriteHeader(status)
	if v.R.Method != http.MethodHead {
		_, _ = v.W.Write(body.Bytes()) // an error here means that the client has gone
	}
	return nil
}

func (v *visit) view(page, title string, p problems, data any) view {
	p.inputs = &inputs{}
	out := view{
		Page: page, Title: title, Workspaces: v.workspaces, Workspace: v.workspace, Flash: v.popFlash(), Problems: p,
		RequestID: v.RequestID, Data: data, Invitations: v.invitations, Waiting: v.waiting, held: v.held, values: v.values, zone: v.zone, now: time.UnixMilli(v.console.endpoints.DB.Now()),
	}
	if v.browser.Actor.ID != "" {
		out.User = &api.User{ID: v.Caller.ID, Email: v.Caller.Email, Name: v.Caller.Name}
	}
	return out
}

// setHeaders sets the security headers of every page: it loads only our own files,
// runs only our own script and cannot be framed.
func (c *Console) setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=()")
	h.Set("Cache-Control", "no-store")
}

func (v *visit) retryAfter(wait time.Duration) {
	if wait > 0 {
		v.W.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(wait.Seconds())))))
	}
}

// errorPage describes an error to a person.
type errorPage struct {
	Status     int
	Heading    string
	Text       string
	Permission string
	Home       string
}

// fail shows an error as a page.
func (v *visit) fail(err error) {
	err = v.refused(err)
	f := v.Explain(err)
	page := errorPage{Status: f.Code.Info().Status, Text: sentence(f.Message), Home: "/"}
	switch page.Status {
	case http.StatusNotFound:
		page.Heading, page.Text = "Not found", "This page doesn't exist, or you don't have access to it."
		if errors.Is(err, errNoPage) {
			page.Text = "This page doesn't exist."
		}
	case http.StatusForbidden:
		page.Heading = "Not allowed"
		if details, ok := f.Details.(fault.PermissionDetails); ok {
			page.Permission = details.Permission
			page.Text = "Your roles don't allow this."
		}
	case http.StatusTooManyRequests:
		page.Heading, page.Text = "Too many requests", "Please slow down. Try again in "+roughly(f.RetryAfter)+"."
		v.retryAfter(f.RetryAfter)
	case http.StatusInternalServerError, http.StatusServiceUnavailable:
		page.Heading = "Something went wrong"
	default:
		page.Heading = "That didn't work"
	}
	v.R.Header.Del("X-Fragment")
	v.keepNavigation(page.Status)
	if err := v.showStatus(page.Status, "error", page.Heading, problems{}, page); err != nil {
		v.Exchange.Fail(err)
	}
}

// keepNavigation lets an error page show the side bar. Under a rate limit or with a failing store it shows none, to avoid further reads of
// the store.
func (v *visit) keepNavigation(status int) {
	if v.workspace != nil || v.browser.Actor.ID == "" || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError {
		return
	}
	if err := v.enterLast(v.R.Context()); err != nil {
		v.workspace = nil // the page has the same text without a side bar
	}
}

// WantsPage reports whether a request comes from a person's browser, which should get a page instead of JSON.
func WantsPage(r *http.Request) bool {
	return !strings.HasPrefix(r.URL.Path, "/v") && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// NotFound shows that a page does not exist.
func (c *Console) NotFound(x *web.Exchange) { c.Fail(x, errNoPage) }

// Fail shows an error as a page.
func (c *Console) Fail(x *web.Exchange, err error) { c.open(func(*visit) error { return err })(x) }
