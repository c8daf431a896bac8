// Package servertest runs a whole server for a test and calls it over HTTP. Every answer
// is checked against the contract.
package servertest

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"bursar/api/openapi"
	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/config"
	"bursar/internal/contract"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server"
	"bursar/internal/setup"
	"bursar/internal/vault"
	"bursar/internal/web"
)

// Node is one running server on a store.
type Node struct {
	URL       string
	PublicURL string
	DB        *db.DB
	Vault     *vault.Vault
	Server    *server.Server
	Identity  *identity.Service // as `bursar admin` uses it, on this node's store
	First     setup.Result      // the first admin, with an API key
	Clock     *dbtest.Clock
	Log       *LogBuffer

	checker *contract.Checker
}

// LogBuffer collects the log of a server.
type LogBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *LogBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String returns everything that was logged so far.
func (l *LogBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// loadContract compiles the contract once for all tests, because that takes longer than
// starting a server.
var loadContract = sync.OnceValues(func() (*contract.Checker, error) { return contract.New(openapi.JSON) })

// Option changes the settings of a server.
type Option func(*config.Serve)

// RateLimit sets a rate, such as "5/s". Without it there are no limits.
func RateLimit(rate string) Option { return func(c *config.Serve) { c.RateLimit = rate } }

// AuditKey sets the file of the key that signs the audit log. The file is created if it
// does not exist.
func AuditKey(file string) Option { return func(c *config.Serve) { c.Audit.Key = file } }

// AuditCheckpoint stores the newest checkpoint in another file than the one beside the key.
func AuditCheckpoint(file string) Option { return func(c *config.Serve) { c.Audit.Checkpoint = file } }

// Start runs a server on the store and sets the store up if it is new.
func Start(t testing.TB, store dbtest.Store, options ...Option) *Node {
	t.Helper()
	n := &Node{Clock: &dbtest.Clock{}, Log: &LogBuffer{}}
	n.DB = store.OpenAt(t, n.Clock.Now)
	n.Vault = store.Vault(n.DB)
	settings := config.Serve{
		PublicURL: "http://bursar.test", RateLimit: "off",
		DeviceSessionTTL: 12 * time.Hour, KeySessionTTL: time.Hour,
		WebSessionTTL: 12 * time.Hour, WebSessionIdle: 30 * time.Minute,
		AuditRetentionMinDays: 365,
		HashMemory:            64, // password hashing was half of the CPU time of the console's tests
	}
	listener := httptest.NewUnstartedServer(nil)
	for _, option := range options {
		option(&settings)
	}
	_, port, _ := net.SplitHostPort(listener.Listener.Addr().String())
	settings.PublicURL = strings.Replace(settings.PublicURL, "PORT", port, 1)
	var err error
	if settings.Audit.Key != "" {
		if _, err := auditlog.InitKey(t.Context(), n.DB, settings.Audit.Key); err != nil {
			t.Fatalf("make the key of the audit log: %v", err)
		}
	}
	if n.Server, err = server.New(t.Context(), n.DB, n.Vault, settings, server.NewLog(n.Log, slog.LevelInfo)); err != nil {
		t.Fatalf("make the server: %v", err)
	}
	if n.checker, err = loadContract(); err != nil {
		t.Fatalf("read the contract: %v", err)
	}
	n.Identity = identity.New(n.DB, n.Vault, web.NewCursors(nil), identity.Config{})
	first := setup.First{Email: "admin@example.com", Name: "Admin", Organization: "Acme", Workspace: "Treasury", PublicURL: settings.PublicURL}
	if done, err := setup.Done(t.Context(), n.DB); err != nil {
		t.Fatalf("look at the store: %v", err)
	} else if !done {
		if n.First, err = setup.Run(t.Context(), n.DB, db.Caller{}, first); err != nil {
			t.Fatalf("set the store up: %v", err)
		}
	}
	listener.Config.Handler = n.Server
	listener.Start()
	t.Cleanup(listener.Close)
	n.URL = listener.URL
	n.PublicURL = settings.PublicURL
	return n
}

// RunBackground runs the server's background work, such as sending mail, until the
// test ends.
func (n *Node) RunBackground(t testing.TB) {
	background, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		n.Server.RunBackground(background)
	}()
	t.Cleanup(func() { stop(); <-stopped })
}

