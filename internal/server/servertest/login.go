package servertest

import (
	"io"
	"net/http"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/config"
	"bursar/internal/db"
)

// TrustProxy makes the server trust X-Forwarded-For from this machine, so that a test can
// call from any address with From.
func TrustProxy() Option {
	return func(c *config.Serve) { c.TrustedProxies = []string{"127.0.0.0/8", "::1/128"} }
}

// From returns the headers that make a call come from an address, on a server with
// TrustProxy.
func From(ip string) []string { return []string{"X-Forwarded-For", ip} }

// Holder returns a client that calls with a token.
func (n *Node) Holder(t testing.TB, token string) *Client {
	return &Client{Node: n, Token: token, t: t}
}

// Exchange sends an Authorization header to the endpoint that exchanges API keys. If the
// text is empty, it sends no such header.
func (n *Node) Exchange(t testing.TB, authorization string, headers ...string) *Answer {
	t.Helper()
	if authorization != "" {
		headers = append([]string{"Authorization", authorization}, headers...)
	}
	return n.Stranger(t).Do(http.MethodPost, "/v1/auth/token", nil, headers...)
}

// Outside sends a GET request for a path that is not part of the API, such as the public keys.
func (n *Node) Outside(t testing.TB, path string) *Answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.URL+path, nil)
	if err != nil {
		t.Fatalf("make the request: %v", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("GET %s: read the answer: %v", path, err)
	}
	return &Answer{Status: response.StatusCode, Header: response.Header, Body: body, request: "GET " + path, t: t}
}

// Message returns the text of an error.
func (a *Answer) Message() string {
	a.t.Helper()
	var body struct{ Error struct{ Message string } }
	a.decode(&body)
	return body.Error.Message
}

// Number returns an integer property of `data`, or 0 if there is none.
func (a *Answer) Number(name string) int64 {
	a.t.Helper()
	number, _ := a.Object()[name].(float64)
	return int64(number)
}

// SetEmailProof stores how the address of a user was verified: "*" if it is known to be theirs, "" if it is not verified.
func (c *Client) SetEmailProof(t testing.TB, proof string) {
	t.Helper()
	_, err := db.Write(t.Context(), c.Node.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), tx.Exec(`UPDATE account SET email_proof = $2 WHERE id = $1`, c.UserID, proof)
	})
	if err != nil {
		t.Fatalf("verify an address: %v", err)
	}
}
