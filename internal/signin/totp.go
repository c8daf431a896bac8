package signin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/identity/credential"
	"bursar/internal/mail"
	"bursar/internal/vault"
)

const (
	totpPeriod = 30
	// totpSkew is the tolerated error of a person's clock, in time steps.
	totpSkew      = 1
	recoveryCodes = 10
)

var errWrongCode = fault.New(api.CodeInvalidCredentials, "the code is incorrect")

// NewTOTP returns a new secret for the caller's authenticator app. Nothing is stored until a code shows that the app has it.
func (s *Service) NewTOTP(by db.Caller) (*otp.Key, error) {
	key, err := totp.Generate(totp.GenerateOpts{Issuer: "Bursar", AccountName: by.Email, SecretSize: 20})
	if err != nil {
		return nil, fmt.Errorf("make a secret for an authenticator app: %w", err)
	}
	return key, nil
}

// matchStep finds the time step of a code, near the present and later than last.
func matchStep(secret, code string, now, last int64) (step int64, ok bool) {
	present := now / 1000 / totpPeriod
	for candidate := max(present-totpSkew, last+1); candidate <= present+totpSkew; candidate++ {
		want, err := hotp.GenerateCode(secret, uint64(candidate))
		if err == nil && subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			return candidate, true
		}
	}
	return 0, false
}

// typedCode normalizes a code that a person typed.
func typedCode(text string) string {
	return strings.ToUpper(strings.NewReplacer(" ", "", "-", "", "\t", "").Replace(text))
}

// EnableTOTP turns on the second factor, once a code shows that the app has the secret. It returns the recovery codes, which are shown only
// once.
func (s *Service) EnableTOTP(ctx context.Context, by db.Caller, secret, code string) ([]string, error) {
	if err := s.attempt(ctx, by, codes.Of(by.ID)); err != nil {
		return nil, err
	}
	step, ok := matchStep(secret, typedCode(code), s.db.Now(), 0)
	if !ok {
		return nil, fault.Invalid("code", "does not match the one that the app shows now")
	}
	if err := s.vault.Ready(ctx, 0); err != nil {
		return nil, err
	}
	sealed, err := s.vault.Seal(0, vault.TOTPSecret(by.ID), []byte(secret))
	if err != nil {
		return nil, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) ([]string, audit.Event, error) {
		event := audit.Event{Action: audit.TOTPEnabled, ResourceID: by.ID, Description: "Turned two-step sign-in on"}
		if err := s.lockForFactor(tx, by); err != nil {
			return nil, event, err
		}
		first, err := tx.Row(`INSERT INTO totp (account_id, secret_sealed, sealed_by, last_step, created_at) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (account_id) DO NOTHING RETURNING account_id`, by.ID, sealed, vault.KeyOf(sealed), step, tx.Now()).Scan(new(string))
		if err == nil && !first {
			err = fault.Invalid("code", "is not needed: two-step sign-in is already on")
		}
		if err != nil {
			return nil, event, err
		}
		codes, err := replaceRecoveryCodes(tx, by.ID)
		return codes, event, s.notify(tx, by, err, mail.TOTPEnabled, "")
	})
}

// DisableTOTP turns off the second factor. The caller must give a valid code.
func (s *Service) DisableTOTP(ctx context.Context, by db.Caller, code string) error {
	if err := s.Code(ctx, by, by.ID, code); err != nil {
		return fault.Replace(err, api.CodeInvalidCredentials, fault.Invalid("code", "is incorrect").(*fault.Fault))
	}
	_, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		event := audit.Event{Action: audit.TOTPDisabled, ResourceID: by.ID, Description: "Turned two-step sign-in off"}
		if err := lockCaller(tx, by); err != nil {
			return struct{}{}, event, err
		}
		if err := dropTOTP(tx, by.ID); err != nil {
			return struct{}{}, event, err
		}
		return struct{}{}, event, s.notify(tx, by, s.keepsFactor(tx.Q, by.ID), mail.TOTPDisabled, "")
	})
	return err
}

func dropTOTP(tx *db.Tx, userID string) error {
	if err := identity.RaiseCredentialVersion(tx, userID); err != nil {
		return err
	}
	if err := tx.Exec(`DELETE FROM totp WHERE account_id = $1`, userID); err != nil {
		return err
	}
	return tx.Exec(`DELETE FROM recovery_code WHERE account_id = $1`, userID)
}

