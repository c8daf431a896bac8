package console_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"bursar/internal/browsertest"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

// password is what everyone in these tests signs in with.
const password = "seven quiet lanterns"

// adminEmail is the address of the first admin.
const adminEmail = "admin@example.com"

// start runs a server at localhost, where browsers allow passkeys.
func start(t testing.TB, options ...servertest.Option) *servertest.Node {
	t.Helper()
	return startOn(t, dbtest.SQLite(t), options...)
}

func startOn(t testing.TB, store dbtest.Store, options ...servertest.Option) *servertest.Node {
	t.Helper()
	return servertest.Start(t, store, append([]servertest.Option{servertest.AtLocalhost()}, options...)...)
}

// link creates an account link for someone.
func link(t testing.TB, n *servertest.Node, email string) string {
	t.Helper()
	made, err := n.Identity.CreateLink(t.Context(), db.Caller{}, identity.NewLinks(n.PublicURL, nil), email, true)
	if err != nil {
		t.Fatalf("make a link for %s: %v", email, err)
	}
	return made.URL
}

// signInBrowser signs a person in, which also sets their password, and copies the cookies into a
// browser.
func signInBrowser(t testing.TB, n *servertest.Node, page *browsertest.Page, email string) {
	t.Helper()
	visitor := browse(t, n, email)
	for _, cookie := range visitor.cookies() {
		page.SetCookie(n.PublicURL, cookie)
	}
}

// signInAndOpen signs a person in and opens the first page that they see.
func signInAndOpen(t testing.TB, n *servertest.Node, page *browsertest.Page, email string) {
	t.Helper()
	signInBrowser(t, n, page, email)
	page.Goto(n.PublicURL + "/")
}

// open signs someone in and opens a page of the first workspace.
func open(t testing.TB, n *servertest.Node, email, path string, options ...browsertest.Option) *browsertest.Page {
	t.Helper()
	page := browsertest.Open(t, options...)
	signInBrowser(t, n, page, email)
	page.Goto(n.PublicURL + "/w/" + n.First.WorkspaceID + path)
	return page
}

// visitor is an HTTP client that keeps cookies like a browser. It is much faster than one.
type visitor struct {
	node   *servertest.Node
	client *http.Client
	agent  string // the browser that it says it is
	t      testing.TB
}

// stranger is a visitor who is not signed in.
func stranger(t testing.TB, n *servertest.Node) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{node: n, client: &http.Client{Jar: jar}, t: t}
}

// browse returns a visitor who is signed in and whose password is set.
func browse(t testing.TB, n *servertest.Node, email string) *visitor {
	t.Helper()
	v := stranger(t, n)
	answer := v.post(strings.TrimPrefix(link(t, n, email), n.PublicURL), "name", "User "+email, "password", password)
	if answer.status != http.StatusOK {
		t.Fatalf("%s could not sign in: %d at %s", email, answer.status, answer.path)
	}
	return v
}

func (v *visitor) cookies() []*http.Cookie {
	address, err := url.Parse(v.node.PublicURL)
	if err != nil {
		v.t.Fatal(err)
	}
	return v.client.Jar.Cookies(address)
}

// answer is the page at the end of all redirects.
type answer struct {
	status int
	path   string // the path and the query of that page
	header http.Header
	body   string
}

func (v *visitor) get(path string, headers ...string) answer {
	v.t.Helper()
	return v.do(http.MethodGet, path, nil, headers...)
}

// post sends a form, given as pairs.
func (v *visitor) post(path string, pairs ...string) answer {
	v.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return v.do(http.MethodPost, path, strings.NewReader(form.Encode()), "Content-Type", "application/x-www-form-urlencoded")
}

func (v *visitor) do(method, path string, body io.Reader, headers ...string) answer {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), method, v.node.PublicURL+path, body)
	if err != nil {
		v.t.Fatal(err)
	}
	request.Header.Set("Accept", "text/html")
	if v.agent != "" {
		request.Header.Set("User-Agent", v.agent)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := v.client.Do(request)
	if err != nil {
		v.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		v.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer{response.StatusCode, response.Request.URL.RequestURI(), response.Header, string(data)}
}

// room returns a path within the first workspace.
func room(n *servertest.Node, path string) string { return "/w/" + n.First.WorkspaceID + path }
