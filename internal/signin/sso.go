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
	"golang.org/x/sync/singleflight"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/identity/credential"
)

// Provider is a company's identity provider, as an operator configures it.
type Provider struct {
	Issuer       string
	ClientID     string
	ClientSecret string
	Name         string // on the button
}

// providerTimeout is the time limit for a response of an identity provider.
const providerTimeout = 10 * time.Second

// CallbackPath is the path to which the provider redirects people.
const CallbackPath = "/signin/sso/callback"

// provider fetches the issuer's discovery document on first use, so that the server starts even if the provider is down.
type provider struct {
	Provider
	redirectURL string
	client      *http.Client

	asking singleflight.Group
	mu     sync.Mutex
	known  *discovered
	failed error // error of the last discovery
	until  int64 // no request before this time, in Unix milliseconds
	now    func() int64
}

// discovered is the issuer's discovery document.
type discovered struct {
	verifier *oidc.IDTokenVerifier
	oauth    *oauth2.Config
}

// failurePause is how long to wait before the next request to a provider that did not respond.
const failurePause = 5 * time.Second

func newProvider(c Config, now func() int64) *provider {
	if c.Provider.Issuer == "" {
		return nil
	}
	return &provider{Provider: c.Provider, redirectURL: c.PublicURL + CallbackPath, client: &http.Client{Timeout: providerTimeout}, now: now}
}

var errNoProvider = fault.New(api.CodeNotFound, "single sign-on is not set up here")

func (p *provider) discover(ctx context.Context) (*oauth2.Config, *oidc.IDTokenVerifier, error) {
	if p == nil {
		return nil, nil, errNoProvider
	}
	if known, err := p.remembered(); known != nil || err != nil {
		return known.parts(err)
	}
	// One goroutine sends the request. The others wait for it, each until its own context ends.
	answer := p.asking.DoChan("", func() (any, error) { return p.ask(context.WithoutCancel(ctx)) })
	select {
	case got := <-answer:
		known, _ := got.Val.(*discovered)
		return known.parts(got.Err)
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

func (d *discovered) parts(err error) (*oauth2.Config, *oidc.IDTokenVerifier, error) {
	if err != nil {
		return nil, nil, err
	}
	return d.oauth, d.verifier, nil
}

func (p *provider) remembered() (*discovered, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil && p.now() < p.until {
		return nil, p.failed
	}
	return p.known, nil
}

// ask fetches the discovery document. The library fetches the issuer's keys later with
// the same client, so it must not be bound to the context of the first request.
func (p *provider) ask(ctx context.Context) (*discovered, error) {
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.Issuer)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.failed, p.until = &unreachable{fmt.Errorf("ask the identity provider about itself: %w", err)}, p.now()+failurePause.Milliseconds()
		return nil, p.failed
	}
	p.known = &discovered{
		oauth: &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: found.Endpoint(),
			RedirectURL: p.redirectURL, Scopes: []string{oidc.ScopeOpenID, "email", "profile"}},
		verifier: found.Verifier(&oidc.Config{ClientID: p.ClientID}),
	}
	return p.known, nil
}

// unreachable is the error of a provider that does not respond. The reason is only in the log, for the operator.
type unreachable struct{ error }

func (u *unreachable) Unwrap() error { return u.error }

// Unreachable reports whether an error means that the identity provider did not respond.
func Unreachable(err error) bool {
	var u *unreachable
	return errors.As(err, &u)
}

// ProviderName returns the name of the identity provider, or "" if there is none.
func (s *Service) ProviderName() string {
	if s.provider == nil {
		return ""
	}
	return s.provider.Name
}

// SSOState is the state that is kept, sealed, until the provider redirects the browser back.
type SSOState struct {
	State    string
	Nonce    string
	Verifier string
	Since    int64 // if set, the person must have signed in at the provider after this time
}

