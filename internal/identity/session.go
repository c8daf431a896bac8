package identity

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"net/netip"
	"strings"
	"sync/atomic"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/budget"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity/credential"
	"bursar/internal/limit"
	"bursar/internal/token"
)

// verified is a token whose signature has been verified. Its session is checked again
// whenever the epoch of the store changes.
type verified struct {
	session   string
	key       string // that signed it
	expiresAt int64
	state     atomic.Pointer[sessionState]
}

type sessionState struct {
	live  bool
	until int64
	actor audit.Actor
}

var errNotAuthenticated = fault.New(api.CodeUnauthorized, "not authenticated: send a valid session token as Authorization: Bearer")

// Authenticate returns the holder of a session token. A token with an unknown signing key causes a read of the store. admit limits how
// often a stranger may cause that.
func (s *Service) Authenticate(ctx context.Context, authorization string, admit func() error) (audit.Actor, error) {
	scheme, token, _ := strings.Cut(authorization, " ")
	switch {
	case authorization == "":
		return audit.Actor{}, errNotAuthenticated
	case !strings.EqualFold(scheme, "Bearer"):
		return audit.Actor{}, fault.New(api.CodeUnauthorized, "this endpoint takes a session token as Authorization: Bearer")
	case strings.HasPrefix(token, apiKeyPrefix):
		return audit.Actor{}, fault.New(api.CodeUnauthorized, "this is an API key: exchange it for a session token with POST /v1/auth/token")
	}
	known, ok := s.verified.GetIfPresent(token)
	if !ok {
		c, good, err := s.tokens.Verify(ctx, token, admit)
		if err != nil {
			return audit.Actor{}, err
		}
		if !good {
			return audit.Actor{}, errNotAuthenticated
		}
		known = &verified{session: c.Session, key: c.Key, expiresAt: c.ExpiresAt.UnixMilli()}
		s.verified.Set(token, known)
	}
	now := s.db.Now()
	state, err := s.stateOf(ctx, known)
	if err != nil {
		return audit.Actor{}, err
	}
	if !state.live || now >= known.expiresAt || now >= state.until {
		return audit.Actor{}, errNotAuthenticated
	}
	return state.actor, nil
}

func (s *Service) stateOf(ctx context.Context, known *verified) (*sessionState, error) {
	epoch := s.db.Epoch()
	if state := known.state.Load(); state != nil && state.actor.Epoch == epoch {
		return state, nil
	}
	var state *sessionState
	err := s.db.Read(ctx, func(q db.Q) (err error) {
		state, err = loadSession(q, known.session)
		return err
	})
	if err != nil {
		return nil, err
	}
	trusted, err := s.tokens.Has(ctx, known.key)
	if err != nil {
		return nil, err
	}
	state.live = state.live && trusted
	state.actor.Epoch = epoch
	known.state.Store(state)
	return state, nil
}

// RequireSession returns an error if the caller's session has ended since it was authenticated, or the secret of a machine client that
// sends it with each request. Every operation that creates a credential calls it in its transaction, with the user locked. Otherwise a
// concurrent request could leave a credential that a password change or a reset does not revoke.
func RequireSession(tx *db.Tx, by db.Caller) error {
	// The locks keep the session or the secret from ending on another node before the transaction does.
	lock := func(sql, id string) error {
		_, err := tx.Row(tx.ForShare(sql), id).Scan(new(string))
		return err
	}
	var err error
	switch {
	case by.SessionID != "":
		err = lock(`SELECT id FROM session WHERE id = $1`, by.SessionID)
	case by.SecretHash != "":
		if err = lock(`SELECT id FROM account WHERE id = $1`, by.ID); err == nil && by.KeyID != "" {
			err = lock(`SELECT id FROM api_key WHERE id = $1`, by.KeyID)
		}
	}
	if err != nil {
		return err
	}
	return RequireAuthentic(tx.Q, by.Actor, tx.Now())
}

// RequireAuthentic is RequireSession for a request that has to wait before its transaction. It locks nothing.
func RequireAuthentic(q db.Q, by audit.Actor, now int64) error {
	live := true
	switch {
	case by.SecretHash != "":
		c, err := findClient(q, by.ID, now)
		if err != nil {
			return err
		}
		live = c.secretHash == by.SecretHash && c.status == statusActive && !c.keyEnded
	case by.SessionID != "": // otherwise the caller is an operator
		state, err := loadSession(q, by.SessionID)
		if err != nil {
			return err
		}
		live = state.live && now < state.until
	}
	if !live {
		return errNotAuthenticated
	}
	return nil
}

