package identity

import (
	"context"
	"sync/atomic"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity/credential"
	"bursar/internal/mail"
	"bursar/internal/token"
	"bursar/internal/web"
)

// Method is how a session began.
type Method string

const (
	ByAPIKey       Method = "api_key"
	ByClientSecret Method = "client"
	ByDevice       Method = "device"
	ByPassword     Method = "password"
	ByTwoFactors   Method = "password_totp"
	ByPasskey      Method = "passkey"
	BySSO          Method = "sso"
	ByLink         Method = "link"
)

const (
	webSecretPrefix = "bws_"
	browserPrefix   = "bwb_"
)

// WebSession is the session of a browser. Its secret is kept in a cookie.
type WebSession struct {
	Secret    string
	ExpiresAt int64
	Browser   string // the id of the browser for later sign-ins
}

// browser is the cached state of a browser's session.
type browser struct {
	state atomic.Pointer[sessionState]
	seen  atomic.Int64
}

// Browser is the person signed in at a browser.
type Browser struct{ Actor audit.Actor }

// WebSignIn is a person who has just signed in at a browser.
type WebSignIn struct {
	UserID       string
	Method       Method
	SecondFactor bool   // a second factor was used
	Version      int64  // of the user's sign-in methods when they were used
	Before       string // the secret of the browser's previous session
	Browser      string // the id of the browser from an earlier sign-in
}

// BeginWeb starts a browser's session for a person who has just signed in. It ends the browser's previous session, so that a cookie planted
// before the sign-in is worthless (session fixation).
func (s *Service) BeginWeb(ctx context.Context, by db.Caller, in WebSignIn) (WebSession, error) {
	if in.Before != "" {
		if old, err := s.Browser(ctx, in.Before, false); err == nil {
			old.Actor.RequestID, old.Actor.IP = by.RequestID, by.IP
			if _, err := s.Logout(ctx, db.Caller{Actor: old.Actor}, struct{}{}); err != nil {
				return WebSession{}, err
			}
		}
	}
	begun := WebSession{Secret: credential.New(webSecretPrefix), Browser: in.Browser}
	if !credential.WellFormed(browserPrefix, begun.Browser) {
		begun.Browser = credential.New(browserPrefix)
	}
	started, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (token.Session, audit.Event, error) {
		same, err := lockVersion(tx, in.UserID, in.Version)
		if err == nil && !same {
			err = ErrCredentialsChanged
		}
		if err != nil {
			return token.Session{}, audit.Event{}, err
		}
		actor, err := findActor(tx.Q, in.UserID, "")
		if err != nil {
			return token.Session{}, audit.Event{}, err
		}
		new, err := startSession(tx, actor, opening{ttl: s.config.WebTTL, method: in.Method, factor: in.SecondFactor,
			ip: by.IP, agent: by.Agent, secret: begun.Secret})
		var unknown bool // the browser is new to a person who has another
		if err == nil {
			unknown, err = knowBrowser(tx, in.UserID, begun.Browser)
		}
		if err == nil && unknown {
			err = s.config.Notices.Notify(tx, by, in.UserID, actor.Email, mail.NewBrowser, "")
		}
		return new, sessionEvent(new, actor, "Signed in to the console "+in.Method.words()), err
	})
	begun.ExpiresAt = started.ExpiresAt
	return begun, err
}

// maxBrowsers is the maximum number of known browsers of a person.
const maxBrowsers = 20

// knowBrowser records that a person uses a browser, and reports whether it is new. The first one is not new, because a first sign-in needs
// no notice. The caller must have locked the user.
func knowBrowser(tx *db.Tx, userID, id string) (unknown bool, err error) {
	// The hash differs for each person, so that the store does not reveal who shares a browser.
	hash := credential.Hash(userID + " " + id)
	known, err := tx.Row(`UPDATE known_browser SET seen_at = $3 WHERE account_id = $1 AND hash = $2 RETURNING hash`,
		userID, hash, tx.Now()).Scan(new(string))
	if err != nil || known {
		return false, err
	}
	unknown, err = tx.Row(`SELECT hash FROM known_browser WHERE account_id = $1 LIMIT 1`, userID).Scan(new(string))
	if err != nil {
		return false, err
	}
	if err := tx.Exec(`INSERT INTO known_browser (account_id, hash, seen_at) VALUES ($1, $2, $3)`, userID, hash, tx.Now()); err != nil {
		return false, err
	}
	return unknown, tx.Exec(`DELETE FROM known_browser WHERE account_id = $1 AND hash NOT IN (
		SELECT hash FROM known_browser WHERE account_id = $1 ORDER BY seen_at DESC, hash LIMIT $2)`, userID, maxBrowsers)
}

func (m Method) words() string {
	switch m {
	case ByAPIKey:
		return "with an API key"
	case ByClientSecret:
		return "with a client secret"
	case ByDevice:
		return "with a device code"
	case ByPassword:
		return "with a password"
	case ByTwoFactors:
		return "with a password and a second factor"
	case ByPasskey:
		return "with a passkey"
	case BySSO:
		return "with single sign-on"
	case ByLink:
		return "with a link"
	}
	return "with " + string(m)
}

// seenEvery is the minimum interval between stored last uses of a browser's session.
const seenEvery = time.Minute