// StartSSO returns where to send a browser that signs in at the provider. If again is set, the provider must ask the person to sign in
// again and not rely on its own session.
func (s *Service) StartSSO(ctx context.Context, again bool) (location string, state SSOState, err error) {
	oauth, _, err := s.provider.discover(ctx)
	if err != nil {
		return "", SSOState{}, err
	}
	state = SSOState{State: credential.NewCode(26), Nonce: credential.NewCode(26), Verifier: oauth2.GenerateVerifier()}
	options := []oauth2.AuthCodeOption{oidc.Nonce(state.Nonce), oauth2.S256ChallengeOption(state.Verifier)}
	if again {
		state.Since = s.db.Now()
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	return oauth.AuthCodeURL(state.State, options...), state, nil
}

var (
	errSSOFailed   = fault.New(api.CodeInvalidCredentials, "signing in at the identity provider failed")
	errSSOUnknown  = fault.New(api.CodeInvalidCredentials, "no account here has the email address that your identity provider sent: ask for an invitation")
	errUnverified  = fault.New(api.CodeInvalidCredentials, "your identity provider has not verified your email address")
	errNotAgain    = fault.New(api.CodeInvalidCredentials, "your identity provider did not ask you to sign in again: sign in another way to continue")
	errOtherPerson = fault.New(api.CodeInvalidCredentials, "your identity provider knew somebody else by your email address when they signed in here: ask whoever runs this server")
	errSSOTampered = fault.New(api.CodeInvalidCredentials, "this sign-in did not start in this browser, or took too long: try again")
)

// FinishSSO verifies the provider's response and finds the user. It is the user that the subject has signed in to before, or else the
// one with the verified email address. That user belongs to the subject from then on. FinishSSO completes a user that was only
// invited.
func (s *Service) FinishSSO(ctx context.Context, by db.Caller, state SSOState, query url.Values) (Proven, error) {
	oauth, verifier, err := s.provider.discover(ctx)
	if err != nil {
		return Proven{}, err
	}
	if state.State == "" || subtle.ConstantTimeCompare([]byte(state.State), []byte(query.Get("state"))) != 1 {
		return Proven{}, errSSOTampered
	}
	if err := s.attempt(ctx, by); err != nil {
		return Proven{}, err
	}
	claims, err := s.exchange(ctx, oauth, verifier, state, query)
	if err != nil {
		return Proven{}, s.failUnlessUnreachable(ctx, by, audit.Actor{}, err)
	}
	if claims.AuthTime*1000 < state.Since-clockSkew.Milliseconds() {
		return Proven{}, s.fail(ctx, by, audit.Actor{}, "the identity provider did not ask to sign in again", errNotAgain)
	}
	if claims.Email == "" || !claims.EmailVerified {
		return Proven{}, s.fail(ctx, by, audit.Actor{}, "the identity provider has not verified the email address", errUnverified)
	}
	p, err := s.bySubject(ctx, claims)
	if err != nil {
		return Proven{}, err
	}
	switch p.status {
	case "active", "invited":
		proven, err := s.admit(ctx, by, p, claims)
		if errors.Is(err, errOtherPerson) {
			return Proven{}, s.fail(ctx, by, p.actor, "the identity provider sent another subject with the email address", errOtherPerson)
		}
		return proven, err
	case "":
		return Proven{}, s.fail(ctx, by, p.actor, "the identity provider sent an address that no account has", errSSOUnknown)
	}
	return Proven{}, s.fail(ctx, by, p.actor, "the account is "+p.status, errSSOUnknown)
}

func (s *Service) failUnlessUnreachable(ctx context.Context, by db.Caller, who audit.Actor, err error) error {
	if Unreachable(err) {
		return err
	}
	text := err.Error()
	return s.fail(ctx, by, who, "the identity provider's answer was refused: "+text[:min(len(text), 300)], errSSOFailed)
}

// bySubject finds the user of the provider's subject.
func (s *Service) bySubject(ctx context.Context, c ssoClaims) (p person, err error) {
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		p, err = findPerson(q.Row(personColumns+`a.id = (SELECT account_id FROM sso_identity WHERE issuer = $1 AND subject = $2)`, c.issuer, c.subject))
		return err
	})
	if err != nil || p.status != "" {
		return p, err
	}
	return s.byEmail(ctx, c.Email)
}

