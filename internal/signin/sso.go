package signin

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
)

// Provider is a company's identity provider, as an operator configures it.
type Provider struct {
	Issuer       string
	ClientID     string
	ClientSecret string
	Name         string // on the button
}

// providerTimeout bounds how long an identity provider may take to answer.
const providerTimeout = 10 * time.Second

// CallbackPath is where the provider sends people back to.
const CallbackPath = "/signin/sso/callback"

// provider asks the issuer about itself when it is first needed: a server starts
// without it.
type provider struct {
	Provider
	redirectURL string
	client      *http.Client

	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier
	oauth    *oauth2.Config
}

func newProvider(c Config) *provider {
	if c.Provider.Issuer == "" {
		return nil
	}
	return &provider{Provider: c.Provider, redirectURL: c.PublicURL + CallbackPath, client: &http.Client{Timeout: providerTimeout}}
}

var errNoProvider = fault.New(fault.NotFound, "single sign-on is not set up here")

func (p *provider) discover(ctx context.Context) (*oauth2.Config, *oidc.IDTokenVerifier, error) {
	if p == nil {
		return nil, nil, errNoProvider
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.oauth != nil {
		return p.oauth, p.verifier, nil
	}
	// The provider's keys are fetched later with the same client, not with the
	// context of whoever came first.
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.client), p.Issuer)
	if err != nil {
		return nil, nil, &unreachable{fmt.Errorf("ask the identity provider about itself: %w", err)}
	}
	p.oauth = &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: found.Endpoint(),
		RedirectURL: p.redirectURL, Scopes: []string{oidc.ScopeOpenID, "email", "profile"}}
	p.verifier = found.Verifier(&oidc.Config{ClientID: p.ClientID})
	return p.oauth, p.verifier, nil
}

// unreachable is a provider that does not answer: whoever runs Bursar is to know
// why, who signs in only that.
type unreachable struct{ error }

func (u *unreachable) Unwrap() error { return u.error }

// Unreachable says whether an error is the identity provider's.
func Unreachable(err error) bool {
	var u *unreachable
	return errors.As(err, &u)
}

// ProviderName is what the identity provider is called, empty where there is none.
func (s *Service) ProviderName() string {
	if s.provider == nil {
		return ""
	}
	return s.provider.Name
}

// SSOState is what is kept, out of the browser's sight, until the provider sends
// it back.
type SSOState struct {
	State    string
	Nonce    string
	Verifier string
}

// StartSSO is where to send a browser that is to sign in at the provider.
func (s *Service) StartSSO(ctx context.Context) (location string, state SSOState, err error) {
	oauth, _, err := s.provider.discover(ctx)
	if err != nil {
		return "", SSOState{}, err
	}
	state = SSOState{State: identity.RandomCode(26), Nonce: identity.RandomCode(26), Verifier: oauth2.GenerateVerifier()}
	return oauth.AuthCodeURL(state.State, oidc.Nonce(state.Nonce), oauth2.S256ChallengeOption(state.Verifier)), state, nil
}

var (
	errSSOFailed   = fault.New(fault.InvalidCredentials, "signing in at the identity provider did not succeed")
	errSSOUnknown  = fault.New(fault.InvalidCredentials, "nobody here has the email address that your identity provider vouches for: ask to be invited")
	errUnverified  = fault.New(fault.InvalidCredentials, "your identity provider does not vouch for your email address")
	errSSOTampered = fault.New(fault.InvalidCredentials, "this sign-in was not begun in this browser, or took too long: try again")
)

// FinishSSO checks what the provider sent back and finds the account by the email
// address that it vouches for. Who is invited has completed the account with it.
func (s *Service) FinishSSO(ctx context.Context, by db.Caller, state SSOState, query url.Values) (Proven, error) {
	oauth, verifier, err := s.provider.discover(ctx)
	if err != nil {
		return Proven{}, err
	}
	if state.State == "" || subtle.ConstantTimeCompare([]byte(state.State), []byte(query.Get("state"))) != 1 {
		return Proven{}, errSSOTampered
	}
	if err := s.attempt(by, ""); err != nil {
		return Proven{}, err
	}
	claims, err := s.exchange(ctx, oauth, verifier, state, query)
	if err != nil {
		return Proven{}, s.failUnlessUnreachable(ctx, by, audit.Actor{}, err)
	}
	if claims.Email == "" || !claims.EmailVerified {
		return Proven{}, s.fail(ctx, by, audit.Actor{}, "the identity provider does not vouch for the email address", errUnverified)
	}
	p, err := s.byEmail(ctx, claims.Email)
	if err != nil {
		return Proven{}, err
	}
	switch p.status {
	case "active", "invited":
		return s.admit(ctx, by, p, claims.Name)
	case "":
		return Proven{}, s.fail(ctx, by, p.actor, "the identity provider vouches for somebody who is not known", errSSOUnknown)
	}
	return Proven{}, s.fail(ctx, by, p.actor, "the account is "+p.status, errSSOUnknown)
}

func (s *Service) failUnlessUnreachable(ctx context.Context, by db.Caller, who audit.Actor, err error) error {
	if Unreachable(err) {
		return err
	}
	return s.fail(ctx, by, who, "the identity provider's answer was refused: "+err.Error(), errSSOFailed)
}

type ssoClaims struct {
	Email         string `json:"email"`
	EmailVerified truth  `json:"email_verified"`
	Name          string `json:"name"`
}

// truth is a boolean that some providers write as a string.
type truth bool

func (t *truth) UnmarshalJSON(text []byte) error {
	*t = truth(string(text) == "true" || string(text) == `"true"`)
	return nil
}

func (s *Service) exchange(ctx context.Context, oauth *oauth2.Config, verifier *oidc.IDTokenVerifier, state SSOState, query url.Values) (ssoClaims, error) {
	var claims ssoClaims
	if reason := query.Get("error"); reason != "" {
		return claims, errors.New("the provider refused")
	}
	ctx = oidc.ClientContext(ctx, s.provider.client)
	token, err := oauth.Exchange(ctx, query.Get("code"), oauth2.VerifierOption(state.Verifier))
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode < 500:
		return claims, errors.New("the code was not accepted")
	case err != nil:
		return claims, &unreachable{fmt.Errorf("exchange the code at the identity provider: %w", err)}
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := verifier.Verify(ctx, raw)
	if err != nil {
		return claims, errors.New("the ID token is not good")
	}
	if err := id.Claims(&claims); err != nil {
		return claims, errors.New("the ID token is malformed")
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(state.Nonce)) != 1 {
		return claims, errors.New("the nonce is another")
	}
	return claims, nil
}

// admit lets somebody in for whom the provider vouches. From now on it is settled
// for everybody whose the address is.
func (s *Service) admit(ctx context.Context, by db.Caller, p person, name string) (Proven, error) {
	proven := Proven{AccountID: p.actor.ID, Method: identity.BySSO}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (Proven, audit.Event, error) {
		home, changed, err := identity.Settle(tx, p.actor.ID, name)
		if err != nil || !changed {
			return proven, audit.None("single sign-on found the account as it was"), err
		}
		return proven, audit.Event{Action: audit.UserEnabled, Actor: &p.actor, OrganizationID: home, ResourceID: p.actor.ID,
			Description: "The identity provider vouches for " + p.actor.Email}, nil
	})
}
