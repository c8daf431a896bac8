package signin

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/budget"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/mail"
	"bursar/internal/web"
)

// maxPasskeys is the maximum number of passkeys of a user.
const maxPasskeys = 20

// Ceremony is a WebAuthn ceremony. Options are sent to the browser. State is kept, sealed, until the browser responds.
type Ceremony struct {
	Options []byte // JSON, for the browser
	State   []byte // JSON, for this server
}

// owner adapts a user to the WebAuthn library.
type owner struct {
	id, email, name string
	keys            []webauthn.Credential
}

func (o owner) WebAuthnID() []byte                         { return []byte(o.id) }
func (o owner) WebAuthnName() string                       { return o.email }
func (o owner) WebAuthnDisplayName() string                { return o.name }
func (o owner) WebAuthnCredentials() []webauthn.Credential { return o.keys }

func (s *Service) available() error {
	if s.passkeys == nil {
		return fault.New(api.CodeNotFound, "passkeys need a host name, and this server is reached by an IP address")
	}
	return nil
}

func credentialID(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// keysOf returns the passkeys of a user.
func keysOf(q db.Q, userID string) ([]webauthn.Credential, error) {
	var keys []webauthn.Credential
	err := q.Each(func(r db.Rows) error {
		var key webauthn.Credential
		if err := json.Unmarshal(r.Raw(0), &key); err != nil {
			return fmt.Errorf("read a stored passkey: %w", err)
		}
		keys = append(keys, key)
		return nil
	}, `SELECT credential FROM passkey WHERE account_id = $1 ORDER BY id`, userID)
	return keys, err
}

// AskPasskey starts a sign-in with a passkey.
func (s *Service) AskPasskey(by db.Caller) (Ceremony, error) {
	if err := s.available(); err != nil {
		return Ceremony{}, err
	}
	options, state, err := s.passkeys.BeginDiscoverableLogin()
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin a sign-in by passkey: %w", err)
	}
	return ceremony(options, state)
}

func ceremony(options any, state *webauthn.SessionData) (Ceremony, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return Ceremony{}, fmt.Errorf("encode what a browser is asked for: %w", err)
	}
	kept, err := json.Marshal(state)
	if err != nil {
		return Ceremony{}, fmt.Errorf("encode what is kept of a ceremony: %w", err)
	}
	return Ceremony{Options: text, State: kept}, nil
}

// begun decodes the state of a ceremony.
func begun(state []byte) (webauthn.SessionData, error) {
	var data webauthn.SessionData
	if err := json.Unmarshal(state, &data); err != nil {
		return data, fmt.Errorf("read what was kept of a ceremony: %w", err)
	}
	return data, nil
}

var errWrongPasskey = fault.New(api.CodeInvalidCredentials, "this passkey is not registered here")

// Passkey verifies a browser's response to AskPasskey. A passkey counts as two factors: the device, and the person whom the device has
// verified.
func (s *Service) Passkey(ctx context.Context, by db.Caller, state, answer []byte) (Proven, error) {
	if err := s.available(); err != nil {
		return Proven{}, err
	}
	if err := s.attempt(ctx, by); err != nil {
		return Proven{}, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return Proven{}, fault.Invalid("credential", "is malformed")
	}
	session, err := begun(state)
	if err != nil {
		return Proven{}, err
	}
	var p person
	var failed error // the library would report a store failure as a refusal
	_, key, err := s.passkeys.ValidatePasskeyLogin(func(rawID, handle []byte) (webauthn.User, error) {
		o, err := s.ownerOf(ctx, rawID, handle, &p)
		if err != nil && !errors.Is(err, errWrongPasskey) {
			failed = err
		}
		return o, err
	}, session, parsed)
	var refused *protocol.Error
	switch {
	case failed != nil:
		return Proven{}, failed
	case errors.As(err, &refused) || errors.Is(err, errWrongPasskey):
		return Proven{}, s.fail(ctx, by, p.actor, "passkey refused", errWrongPasskey)
	case err != nil:
		return Proven{}, err
	case p.status != "active":
		return Proven{}, s.fail(ctx, by, p.actor, "the account is "+p.status, errWrongPasskey)
	case key.Authenticator.CloneWarning:
		return Proven{}, s.fail(ctx, by, p.actor, "the passkey may have been copied", errWrongPasskey)
	}
	err = s.notePasskey(ctx, by, session.Challenge, key)
	if errors.Is(err, errAnswered) {
		return Proven{}, s.fail(ctx, by, p.actor, "the passkey's answer was sent before", errAnswered)
	}
	return Proven{UserID: p.actor.ID, Method: identity.ByPasskey, SecondFactor: true, Version: p.version}, err
}