// bind links a user to a subject of the provider, and reports whether the link is new. It fails if either is linked to another.
func (c ssoClaims) bind(tx *db.Tx, userID string) (first bool, err error) {
	first, err = tx.Row(`INSERT INTO sso_identity (issuer, subject, account_id, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT DO NOTHING RETURNING account_id`, c.issuer, c.subject, userID, tx.Now()).Scan(new(string))
	if err != nil || first {
		return first, err
	}
	var bound string
	_, err = tx.Row(`SELECT account_id FROM sso_identity WHERE issuer = $1 AND subject = $2`, c.issuer, c.subject).Scan(&bound)
	if err == nil && bound != userID {
		err = errOtherPerson
	}
	return false, err
}

type ssoClaims struct {
	issuer, subject string // of the ID token

	Email         string `json:"email"`
	EmailVerified truth  `json:"email_verified"`
	Name          string `json:"name"`
	AuthTime      int64  `json:"auth_time"`

	AuthorizedParty string `json:"azp"`
}

// issuedTo reports whether the provider issued the ID token to a client, as required by section 3.1.3.7 of OpenID Connect Core. A token for
// several audiences must name the client as the authorized party. Any authorized party must be that client.
func (c ssoClaims) issuedTo(clientID string, audience []string) bool {
	if c.AuthorizedParty == "" {
		return len(audience) == 1
	}
	return c.AuthorizedParty == clientID
}

// clockSkew is the tolerated difference between the clocks of two machines.
const clockSkew = time.Minute

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
		return claims, fmt.Errorf("the ID token is not good: %w", err)
	}
	if err := id.Claims(&claims); err != nil {
		return claims, errors.New("the ID token is malformed")
	}
	if !claims.issuedTo(oauth.ClientID, id.Audience) {
		return claims, errors.New("the ID token was issued to another client")
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(state.Nonce)) != 1 {
		return claims, errors.New("the nonce is another")
	}
	claims.issuer, claims.subject = id.Issuer, id.Subject
	if api.HasHidden(claims.Name) {
		claims.Name = ""
	}
	if claims.subject == "" {
		return claims, errors.New("the ID token has no subject")
	}
	return claims, nil
}

// admit signs in a person identified by the provider. If the provider has verified the address, admit records it as verified for every
// organization.
func (s *Service) admit(ctx context.Context, by db.Caller, p person, c ssoClaims) (Proven, error) {
	proven := Proven{UserID: p.actor.ID, Method: identity.BySSO, SecondFactor: true}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (Proven, audit.Event, error) {
		first, err := c.bind(tx, p.actor.ID)
		if err != nil {
			return Proven{}, audit.Event{}, err
		}
		var home, changed string
		var changes audit.Changes
		var ended []audit.Event
		if identity.NormalizeEmail(c.Email) == p.actor.Email { // it may have changed since the first sign-in
			home, changed, changes, ended, err = identity.VerifyEmail(tx, p.actor.ID, c.Name)
		}
		event := audit.Event{Action: audit.UserBound, Actor: &p.actor, OrganizationID: home, ResourceID: p.actor.ID}
		switch {
		case changed != "":
			p.actor.HomeOrgID = home // not the home of a person who completed the user before
			event.Action, event.Changes = audit.UserEnabled, changes
			event.Description = "The identity provider confirmed " + p.actor.Email + ": " + changed
		case first:
			event.Description = p.actor.Email + " signed in at the identity provider for the first time"
		default:
			event = audit.None("single sign-on found the account as it was")
		}
		if err == nil {
			proven.Version, err = identity.CredentialVersion(tx.Q, p.actor.ID)
		}
		return proven, event.And(ended...), err
	})
}
