package identity

import (
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity/credential"
	"bursar/internal/token"
)

const (
	statusActive   = "active"
	statusInvited  = "invited"
	statusDisabled = "disabled"

	kindPerson = "person"
	kindClient = "client"
)

// provenToAll is the email_proof of an address that is verified for every organization.
const provenToAll = "*"

// opening describes the start of a session.
type opening struct {
	ttl    time.Duration
	method Method
	factor bool  // the person used a second factor
	began  int64 // when the person signed in, if not now
	ip     string
	agent  string
	secret string // secret of a browser's session
	noted  bool   // the last use of user and key was stored a moment ago
	client string // hash of the secret by which a machine client signs in
}

// noteInterval is the minimum interval between stored last uses of a key. Without it, many callers who use one key would wait for each
// other's row locks.
const noteInterval = time.Second

func loadSession(q db.Q, id string) (*sessionState, error) {
	var state sessionState
	var beganAt, revokedAt, keyEnd, keyRevokedAt int64
	var method, kind, status, scope string
	var factor, keyOneFactor bool
	a := &state.actor
	found, err := q.Row(`SELECT s.created_at, s.method, s.second_factor, s.expires_at, s.revoked_at, s.api_key_id, k.expires_at, k.revoked_at, k.one_factor,
			s.actor_type, s.scope, a.id, a.email, a.name, a.status, a.home_org_id
		FROM session s JOIN account a ON a.id = s.account_id LEFT JOIN api_key k ON k.id = s.api_key_id WHERE s.id = $1`, id).
		Scan(&beganAt, &method, &factor, &state.until, &revokedAt, &a.KeyID, &keyEnd, &keyRevokedAt, &keyOneFactor,
			&kind, &scope, &a.ID, &a.Email, &a.Name, &status, &a.HomeOrgID)
	if err == nil {
		a.Scope, err = audit.ParseScope(scope)
	}
	a.SessionID = id
	a.Type = audit.ActorType(kind)
	a.ByDevice = Method(method) == ByDevice
	if a.Type == audit.User && a.KeyID == "" {
		a.LoggedInAt, a.OneFactor = beganAt, !factor
	}
	a.OneFactor = a.OneFactor || keyOneFactor && a.Type != audit.Client
	if err == nil && a.OneFactor {
		var demands []string
		demands, err = access.DemandsOn(q, a.ID)
		a.NeedsFactor = len(demands) > 0
	}
	if keyEnd != 0 { // a rotation may have brought it forward
		state.until = min(state.until, keyEnd)
	}
	state.live = found && revokedAt == 0 && keyRevokedAt == 0 && status == statusActive
	return &state, err
}

func revokeSession(tx *db.Tx, id string) (ended bool, err error) {
	return tx.Row(`UPDATE session SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL RETURNING id`, id, tx.Now()).
		Scan(new(string))
}

type storedKey struct {
	id           string
	actor        audit.Actor
	status       string
	allowedCIDRs []string
	expiresAt    int64
	revoked      bool
	usedAt       int64
}

func findKey(q db.Q, hash string) (storedKey, error) {
	var k storedKey
	var cidrs, scope string
	var revokedAt int64
	a := &k.actor
	_, err := q.Row(`SELECT k.id, k.allowed_cidrs, k.expires_at, k.revoked_at, k.last_used_at, k.scope, a.id, a.email, a.name, a.status, a.home_org_id
		FROM api_key k JOIN account a ON a.id = k.account_id WHERE k.hash = $1`, hash).
		Scan(&k.id, &cidrs, &k.expiresAt, &revokedAt, &k.usedAt, &scope, &a.ID, &a.Email, &a.Name, &k.status, &a.HomeOrgID)
	if err == nil {
		a.Scope, err = audit.ParseScope(scope)
	}
	a.KeyID, a.Type = k.id, audit.APIKey
	k.allowedCIDRs = strings.Fields(cidrs)
	k.revoked = revokedAt != 0
	return k, err
}

// startSession stores a session of an actor. If the actor used a key, the session
// depends on it and expires no later than it. startSession returns an error if the
// user or the key was disabled since it was read, or a machine client got a new secret.
func startSession(tx *db.Tx, by audit.Actor, o opening) (token.Session, error) {
	now := tx.Now()
	s := token.Session{ID: tx.NewID("ses"), UserID: by.ID, CreatedAt: now, ExpiresAt: now + o.ttl.Milliseconds()}
	if o.began != 0 {
		s.CreatedAt = o.began
	}
	live, err := lockActiveUser(tx, by.ID, o.noted).Scan(new(string))
	if err == nil && live && o.client != "" { // the client may have got a new secret since this one was checked
		live, err = tx.Row(`SELECT id FROM account WHERE id = $1 AND secret_hash = $2`, by.ID, o.client).Scan(new(string))
	}
	if err == nil && live && by.KeyID != "" {
		var end int64
		live, err = useKey(tx, by.KeyID, o.noted).Scan(&end)
		if end != 0 {
			s.ExpiresAt = min(s.ExpiresAt, end)
		}
	}
	if err == nil && !live {
		err = errNotAuthenticated
	}
	if err != nil {
		return token.Session{}, err
	}
	var hash any
	if o.secret != "" {
		hash = credential.Hash(o.secret)
	}
	return s, tx.Exec(`INSERT INTO session (id, account_id, api_key_id, actor_type, created_at, expires_at,
			secret_hash, method, ip, agent, last_seen_at, second_factor, scope) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $12, $11, $13)`,
		s.ID, s.UserID, db.NullText(by.KeyID), string(by.Type), s.CreatedAt, s.ExpiresAt,
		hash, string(o.method), o.ip, shorten(o.agent, maxAgent), o.factor, now, by.Scope.String())
}