// errAnswered is the error for a response that was used before, by the browser or by someone who intercepted it.
var errAnswered = fault.New(api.CodeInvalidCredentials, "this passkey's answer was used already: try again")

// challengeMemory is how long used challenges are stored. The state of a ceremony is valid for a much shorter time.
const challengeMemory = time.Hour

// useUp marks a challenge as used on all nodes. It fails if the challenge was used before.
func useUp(tx *db.Tx, challenge string) error {
	first, err := budget.Once(tx, "passkey challenge", challenge, challengeMemory)
	if err == nil && !first {
		err = errAnswered
	}
	return err
}

func (s *Service) ownerOf(ctx context.Context, rawID, handle []byte, p *person) (webauthn.User, error) {
	var o owner
	err := s.db.Read(ctx, func(q db.Q) error {
		found, err := q.Row(`SELECT account_id FROM passkey WHERE credential_id = $1 AND account_id = $2`, credentialID(rawID), string(handle)).Scan(&o.id)
		if err != nil || !found {
			if err == nil {
				err = errWrongPasskey
			}
			return err
		}
		if *p, err = findPerson(q.Row(personColumns+`a.id = $1`, o.id)); err != nil {
			return err
		}
		o.keys, err = keysOf(q, o.id)
		return err
	})
	return o, err
}

// notePasskey uses up a challenge, and stores the signature counter and the last use of the passkey.
func (s *Service) notePasskey(ctx context.Context, by db.Caller, challenge string, key *webauthn.Credential) error {
	text, err := json.Marshal(key)
	if err != nil {
		return fmt.Errorf("encode a passkey: %w", err)
	}
	_, err = db.Write(ctx, s.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		exempt := audit.None("the sign-in that follows is recorded")
		if err := useUp(tx, challenge); err != nil {
			return struct{}{}, exempt, err
		}
		return struct{}{}, exempt,
			tx.Exec(`UPDATE passkey SET credential = $2, last_used_at = $3 WHERE credential_id = $1`, credentialID(key.ID), string(text), tx.Now())
	})
	return err
}

// OfferPasskey starts the registration of a passkey for the caller.
func (s *Service) OfferPasskey(ctx context.Context, by db.Caller) (Ceremony, error) {
	return s.offer(ctx, owner{id: by.ID, email: by.Email, name: by.Name})
}

// A sign-in with a passkey needs no code, so a link alone must not register one for a user that has a second factor.
var errCodeFirst = fault.New(api.CodeValidation, "this account has two-step sign-in: choose a password, sign in with it and your code, then add a passkey")

// OfferLinkPasskey starts the registration of the passkey with which a link sets up a user.
func (s *Service) OfferLinkPasskey(ctx context.Context, link string) (Ceremony, error) {
	opened, err := s.opened(ctx, link)
	if err == nil && opened.SecondFactor {
		err = errCodeFirst
	}
	if err != nil {
		return Ceremony{}, err
	}
	return s.offer(ctx, owner{id: opened.UserID, email: opened.Email, name: cmp.Or(opened.Name, opened.Email)})
}

func (s *Service) offer(ctx context.Context, o owner) (Ceremony, error) {
	if err := s.available(); err != nil {
		return Ceremony{}, err
	}
	err := s.db.Read(ctx, func(q db.Q) (err error) {
		o.keys, err = keysOf(q, o.id)
		return err
	})
	if err != nil {
		return Ceremony{}, err
	}
	options, state, err := s.passkeys.BeginRegistration(o, webauthn.WithExclusions(webauthn.Credentials(o.keys).CredentialDescriptors()))
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin to make a passkey: %w", err)
	}
	return ceremony(options, state)
}

// newPasskey is a passkey to store, with the challenge that it answered.
type newPasskey struct{ credentialID, credential, challenge string }

// made verifies a browser's response to a registration and returns the passkey.
func (s *Service) made(o owner, state, answer []byte) (newPasskey, error) {
	if err := s.available(); err != nil {
		return newPasskey{}, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return newPasskey{}, fault.Invalid("credential", "is malformed")
	}
	session, err := begun(state)
	if err != nil {
		return newPasskey{}, err
	}
	key, err := s.passkeys.CreateCredential(o, session, parsed)
	if err != nil {
		return newPasskey{}, fault.Invalid("credential", "was refused: try again")
	}
	text, err := json.Marshal(key)
	if err != nil {
		return newPasskey{}, fmt.Errorf("encode a passkey: %w", err)
	}
	return newPasskey{credentialID(key.ID), string(text), session.Challenge}, nil
}

