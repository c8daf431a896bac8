package servertest

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"bursar/internal/db"
	"bursar/internal/identity"
)

// Password is a good one, with which Complete sets accounts up.
const Password = "seven quiet lanterns"

// Invite adds a person to the workspace, as its owner.
func (x *Tenant) Invite(t testing.TB, email, role string) *Answer {
	t.Helper()
	return x.Owner.On(t).Post(x.Path("/members"), Body{"email": email, "role": role}).OK()
}

// OperatorsLink returns the link that `bursar admin` makes for a person who cannot sign in.
func (n *Node) OperatorsLink(t testing.TB, email string) string {
	t.Helper()
	made, err := n.Identity.CreateLink(t.Context(), db.Caller{}, identity.NewLinks(n.PublicURL, nil), email, false)
	if err != nil {
		t.Fatal(err)
	}
	return made.URL
}

// Form sends a form of the console, as a browser does that is signed in with a cookie, and returns the status, where it leads and
// the session that it sets. The form is given as names and values.
func (n *Node) Form(t testing.TB, path, session string, pairs ...string) (status int, location, cookie string) {
	t.Helper()
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	response := n.browse(t, http.MethodPost, path, session, strings.NewReader(values.Encode()))
	for _, c := range response.Cookies() {
		if c.Name == "bursar_session" {
			cookie = c.Value
		}
	}
	return response.StatusCode, response.Header.Get("Location"), cookie
}

// Page returns the status of a page of the console for a browser that is signed in with a cookie.
func (n *Node) Page(t testing.TB, path, session string) int {
	t.Helper()
	return n.browse(t, http.MethodGet, path, session, nil).StatusCode
}

// browse sends a request as a browser does, which follows no redirect, and reads the answer to its end.
func (n *Node) browse(t testing.TB, method, path, session string, body io.Reader) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, n.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/html")
	if body != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if session != "" {
		request.Header.Set("Cookie", "bursar_session="+session)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	return response
}

// Complete sets an account up by a link and returns the session of the browser.
func (n *Node) Complete(t testing.TB, link string) (session string) {
	t.Helper()
	status, _, session := n.Form(t, strings.TrimPrefix(link, n.PublicURL), "", "name", "Bob", "password", Password)
	if status != http.StatusSeeOther || session == "" {
		t.Fatalf("the link is answered %d", status)
	}
	return session
}

// CommandLine lets a program act as the person who is signed in at a browser.
func (n *Node) CommandLine(t testing.TB, session string) *Client {
	t.Helper()
	code := n.NewDeviceCode(t, nil)
	if status, _, _ := n.Form(t, "/device", session, "code", code, "decision", "approve"); status != http.StatusOK {
		t.Fatalf("the device is answered %d", status)
	}
	return n.Holder(t, n.PollDevice(t, code).OK().Text("token"))
}

// Once sends a request with an idempotency key.
func (c *Client) Once(key, method, path string, body any) *Answer {
	c.t.Helper()
	return c.Do(method, path, body, "Idempotency-Key", key)
}
