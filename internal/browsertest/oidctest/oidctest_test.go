package oidctest_test

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"bursar/internal/browsertest"
	"bursar/internal/browsertest/oidctest"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// site starts a client of a provider. It returns the client's address and the answers that
// the provider sends back to it.
func site(t *testing.T) (address string, answers <-chan string) {
	t.Helper()
	came := make(chan string, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		came <- r.FormValue("code") + " " + r.FormValue("state")
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(`<!doctype html><title>Back</title><p>Back again`))
	})
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	return strings.Replace(web.URL, "127.0.0.1", "localhost", 1), came
}

type claims struct {
	Subject  string `json:"sub"`
	Email    string `json:"email"`
	Verified bool   `json:"email_verified"`
	Name     string `json:"name"`
}

func TestAUserSignsInWithABrowser(t *testing.T) {
	t.Parallel()
	address, answers := site(t)
	ada := oidctest.User{Email: "ada@example.com", Verified: true, Name: "Ada King Lovelace", Password: "difference"}
	bob := oidctest.User{Subject: "7", Email: "bob@example.com", Name: "Bob", Password: "analytical"}
	provider := oidctest.Start(t, ada, address+"/callback")
	provider.Add(bob)
	found, err := oidc.NewProvider(t.Context(), provider.Issuer)
	if err != nil {
		t.Fatalf("discover: %v", err)
	}
	client := oauth2.Config{
		ClientID: provider.ClientID, ClientSecret: provider.ClientSecret, Endpoint: found.Endpoint(),
		RedirectURL: address + "/callback", Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}
	for _, user := range []oidctest.User{ada, bob} {
		verifier := oauth2.GenerateVerifier()
		page := browsertest.Open(t)
		page.Goto(client.AuthCodeURL("state", oauth2.S256ChallengeOption(verifier), oidc.Nonce("nonce")))
		page.Accessible("the provider's login")
		page.Fill("Email", user.Email)
		page.Fill("Password", "wrong")
		page.ClickText("Sign in")
		page.WaitText("password wrong")
		page.Fill("Email", user.Email)
		page.Fill("Password", user.Password)
		page.ClickText("Sign in")
		page.WaitText("Back again")
		code, state, _ := strings.Cut(<-answers, " ")
		if state != "state" {
			t.Errorf("the state is %q", state)
		}
		if _, err := client.Exchange(t.Context(), code, oauth2.VerifierOption("another")); err == nil {
			t.Error("the provider does not check the verifier")
		}
		got, info := redeem(t, found, client, code, verifier)
		want := claims{Subject: cmp.Or(user.Subject, user.Email), Email: user.Email, Verified: user.Verified, Name: user.Name}
		if got != want || info != want {
			t.Errorf("the ID token says %+v, userinfo %+v, want %+v", got, info, want)
		}
	}
}

// redeem exchanges a code and returns the claims of the ID token and those of the userinfo
// endpoint.
func redeem(t *testing.T, found *oidc.Provider, client oauth2.Config, code, verifier string) (fromToken, fromInfo claims) {
	t.Helper()
	token, err := client.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatalf("exchange the code: %v", err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := found.Verifier(&oidc.Config{ClientID: client.ClientID}).Verify(t.Context(), raw)
	if err != nil {
		t.Fatalf("verify the ID token: %v", err)
	}
	if id.Nonce != "nonce" {
		t.Errorf("the nonce is %q", id.Nonce)
	}
	info, err := found.UserInfo(t.Context(), oauth2.StaticTokenSource(token))
	if err != nil {
		t.Fatalf("ask for the user: %v", err)
	}
	if err := id.Claims(&fromToken); err != nil {
		t.Fatal(err)
	}
	if err := info.Claims(&fromInfo); err != nil {
		t.Fatal(err)
	}
	return fromToken, fromInfo
}

func TestOnlyRegisteredAddressesAreRedirectedTo(t *testing.T) {
	t.Parallel()
	provider := oidctest.Start(t, oidctest.User{Email: "ada@example.com", Password: "x"})
	client := oauth2.Config{ClientID: provider.ClientID, RedirectURL: "http://localhost:1/callback", Scopes: []string{oidc.ScopeOpenID},
		Endpoint: oauth2.Endpoint{AuthURL: provider.Issuer + "/authorize"}}
	ask := func() int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, client.AuthCodeURL("s"), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		return answer.StatusCode
	}
	if got := ask(); got != http.StatusBadRequest {
		t.Errorf("before it was registered: %d", got)
	}
	provider.Redirect(client.RedirectURL)
	if got := ask(); got != http.StatusFound {
		t.Errorf("after it was registered: %d", got)
	}
}