// AddPasskey stores a passkey that the caller's browser has registered.
func (s *Service) AddPasskey(ctx context.Context, by db.Caller, name string, state, answer []byte) error {
	var v fault.Violations
	web.CheckText(&v, "name", name, 1, 100)
	if err := v.Err(); err != nil {
		return err
	}
	key, err := s.made(owner{id: by.ID}, state, answer)
	if err != nil {
		return err
	}
	_, err = db.Write(ctx, s.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		if err := s.lockForFactor(tx, by); err != nil {
			return struct{}{}, audit.Event{}, err
		}
		id, err := insertPasskey(tx, by.ID, name, key)
		return struct{}{}, audit.Event{Action: audit.PasskeyAdded, ResourceID: id, Description: "Added passkey " + name}, s.notify(tx, by, err, mail.PasskeyAdded, name)
	})
	if db.IsUnique(err) {
		return fault.Invalid("credential", "is a passkey that is already registered")
	}
	return err
}

func insertPasskey(tx *db.Tx, userID, name string, key newPasskey) (id string, err error) {
	if err := useUp(tx, key.challenge); err != nil {
		return "", err
	}
	if err := lockPerson(tx, userID); err != nil {
		return "", err
	}
	var n int
	if _, err := tx.Row(`SELECT count(*) FROM passkey WHERE account_id = $1`, userID).Scan(&n); err != nil {
		return "", err
	}
	if n >= maxPasskeys {
		return "", fault.New(api.CodeTooMany, "you have %d passkeys already, which is the limit: remove one first", maxPasskeys)
	}
	if err := identity.RaiseCredentialVersion(tx, userID); err != nil {
		return "", err
	}
	id = tx.NewID("psk")
	return id, tx.Exec(`INSERT INTO passkey (id, account_id, credential_id, name, credential, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		id, userID, key.credentialID, name, key.credential, tx.Now())
}

// RedeemWithPasskey uses up a link and sets up the user with a name and a passkey.
func (s *Service) RedeemWithPasskey(ctx context.Context, by db.Caller, link, name string, state, answer []byte) (Proven, error) {
	opened, err := s.setUp(ctx, link, name, func(*fault.Violations, string) {})
	if err != nil {
		return Proven{}, err
	}
	key, err := s.made(owner{id: opened.UserID}, state, answer)
	if err != nil {
		return Proven{}, err
	}
	proven, err := s.redeem(ctx, by, link, name, opened, mail.PasskeyAdded, func(tx *db.Tx, needsCode bool) error {
		if needsCode {
			return errCodeFirst
		}
		_, err := insertPasskey(tx, opened.UserID, "First passkey", key)
		return err
	})
	proven.SecondFactor = true
	return proven, err
}

// RemovePasskey removes a passkey of the caller, unless it is the only way to sign in.
func (s *Service) RemovePasskey(ctx context.Context, by db.Caller, id string) error {
	_, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		event := audit.Event{Action: audit.PasskeyRemoved, ResourceID: id}
		if err := lockCaller(tx, by); err != nil {
			return struct{}{}, event, err
		}
		var name string
		mine, err := tx.Row(`DELETE FROM passkey WHERE id = $1 AND account_id = $2 RETURNING name`, id, by.ID).Scan(&name)
		if err == nil && !mine {
			err = fault.Missing("passkey")
		}
		if err != nil {
			return struct{}{}, event, err
		}
		event.Description = "Removed passkey " + name
		other, err := tx.Row(`SELECT a.id FROM account a WHERE a.id = $1 AND (a.password_hash IS NOT NULL OR
			EXISTS (SELECT 1 FROM passkey p WHERE p.account_id = a.id))`, by.ID).Scan(new(string))
		if err == nil && !other && s.provider == nil {
			err = fault.New(api.CodeLastWayIn, "this is your only way to sign in: add another one first")
		}
		if err == nil {
			err = s.keepsFactor(tx.Q, by.ID)
		}
		if err == nil {
			err = identity.RaiseCredentialVersion(tx, by.ID)
		}
		return struct{}{}, event, s.notify(tx, by, err, mail.PasskeyRemoved, name)
	})
	return err
}