// Browser returns the person signed in with the secret of a browser's session. used means that the person did something, which resets the
// idle timeout. A page that polls does not.
func (s *Service) Browser(ctx context.Context, secret string, used bool) (Browser, error) {
	if !credential.WellFormed(webSecretPrefix, secret) {
		return Browser{}, errNotAuthenticated
	}
	known, ok := s.browsers.GetIfPresent(secret)
	if !ok {
		known = &browser{}
	}
	state := known.state.Load()
	now := s.db.Now()
	if state == nil || state.actor.Epoch != s.db.Epoch() || s.idle(known, now) {
		var err error
		if state, err = s.loadBrowser(ctx, known, secret); err != nil {
			return Browser{}, err
		}
	}
	if !state.live || now >= state.until || s.idle(known, now) {
		return Browser{}, errNotAuthenticated
	}
	if !ok {
		s.browsers.Set(secret, known)
	}
	if seen := known.seen.Load(); used && now-seen >= seenEvery.Milliseconds() && known.seen.CompareAndSwap(seen, now) {
		if err := s.see(ctx, state.actor.SessionID, now); err != nil {
			return Browser{}, err
		}
	}
	return Browser{Actor: state.actor}, nil
}

func (s *Service) idle(b *browser, now int64) bool {
	return now-b.seen.Load() >= s.config.WebIdle.Milliseconds()
}

func (s *Service) loadBrowser(ctx context.Context, known *browser, secret string) (*sessionState, error) {
	epoch := s.db.Epoch()
	state := &sessionState{}
	err := s.db.Read(ctx, func(q db.Q) error {
		var id string
		var seen int64
		found, err := q.Row(`SELECT id, last_seen_at FROM session WHERE secret_hash = $1`, credential.Hash(secret)).Scan(&id, &seen)
		if err != nil || !found {
			return err
		}
		if state, err = loadSession(q, id); err != nil {
			return err
		}
		// Another node may have stored a later time.
		if last := known.seen.Load(); seen > last {
			known.seen.CompareAndSwap(last, seen)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	state.actor.Epoch = epoch
	known.state.Store(state)
	return state, nil
}

func (s *Service) see(ctx context.Context, sessionID string, now int64) error {
	by := db.SystemCaller()
	_, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("being seen is not an act"),
			tx.Exec(`UPDATE session SET last_seen_at = $2 WHERE id = $1`, sessionID, now)
	})
	return err
}

// SessionInfo is a session as shown to its owner.
type SessionInfo struct {
	ID         string
	Method     Method
	KeyName    string
	IP         string
	Agent      string
	CreatedAt  int64
	LastSeenAt int64 // of a browser's session
	ExpiresAt  int64
	Current    bool
}

// Sessions lists the live sessions of the caller, newest first. A machine starts a new one
// with every key exchange, so there may be many.
func (s *Service) Sessions(ctx context.Context, by db.Caller, in SessionsInput) (web.Page[SessionInfo], error) {
	window, err := s.cursors.Paged(in.PageParams, web.Descending, "sessions", by.ID)
	if err != nil {
		return web.Page[SessionInfo]{}, err
	}
	var list []SessionInfo
	now := s.db.Now()
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		list, err = db.Collect(q, func(r db.Rows) SessionInfo {
			info := SessionInfo{ID: r.Text(0), Method: Method(r.Text(1)), IP: r.Text(2), Agent: r.Text(3),
				CreatedAt: r.Int(4), ExpiresAt: r.Int(5), KeyName: r.Text(7), Current: r.Text(0) == by.SessionID}
			if !r.Null(8) {
				info.LastSeenAt = r.Int(6)
			}
			return info
		}, `SELECT s.ID, s.method, s.ip, s.agent, s.created_at, s.expires_at, s.last_seen_at, k.name, s.secret_hash
			FROM session s LEFT JOIN api_key k ON k.id = s.api_key_id
			WHERE s.account_id = $1 AND s.id < $4 AND s.revoked_at IS NULL AND s.expires_at > $2 AND (k.expires_at IS NULL OR k.expires_at > $2)
				AND (s.secret_hash IS NULL OR s.last_seen_at > $3)
			ORDER BY s.ID DESC LIMIT $5`, by.ID, now, now-s.config.WebIdle.Milliseconds(), window.After, window.Limit)
		return err
	})
	if err != nil {
		return web.Page[SessionInfo]{}, err
	}
	return web.NewPage(window, list, func(s SessionInfo) string { return s.ID }), nil
}

// EndSession ends a session of the caller.
func (s *Service) EndSession(ctx context.Context, by db.Caller, id string) (ended bool, err error) {
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (bool, audit.Event, error) {
		mine, err := tx.Row(`UPDATE session SET revoked_at = $3 WHERE id = $1 AND account_id = $2 AND revoked_at IS NULL RETURNING id`,
			id, by.ID, tx.Now()).Scan(new(string))
		if err == nil && !mine {
			err = fault.Missing("session")
		}
		return mine, audit.Event{Action: audit.SessionRevoked, ResourceID: id, Description: "Ended a session"}, err
	})
}

// EndOtherSessions ends all sessions of the caller except this one.
func (s *Service) EndOtherSessions(ctx context.Context, by db.Caller) error {
	_, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.Event{Action: audit.SessionRevoked, ResourceID: by.SessionID, Description: "Ended all other sessions"},
			RevokeSessions(tx, by.ID, by.SessionID)
	})
	return err
}

// RevokeSessions ends the sessions of a user, except for one. It also cancels approved device logins whose session has not begun.
func RevokeSessions(tx *db.Tx, userID, but string) error {
	if err := tx.Exec(`UPDATE device_code SET status = 'denied', finished_at = $2 WHERE account_id = $1 AND status = 'approved'`,
		userID, tx.Now()); err != nil {
		return err
	}
	return tx.Exec(`UPDATE session SET revoked_at = $3 WHERE account_id = $1 AND id <> $2 AND revoked_at IS NULL`, userID, but, tx.Now())
}
