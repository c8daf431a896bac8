// Package oidctest runs an OpenID Connect provider for a test. It is zitadel's, with a
// login page for a browser: the page has the fields Email and Password and the button
// Sign in.
package oidctest

import (
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/zitadel/oidc/v3/pkg/op"
)

// User is a user of the provider.
type User struct {
	Subject  string // the email address is used if it is empty
	Email    string
	Verified bool // the provider confirms the email address
	Name     string
	Password string
}

// Provider is a running provider with one client.
type Provider struct {
	Issuer       string // at http://localhost
	ClientID     string
	ClientSecret string

	people *people
	store  *store
}

// Start runs a provider until the end of the test.
func Start(t testing.TB, user User, redirects ...string) *Provider {
	t.Helper()
	web := httptest.NewUnstartedServer(nil)
	t.Cleanup(web.Close)
	p := &Provider{
		Issuer:   strings.Replace("http://"+web.Listener.Addr().String(), "127.0.0.1", "localhost", 1),
		ClientID: "bursar", ClientSecret: rand.Text(), people: &people{},
	}
	p.store = newStore(p.people, p.ClientID, p.ClientSecret)
	p.Add(user)
	p.Redirect(redirects...)
	var key [32]byte
	if _, err := rand.Read(key[:]); err != nil {
		t.Fatalf("make a key: %v", err)
	}
	protocol, err := op.NewProvider(&op.Config{CryptoKey: key, CodeMethodS256: true, AuthMethodPost: true, GrantTypeRefreshToken: true},
		p.store, op.StaticIssuer(p.Issuer), op.WithAllowInsecure(), op.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		t.Fatalf("make the provider: %v", err)
	}
	page := &login{store: p.store, callback: op.AuthCallbackURL(protocol)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+loginPath, page.show)
	mux.Handle("POST "+loginPath, op.NewIssuerInterceptor(protocol.IssuerFromRequest).HandlerFunc(page.check))
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.Handle("/", protocol)
	web.Config.Handler = mux
	web.Start()
	return p
}

// Add adds a user, or replaces the one with the same subject.
func (p *Provider) Add(user User) { p.people.add(user) }

// Redirect allows more addresses that the login page may redirect to.
func (p *Provider) Redirect(uris ...string) { p.store.allow(uris) }