// lockActiveUser finds an active user and locks it, so that it cannot be disabled before the session is stored.
func lockActiveUser(tx *db.Tx, id string, noted bool) db.Row {
	if noted {
		return tx.Row(tx.ForShare(`SELECT id FROM account WHERE id = $1 AND status = 'active'`), id)
	}
	return tx.Row(`UPDATE account SET last_used_at = $2 WHERE id = $1 AND status = 'active' RETURNING id`, id, tx.Now())
}

// useKey does the same for a key, and returns its expiry.
func useKey(tx *db.Tx, id string, noted bool) db.Row {
	if noted {
		return tx.Row(tx.ForShare(`SELECT expires_at FROM api_key
			WHERE id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`), id, tx.Now())
	}
	return tx.Row(`UPDATE api_key SET last_used_at = $2
		WHERE id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2) RETURNING expires_at`, id, tx.Now())
}

type storedClient struct {
	actor      audit.Actor
	secretHash string
	status     string

	keyID        string // the key that the secret depends on
	keyEnd       int64  // 0 for never
	keyEnded     bool
	allowedCIDRs []string
}

// noHash has the length of a hash and equals none.
var noHash = strings.Repeat("-", 64)

func findClient(q db.Q, id string, now int64) (storedClient, error) {
	c := storedClient{secretHash: noHash}
	a := &c.actor
	var cidrs, scope, ofKey string
	var keyRevokedAt int64
	_, err := q.Row(`SELECT a.id, a.email, a.name, a.status, a.home_org_id, a.secret_hash, a.scope, k.scope, k.id, k.allowed_cidrs, k.expires_at, k.revoked_at
		FROM account a LEFT JOIN api_key k ON k.id = a.secret_key_id WHERE a.id = $1 AND a.kind = 'client'`, id).
		Scan(&a.ID, &a.Email, &a.Name, &c.status, &a.HomeOrgID, &c.secretHash, &scope, &ofKey, &c.keyID, &cidrs, &c.keyEnd, &keyRevokedAt)
	if err == nil {
		a.Scope, err = clientScope(scope, ofKey, c.keyID != "")
	}
	a.Type = audit.Client
	c.allowedCIDRs = strings.Fields(cidrs)
	c.keyEnded = keyRevokedAt != 0 || c.keyEnd != 0 && c.keyEnd <= now
	return c, err
}

// sessionMemory is how long a session is kept after it has expired.
const sessionMemory = 7 * 24 * time.Hour

// Expire deletes device codes, sessions, links and signing keys that are long expired.
func (s *Service) Expire(tx *db.Tx) error {
	now := tx.Now()
	if err := tx.Exec(`DELETE FROM device_code WHERE expires_at <= $1`, now-2*codeMemory.Milliseconds()); err != nil {
		return err
	}
	if err := tx.Exec(`DELETE FROM session WHERE expires_at <= $1`, now-sessionMemory.Milliseconds()); err != nil {
		return err
	}
	if err := tx.Exec(`DELETE FROM account_link WHERE expires_at <= $1`, now-sessionMemory.Milliseconds()); err != nil {
		return err
	}
	// A token expires at most one lifetime after its signing key was retired.
	longest := max(s.config.DeviceTTL, s.config.KeyTTL) + time.Hour
	return token.DeleteRetired(tx, now-longest.Milliseconds())
}

// SetPassword stores the hash of a user's password.
func SetPassword(tx *db.Tx, userID, hash string) error {
	return tx.Exec(`UPDATE account SET password_hash = $2, credential_version = credential_version + 1 WHERE id = $1`, userID, hash)
}

// RaiseCredentialVersion records that the sign-in methods of a user change. It ends sign-ins that are not complete, links to set up
// the user, and approved device logins whose session has not begun.
func RaiseCredentialVersion(tx *db.Tx, userID string) error {
	return tx.Exec(`UPDATE account SET credential_version = credential_version + 1 WHERE id = $1`, userID)
}

// ErrCredentialsChanged is the error for a sign-in during which the sign-in methods of the user changed.
var ErrCredentialsChanged = fault.New(api.CodeInvalidCredentials, "how you sign in has changed: sign in again")

// CredentialVersion returns the version of a user's sign-in methods.
func CredentialVersion(q db.Q, userID string) (version int64, err error) {
	_, err = q.Row(`SELECT credential_version FROM account WHERE id = $1`, userID).Scan(&version)
	return version, err
}

// lockVersion locks a user. It reports whether its sign-in methods are those of a version.
func lockVersion(tx *db.Tx, userID string, version int64) (same bool, err error) {
	return tx.Row(`UPDATE account SET name = name WHERE id = $1 AND credential_version = $2 RETURNING id`, userID, version).Scan(new(string))
}

// Rename changes the name of a user.
func Rename(tx *db.Tx, userID, name string) error {
	return tx.Exec(`UPDATE account SET name = $2 WHERE id = $1`, userID, name)
}

// ShowSecondFactor marks a session as one that has shown a second factor.
func ShowSecondFactor(tx *db.Tx, sessionID string) error {
	return tx.Exec(`UPDATE session SET second_factor = TRUE WHERE id = $1`, sessionID)
}