// AtLocalhost sets the public address of the server to its listening address with the
// host name localhost. Only there do browsers allow passkeys without TLS.
func AtLocalhost() Option { return func(c *config.Serve) { c.PublicURL = "http://localhost:PORT" } }

// Client calls the API with a token. Without a token it calls anonymously.
type Client struct {
	Node   *Node
	Token  string
	UserID string
	t      testing.TB
}

// Stranger returns a client without a credential.
func (n *Node) Stranger(t testing.TB) *Client { return &Client{Node: n, t: t} }

// Admin returns a client of the first admin, with a new session.
func (n *Node) Admin(t testing.TB) *Client {
	t.Helper()
	return n.Login(t, n.First.APIKey)
}

// Login exchanges an API key and returns a client with the session.
func (n *Node) Login(t testing.TB, apiKey string) *Client {
	t.Helper()
	answer := n.Stranger(t).Do(http.MethodPost, "/v1/auth/token", nil, "Authorization", "Bearer "+apiKey).OK()
	return &Client{Node: n, Token: answer.Text("token"), UserID: answer.Text("user_id"), t: t}
}

// User creates a user who belongs to no organization and no workspace.
func (n *Node) User(t testing.TB, email string) *Client {
	t.Helper()
	by := db.Caller{}
	if _, err := n.Identity.CreateUser(t.Context(), by, email, "User "+email); err != nil {
		t.Fatalf("create user %s: %v", email, err)
	}
	_, key, err := n.Identity.CreateKeyFor(t.Context(), by, email, identity.NewKey{Name: "test", Scope: audit.Scope{Administer: true}})
	if err != nil {
		t.Fatalf("create a key for %s: %v", email, err)
	}
	return n.Login(t, key)
}

// Member creates a user with a role in the first workspace.
func (n *Node) Member(t testing.TB, email, role string) *Client {
	t.Helper()
	user := n.User(t, email)
	x := n.FirstTenant(t)
	user.Join(x.Add(email, role))
	return user
}

// Join accepts an invitation if memberID is the id of one. If the organization already
// knows the user, adding a member returns the user's id instead.
func (c *Client) Join(memberID string) {
	c.t.Helper()
	if strings.HasPrefix(memberID, "inv_") {
		c.Post("/v1/invitations/"+memberID+"/accept", nil).OK()
	}
}

// Do sends a request. A string, a []byte or a reader is sent unchanged; any other body
// except nil is sent as JSON. Headers are given as names and values.
func (c *Client) Do(method, path string, body any, headers ...string) *Answer {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.Node.URL+path, encode(c.t, body))
	if err != nil {
		c.t.Fatalf("make the request: %v", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatalf("%s %s: read the answer: %v", method, path, err)
	}
	c.check(request, response, data)
	return &Answer{Status: response.StatusCode, Header: response.Header, Body: data, request: method + " " + path, t: c.t}
}

// check compares an answer with the contract. A path that is not in the contract must
// answer 404, and a method that a path does not have must answer 405.
func (c *Client) check(request *http.Request, response *http.Response, body []byte) {
	c.t.Helper()
	err := c.Node.checker.CheckResponse(request, response.StatusCode, response.Header, body)
	var unknown *contract.UndocumentedError
	if asUndocumented(err, &unknown) && unknown.Status == 0 {
		err = c.Node.checker.CheckUnrouted(response.StatusCode, response.Header, body)
	}
	if err != nil {
		c.t.Errorf("%s %s breaks the contract: %v\n%d %s", request.Method, request.URL, err, response.StatusCode, body)
	}
}

// Get sends a GET.
func (c *Client) Get(path string) *Answer { c.t.Helper(); return c.Do(http.MethodGet, path, nil) }

// Post sends a POST.
func (c *Client) Post(path string, body any) *Answer {
	c.t.Helper()
	return c.Do(http.MethodPost, path, body)
}

// Patch sends a PATCH.
func (c *Client) Patch(path string, body any) *Answer {
	c.t.Helper()
	return c.Do(http.MethodPatch, path, body)
}

// Put sends a PUT.
func (c *Client) Put(path string, body any) *Answer {
	c.t.Helper()
	return c.Do(http.MethodPut, path, body)
}

// Delete sends a DELETE.
func (c *Client) Delete(path string) *Answer {
	c.t.Helper()
	return c.Do(http.MethodDelete, path, nil)
}
