package signin

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/mail"
)

// Argon2id parameters recommended by OWASP: 19 MiB, two passes, one lane.
const (
	argonMemory = 19 * 1024 // KiB
	argonPasses = 2
	argonLanes  = 1
	argonSalt   = 16
	argonKey    = 32

	minPassword = 12
	maxPassword = 200
	maxTyped    = 16 << 10 // bytes, before normalization
)

// hasher hashes passwords. Each hash takes 19 MiB and some tens of milliseconds, so only a few are computed at once. The fair queue keeps a
// flood from one network from blocking others.
type hasher struct {
	queue  *fairQueue
	memory uint32
	prefix string // start of every stored hash: the algorithm and its parameters
}

func newHasher(atOnce int, memory uint32) *hasher {
	memory = cmp.Or(memory, argonMemory)
	return &hasher{newFairQueue(atOnce), memory, fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=%d$", memory, argonPasses, argonLanes)}
}

func (h *hasher) key(ctx context.Context, ip, password string, salt []byte) ([]byte, error) {
	if err := h.queue.wait(ctx, ip); err != nil {
		return nil, err
	}
	defer h.queue.end()
	return argon2.IDKey([]byte(password), salt, argonPasses, h.memory, argonLanes, argonKey), nil
}

// normal returns a password in the Unicode form in which it is compared, so that the
// same text matches on every keyboard. It refuses one that is too long.
func normal(password string) (text string, ok bool) {
	if len(password) > maxTyped {
		return "", false
	}
	text = norm.NFKC.String(password)
	return text, utf8.RuneCountInString(text) <= maxPassword
}

func (h *hasher) hash(ctx context.Context, ip, password string) (string, error) {
	password, _ = normal(password)
	salt := make([]byte, argonSalt)
	rand.Read(salt)
	key, err := h.key(ctx, ip, password, salt)
	if err != nil {
		return "", err
	}
	return h.prefix + base64.RawStdEncoding.EncodeToString(salt) + "$" + base64.RawStdEncoding.EncodeToString(key), nil
}

// matches compares a password with the stored hash. Without a hash it does the same work and returns false, so that the time does not
// reveal whether the user exists.
func (h *hasher) matches(ctx context.Context, ip, password, stored string) (bool, error) {
	salt, want := make([]byte, argonSalt), make([]byte, argonKey)
	known := stored != ""
	if known {
		rest, ok := strings.CutPrefix(stored, h.prefix)
		saltText, keyText, cut := strings.Cut(rest, "$")
		var err, bad error
		salt, err = base64.RawStdEncoding.DecodeString(saltText)
		want, bad = base64.RawStdEncoding.DecodeString(keyText)
		if !ok || !cut || err != nil || bad != nil || len(want) != argonKey {
			return false, fmt.Errorf("read a stored password: it is malformed")
		}
	}
	password, fits := normal(password)
	known = known && fits
	got, err := h.key(ctx, ip, password, salt)
	return known && subtle.ConstantTimeCompare(got, want) == 1, err
}

// checkPassword validates a new password. It must be long and not among the passwords that attackers try first. There are no other rules.
func checkPassword(v *fault.Violations, password, email string) {
	password, fits := normal(password)
	switch n := utf8.RuneCountInString(password); {
	case !fits:
		v.Add("password", fmt.Sprintf("must have at most %d characters", maxPassword))
	case !utf8.ValidString(password) || strings.ContainsRune(password, 0):
		v.Add("password", "must be valid text")
	case n < minPassword:
		v.Add("password", fmt.Sprintf("use at least %d characters", minPassword))
	case isCommon(password, email):
		v.Add("password", "is too common: choose another")
	}
}

var errWrongPair = fault.New(api.CodeInvalidCredentials, "the email address or the password is incorrect")

// Password checks an email address and a password. It does the same work and returns
// the same error whether or not the user exists.
func (s *Service) Password(ctx context.Context, by db.Caller, email, password string) (Proven, error) {
	if err := s.attempt(ctx, by, passwords.Of(identity.NormalizeEmail(email))); err != nil {
		return Proven{}, err
	}
	p, err := s.byEmail(ctx, email)
	if err != nil {
		return Proven{}, err
	}
	match, err := s.hasher.matches(ctx, by.IP, password, p.passwordHash)
	if err != nil {
		return Proven{}, err
	}
	if !match || p.status != "active" {
		why := "wrong password"
		if match {
			why = "the account is " + p.status
		}
		return Proven{}, s.fail(ctx, by, p.actor, why, errWrongPair)
	}
	return Proven{UserID: p.actor.ID, Method: identity.ByPassword, NeedsCode: p.hasTOTP, Version: p.version}, nil
}

// ChangePassword sets the caller's password. The caller must give the present one, if there is one. All other sessions end. API keys end
// unless keepKeys is set.
func (s *Service) ChangePassword(ctx context.Context, by db.Caller, current, next string, keepKeys bool) error {
	p, err := s.byID(ctx, by.ID)
	if err != nil {
		return err
	}
	var v fault.Violations
	checkPassword(&v, next, p.actor.Email)
	if err := v.Err(); err != nil {
		return err
	}
	if p.passwordHash != "" {
		if err := s.attempt(ctx, by, passwords.Of(p.actor.Email)); err != nil {
			return err
		}
		match, err := s.hasher.matches(ctx, by.IP, current, p.passwordHash)
		if err != nil {
			return err
		}
		if !match {
			return s.fail(ctx, by, p.actor, "wrong password when changing it", fault.Invalid("current", "is incorrect").(*fault.Fault))
		}
	}
	hash, err := s.hasher.hash(ctx, by.IP, next)
	if err != nil {
		return err
	}
	_, err = db.Write(ctx, s.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		event := audit.Event{Action: audit.PasswordChanged, ResourceID: by.ID, Description: "Changed the password"}
		if err := lockCaller(tx, by); err != nil {
			return struct{}{}, event, err
		}
		if err := identity.SetPassword(tx, by.ID, hash); err != nil {
			return struct{}{}, event, err
		}
		var ended []audit.Event
		if !keepKeys {
			var revoked bool
			var err error
			if revoked, ended, err = identity.RevokeKeys(tx, by.ID); err != nil {
				return struct{}{}, event, err
			}
			if revoked {
				event.Description += " and revoked all API keys"
			}
		}
		err := identity.RevokeSessions(tx, by.ID, by.SessionID)
		return struct{}{}, event.And(ended...), s.notify(tx, by, err, mail.PasswordChanged, "")
	})
	return err
}

// RedeemWithPassword uses up a link and sets up the user with a name and a password.
// Earlier sessions end.
func (s *Service) RedeemWithPassword(ctx context.Context, by db.Caller, link, name, password string) (Proven, error) {
	opened, err := s.setUp(ctx, link, name, func(v *fault.Violations, email string) { checkPassword(v, password, email) })
	if err != nil {
		return Proven{}, err
	}
	hash, err := s.hasher.hash(ctx, by.IP, password)
	if err != nil {
		return Proven{}, err
	}
	return s.redeem(ctx, by, link, name, opened, mail.PasswordChanged, func(tx *db.Tx, _ bool) error { return identity.SetPassword(tx, opened.UserID, hash) })
}
