package servertest

import (
	"net/http"
	"net/url"
	"testing"
)

// NewDeviceCode requests a device code, as a command line does.
func (n *Node) NewDeviceCode(t testing.TB, body any) string {
	t.Helper()
	return n.Stranger(t).Post("/v1/auth/device-code", body).OK().Text("code")
}

// PollDevice requests the state of a code, as a command line does while it waits.
func (n *Node) PollDevice(t testing.TB, code string, headers ...string) *Answer {
	t.Helper()
	return n.Stranger(t).Do(http.MethodGet, "/v1/auth/device-code/"+url.PathEscape(code), nil, headers...)
}

// Decide approves or denies a code.
func (c *Client) Decide(code, verb string) *Answer {
	c.t.Helper()
	return c.Post("/v1/auth/device-code/"+code+"/"+verb, nil)
}

// DeviceSession signs in on a device as the given person.
func (n *Node) DeviceSession(t testing.TB, as *Client) *Client {
	t.Helper()
	code := n.NewDeviceCode(t, nil)
	as.Decide(code, "approve").OK()
	return n.Holder(t, n.PollDevice(t, code).OK().Text("token"))
}

// DeviceStatus fails the test unless the answer has this status. token is whether the
// answer must contain a token; otherwise it must not.
func (a *Answer) DeviceStatus(status string, token bool) {
	a.t.Helper()
	a.OK()
	if got := a.Text("status"); got != status {
		a.t.Errorf("the status is %q, want %q", got, status)
	}
	if got := a.Text("token"); (got != "") != token {
		a.t.Errorf("the token is %q, want one: %v", got, token)
	}
}