// RequireCredential returns an error if an actor's credential was revoked, or they were disabled, since they authenticated. A session
// that has only expired is accepted, for work that continues after its request.
func RequireCredential(q db.Q, by audit.Actor) error {
	state, err := loadSession(q, by.SessionID)
	if err == nil && !state.live {
		err = fault.New(api.CodeUnauthorized, "the session or the API key that was used has been revoked, or the account disabled")
	}
	return err
}

// Exchange exchanges an API key, or a client's id and secret, for a session token.
func (s *Service) Exchange(ctx context.Context, by db.Caller, in ExchangeInput) (api.Session, error) {
	who, err := s.try(ctx, by, in.Authorization)
	if err != nil {
		return api.Session{}, err
	}
	if in.Agent != nil {
		who.agent = *in.Agent
	}
	return s.begin(ctx, by, who)
}

// try checks a credential that is not a session token. It limits guesses by address, and records what it refuses. While the budget of
// records is used up, a guess counts only against the rate of requests, because it is not stored.
func (s *Service) try(ctx context.Context, by db.Caller, authorization string) (login, error) {
	attempt := []budget.Use{failedLogins.Of(limit.Address(by.IP)), failuresOfNetwork.Of(limit.Network(by.IP))}
	if err := s.budgets.Check(ctx, attempt...); err != nil {
		return login{}, err
	}
	who, err := s.credential(ctx, by, authorization)
	if err != nil {
		return login{}, err
	}
	if who.refused != nil {
		event := audit.Event{
			Action:      audit.LoginFailed,
			Outcome:     audit.Failure,
			Actor:       &who.actor,
			ResourceID:  who.actor.KeyID,
			Description: "Login failed: " + who.why,
		}
		if err := s.failures.Record(ctx, by, event, attempt...); err != nil {
			return login{}, err
		}
		return login{}, who.refused
	}
	return who, nil
}

// login is the result of checking a credential.
type login struct {
	actor   audit.Actor
	refused error
	why     string // reason for the audit row
	agent   string
	noted   bool     // the last use of the key was stored
	secret  string   // for a client: the hash of its secret
	until   int64    // and when the key ends that the secret depends on; 0 for never
	from    []string // and the networks of that key
}

func (s *Service) credential(ctx context.Context, by db.Caller, authorization string) (login, error) {
	scheme, value, _ := strings.Cut(authorization, " ")
	switch {
	case strings.EqualFold(scheme, "Bearer"):
		return s.apiKeyLogin(ctx, by, value)
	case strings.EqualFold(scheme, "Basic"):
		return s.clientLogin(ctx, by, value)
	}
	return login{}, fault.New(api.CodeUnauthorized, "send an API key as Authorization: Bearer, or a client id and secret as Authorization: Basic")
}

func (s *Service) apiKeyLogin(ctx context.Context, by db.Caller, secret string) (login, error) {
	refused := login{
		actor:   audit.Actor{Type: audit.APIKey},
		refused: fault.New(api.CodeUnauthorized, "invalid API key"),
		why:     "unknown API key",
	}
	if !credential.WellFormed(apiKeyPrefix, secret) {
		return refused, nil
	}
	var key storedKey
	err := s.db.Read(ctx, func(q db.Q) (err error) {
		key, err = findKey(q, credential.Hash(secret))
		return err
	})
	if err != nil || key.id == "" {
		return refused, err
	}
	refused.actor = key.actor
	switch {
	case key.revoked:
		refused.why = "revoked API key"
	case key.expiresAt != 0 && key.expiresAt <= s.db.Now():
		refused.why = "expired API key"
	case key.status != statusActive:
		refused.why = "the account is " + key.status
	case !allowedFrom(key.allowedCIDRs, by.IP):
		refused.why = "address is not allowed for this API key"
	default:
		now := s.db.Now()
		return login{actor: key.actor, noted: key.usedAt <= now && key.usedAt > now-noteInterval.Milliseconds()}, nil
	}
	return refused, nil
}

func allowedFrom(cidrs []string, ip string) bool {
	if len(cidrs) == 0 {
		return true
	}
	address, err := netip.ParseAddr(ip)
	if err != nil {
		return false
	}
	for _, text := range cidrs {
		if network, err := netip.ParsePrefix(text); err == nil && network.Contains(address.Unmap()) {
			return true
		}
	}
	return false
}