// NewRecoveryCodes replaces the recovery codes of the caller.
func (s *Service) NewRecoveryCodes(ctx context.Context, by db.Caller) ([]string, error) {
	return db.Write(ctx, s.db, by, func(tx *db.Tx) ([]string, audit.Event, error) {
		event := audit.Event{Action: audit.RecoveryCodesMade, ResourceID: by.ID, Description: "Made new recovery codes"}
		if err := lockCaller(tx, by); err != nil {
			return nil, event, err
		}
		on, err := tx.Row(`SELECT account_id FROM totp WHERE account_id = $1`, by.ID).Scan(new(string))
		if err == nil && !on {
			err = fault.Missing("second factor")
		}
		if err != nil {
			return nil, event, err
		}
		codes, err := replaceRecoveryCodes(tx, by.ID)
		return codes, event, err
	})
}

func replaceRecoveryCodes(tx *db.Tx, userID string) ([]string, error) {
	if err := identity.RaiseCredentialVersion(tx, userID); err != nil {
		return nil, err
	}
	if err := tx.Exec(`DELETE FROM recovery_code WHERE account_id = $1`, userID); err != nil {
		return nil, err
	}
	var codes []string
	for range recoveryCodes {
		code := credential.NewCode(16)
		codes = append(codes, code[:4]+"-"+code[4:8]+"-"+code[8:12]+"-"+code[12:])
		if err := tx.Exec(`INSERT INTO recovery_code (account_id, hash) VALUES ($1, $2)`, userID, hashRecovery(userID, code)); err != nil {
			return nil, err
		}
	}
	return codes, nil
}

func hashRecovery(userID, code string) string {
	sum := sha256.Sum256([]byte(userID + " " + code))
	return hex.EncodeToString(sum[:])
}

// Code verifies the second factor of a user: a code of the authenticator app or a recovery code. Neither can be used twice.
func (s *Service) Code(ctx context.Context, by db.Caller, userID, typed string) error {
	p, err := s.byID(ctx, userID)
	if err != nil {
		return err
	}
	return s.code(ctx, by, p, typed)
}

// SecondStep completes a sign-in that needs a code. It fails if the sign-in methods have changed since the first step, so that someone who
// knew the old password cannot finish.
func (s *Service) SecondStep(ctx context.Context, by db.Caller, first Proven, typed string) (Proven, error) {
	p, err := s.byID(ctx, first.UserID)
	if err != nil {
		return Proven{}, err
	}
	if first.Version != p.version {
		return Proven{}, identity.ErrCredentialsChanged
	}
	if err := s.code(ctx, by, p, typed); err != nil {
		return Proven{}, err
	}
	done := Proven{UserID: first.UserID, Method: first.Method, SecondFactor: true, Version: first.Version}
	if done.Method == identity.ByPassword {
		done.Method = identity.ByTwoFactors
	}
	return done, nil
}

func (s *Service) code(ctx context.Context, by db.Caller, p person, typed string) error {
	userID := p.actor.ID
	if err := s.attempt(ctx, by, codes.Of(userID)); err != nil {
		return err
	}
	if err := s.vault.Ready(ctx, 0); err != nil {
		return err
	}
	code := typedCode(typed)
	good, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (bool, audit.Event, error) {
		var sealed []byte
		var last int64
		found, err := tx.Row(`SELECT secret_sealed, last_step FROM totp WHERE account_id = $1`, userID).Scan(&sealed, &last)
		if err != nil || !found {
			return false, audit.None("a wrong code changes nothing"), err
		}
		secret, err := s.vault.Open(0, vault.TOTPSecret(userID), sealed)
		if err != nil && !errors.Is(err, vault.ErrLost) { // without the app, the recovery codes still work
			return false, audit.None("a wrong code changes nothing"), err
		}
		if step, ok := matchStep(string(secret), code, tx.Now(), last); ok && err == nil {
			fresh, err := tx.Row(`UPDATE totp SET last_step = $2 WHERE account_id = $1 AND last_step < $2 RETURNING account_id`, userID, step).Scan(new(string))
			return fresh, audit.None("the sign-in that follows is recorded"), err
		}
		unused, err := tx.Row(`UPDATE recovery_code SET used_at = $3 WHERE account_id = $1 AND hash = $2 AND used_at IS NULL RETURNING hash`,
			userID, hashRecovery(userID, code), tx.Now()).Scan(new(string))
		if err != nil || !unused {
			return false, audit.None("a wrong code changes nothing"), err
		}
		return true, audit.Event{Action: audit.RecoveryCodeUsed, ResourceID: userID, Actor: &p.actor, Description: "Used a recovery code"}, nil
	})
	if err == nil && (!good || p.status != "active") {
		return s.fail(ctx, by, p.actor, "wrong code", errWrongCode)
	}
	return err
}