func (s *Service) clientLogin(ctx context.Context, by db.Caller, encoded string) (login, error) {
	pair, err := base64.StdEncoding.DecodeString(encoded)
	id, secret, ok := strings.Cut(string(pair), ":")
	if err != nil || !ok || id == "" || strings.ContainsFunc(string(pair), notPrintable) {
		return login{}, fault.New(api.CodeUnauthorized, "the Authorization: Basic header is malformed")
	}
	var client storedClient
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		client, err = findClient(q, id, s.db.Now())
		return err
	})
	if err != nil {
		return login{}, err
	}
	// Compare even for an unknown client, so that the time does not reveal whether it exists.
	match := subtle.ConstantTimeCompare([]byte(client.secretHash), []byte(credential.Hash(secret))) == 1
	refused := login{
		actor:   client.actor,
		refused: fault.New(api.CodeInvalidCredentials, "the client id or the client secret is incorrect"),
		why:     "wrong client id or secret",
	}
	refused.actor.Type = audit.Client
	switch {
	case !match:
	case client.status != statusActive:
		refused.why = "the client is " + client.status
	case client.keyEnded:
		refused.why = "the API key that the client secret was made with has ended"
	case !allowedFrom(client.allowedCIDRs, by.IP):
		refused.why = "address is not allowed for the API key that the client secret was made with"
	default:
		client.actor.KeyID = client.keyID
		return login{actor: client.actor, secret: client.secretHash, until: client.keyEnd, from: client.allowedCIDRs}, nil
	}
	return refused, nil
}

func notPrintable(r rune) bool { return r < ' ' || r > '~' }

// begin starts a session for a valid credential.
func (s *Service) begin(ctx context.Context, by db.Caller, who login) (api.Session, error) {
	started, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (token.Session, audit.Event, error) {
		method := Method(who.actor.Type)
		new, err := startSession(tx, who.actor, opening{ttl: s.config.KeyTTL, method: method, ip: by.IP, agent: who.agent, noted: who.noted, client: who.secret})
		return new, sessionEvent(new, who.actor, "Signed in "+method.words()), err
	})
	if err != nil {
		return api.Session{}, err
	}
	token, err := s.tokens.Sign(ctx, started)
	return api.Session{Token: token, UserID: started.UserID, ExpiresAt: started.ExpiresAt}, err
}

func sessionEvent(s token.Session, actor audit.Actor, description string) audit.Event {
	return audit.Event{
		Action:      audit.SessionCreated,
		Actor:       &actor,
		ResourceID:  s.ID,
		Description: description,
	}
}

// Me returns the caller, and the scope of a credential that is limited or does not administer.
func (s *Service) Me(_ context.Context, by db.Caller, _ struct{}) (api.Me, error) {
	me := api.Me{User: api.User{ID: by.ID, Email: by.Email, Name: by.Name}}
	if scope := scopeOf(by.Actor); scope.Limited() || !scope.Administer {
		me.Scope = new(scopeWire(scope))
	}
	return me, nil
}

// Logout ends the session of the caller.
func (s *Service) Logout(ctx context.Context, by db.Caller, _ struct{}) (api.Logout, error) {
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Logout, audit.Event, error) {
		event := audit.Event{Action: audit.SessionRevoked, ResourceID: by.SessionID, Description: "Signed out"}
		ended, err := revokeSession(tx, by.SessionID)
		if err == nil && !ended {
			event = audit.None("the session was ended a moment ago")
		}
		return api.Logout{SessionID: by.SessionID, Revoked: true}, event, err
	})
}

// EndAll ends all sessions, and all device logins, in a restored store. Some of them had ended after the archive was taken. It returns the
// number of ended sessions.
func EndAll(tx *db.Tx) (ended int64, err error) {
	if _, err := tx.Row(`SELECT count(*) FROM session WHERE revoked_at IS NULL AND expires_at > $1`, tx.Now()).Scan(&ended); err != nil {
		return 0, err
	}
	if err := tx.Exec(`UPDATE session SET revoked_at = $1 WHERE revoked_at IS NULL`, tx.Now()); err != nil {
		return 0, err
	}
	return ended, tx.Exec(`DELETE FROM device_code`)
}
