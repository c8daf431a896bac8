package identity

import (
	"context"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity/credential"
)

// NewUser describes a user to create.
type NewUser struct {
	Email   string
	Name    string
	Invited bool
}

// NormalizeEmail returns an address in the form in which it is stored and compared. It lowercases only ASCII. Unicode lowercasing maps
// several letters to one, such as the Kelvin sign to k, so two different mailboxes would share one address.
func NormalizeEmail(email string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, strings.TrimSpace(email))
}

// EnsureUser finds the user with an email address, or creates it. It reports
// which of the two happened.
func EnsureUser(tx *db.Tx, a NewUser) (id string, made bool, err error) {
	status, proof := statusActive, provenToAll
	if a.Invited {
		status, proof = statusInvited, ""
	}
	email := NormalizeEmail(a.Email)
	made, err = tx.Row(`INSERT INTO account (id, kind, email, email_proof, name, status, awaits_home, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (email) WHERE email <> '' DO NOTHING RETURNING id`,
		tx.NewID("usr"), kindPerson, email, proof, a.Name, status, a.Invited, tx.Now()).Scan(&id)
	if err != nil || made {
		return id, made, err
	}
	_, err = tx.Row(`SELECT id FROM account WHERE email = $1 AND email <> ''`, email).Scan(&id)
	return id, false, err
}

// findActor returns a user as the actor of a device login. The person approved the
// device themselves, so the actor is a user even if the session depends on a key.
func findActor(q db.Q, userID, keyID string) (audit.Actor, error) {
	a := audit.Actor{Type: audit.User, KeyID: keyID}
	var kind, scope string
	_, err := q.Row(`SELECT a.id, a.kind, a.email, a.name, a.home_org_id, k.scope FROM account a LEFT JOIN api_key k ON k.id = $1 WHERE a.id = $2`,
		keyID, userID).Scan(&a.ID, &kind, &a.Email, &a.Name, &a.HomeOrgID, &scope)
	if err == nil {
		a.Scope, err = audit.ParseScope(scope)
	}
	if kind == kindClient {
		a.Type = audit.Client
	}
	return a, err
}

// CreateUser creates a user, or completes an invited one.
func (s *Service) CreateUser(ctx context.Context, by db.Caller, email, name string) (id string, err error) {
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (string, audit.Event, error) {
		id, made, err := EnsureUser(tx, NewUser{Email: email, Name: name})
		if err == nil && !made {
			var completed bool
			completed, err = tx.Row(`UPDATE account SET name = $2, status = 'active', email_proof = '*' WHERE id = $1 AND status = 'invited' RETURNING id`,
				id, name).Scan(new(string))
			if err == nil && !completed {
				err = fault.New(api.CodeValidation, "a user with the email address %s already exists", NormalizeEmail(email))
			}
		}
		if err != nil {
			return "", audit.Event{}, err
		}
		home, err := access.HomeOrg(tx.Q, id)
		if err != nil {
			return "", audit.Event{}, err
		}
		home, err = access.AuditOrganization(tx.Q, home)
		return id, audit.Event{Action: audit.UserCreated, OrganizationID: home, ResourceID: id, Description: "Created user " + name}, err
	})
}

// DisableUser turns off a person's access and ends their sessions.
func (s *Service) DisableUser(ctx context.Context, by db.Caller, email string) (id string, err error) {
	return s.setStatus(ctx, by, email, statusDisabled, audit.UserDisabled, "Disabled user ")
}

// EnableUser turns a disabled person's access back on.
func (s *Service) EnableUser(ctx context.Context, by db.Caller, email string) (id string, err error) {
	return s.setStatus(ctx, by, email, statusActive, audit.UserEnabled, "Enabled user ")
}

func (s *Service) setStatus(ctx context.Context, by db.Caller, email, status string, action audit.Action, text string) (id string, err error) {
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (string, audit.Event, error) { return setStatus(tx, email, status, action, text) })
}

// DisableIn is DisableUser in a transaction.
func DisableIn(tx *db.Tx, email string) (id string, event audit.Event, err error) {
	return setStatus(tx, email, statusDisabled, audit.UserDisabled, "Disabled user ")
}

func setStatus(tx *db.Tx, email, status string, action audit.Action, text string) (string, audit.Event, error) {
	var id, name, org, before string
	if _, err := tx.Row(`SELECT id FROM account WHERE email = $1 AND email <> ''`, NormalizeEmail(email)).Scan(&id); err != nil {
		return "", audit.Event{}, err
	}
	if err := access.BeforeDisabling(tx, id); err != nil {
		return "", audit.Event{}, err
	}
	found, err := tx.Row(`UPDATE account SET name = name WHERE email = $1 AND email <> '' RETURNING id, name, home_org_id, status`,
		NormalizeEmail(email)).Scan(&id, &name, &org, &before)
	if err == nil && !found {
		err = fault.Missing("user " + email)
	}
	if err != nil {
		return "", audit.Event{}, err
	}
	if before == status || (status == statusActive && before != statusDisabled) {
		return id, audit.None("nothing changed"), nil
	}
	// A user that was never completed goes back to being invited.
	var after string
	if _, err := tx.Row(`UPDATE account SET status = CASE WHEN $2 = 'active' AND email_proof = '' THEN 'invited' ELSE $2 END WHERE id = $1 RETURNING status`,
		id, status).Scan(&after); err != nil {
		return "", audit.Event{}, err
	}
	org, err = access.AuditOrganization(tx.Q, org)
	event := audit.Event{Action: action, OrganizationID: org, ResourceID: id, Description: text + name}
	event.Changes.Add("status", before, after)
	if err != nil || status != statusDisabled {
		return id, event, err
	}
	ended, err := endAllOf(tx, id)
	return id, event.And(ended...), err
}

// endAllOf ends what a person who is disabled has begun or was sent, so that it does not come back if they are enabled again: sessions,
// sign-ins that are not complete, links, and invitations that they made. It returns the audit rows.
func endAllOf(tx *db.Tx, id string) ([]audit.Event, error) {
	if err := RaiseCredentialVersion(tx, id); err != nil {
		return nil, err
	}
	if err := RevokeSessions(tx, id, ""); err != nil {
		return nil, err
	}
	if err := tx.Exec(`UPDATE account_link SET used_at = $2 WHERE account_id = $1 AND used_at IS NULL`, id, tx.Now()); err != nil {
		return nil, err
	}
	return EndInvitationsBy(tx, id, "the person who made it was disabled")
}

// CreateKeyFor creates an API key for the person with an email address, on an
// operator's behalf. It completes the user if it was only invited.
func (s *Service) CreateKeyFor(ctx context.Context, by db.Caller, email string, key NewKey) (id, secret string, err error) {
	got, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (api.NewAPIKey, audit.Event, error) {
		found, err := tx.Row(`UPDATE account SET status = 'active', email_proof = CASE WHEN status = 'invited' THEN '*' ELSE email_proof END
			WHERE email = $1 AND email <> '' AND status <> 'disabled'
			RETURNING id`, NormalizeEmail(email)).Scan(&key.UserID)
		if err == nil && !found {
			err = fault.Missing("active user " + email)
		}
		if err != nil {
			return api.NewAPIKey{}, audit.Event{}, err
		}
		org, err := access.HomeOrg(tx.Q, key.UserID)
		if err == nil {
			org, err = access.AuditOrganization(tx.Q, org)
		}
		if err != nil {
			return api.NewAPIKey{}, audit.Event{}, err
		}
		if err := requireOwnWorkspaces(tx.Q, key); err != nil {
			return api.NewAPIKey{}, audit.Event{}, err
		}
		made, err := InsertKey(tx, key)
		event := keyCreated(made, "Created API key "+key.Name+" for "+NormalizeEmail(email))
		event.OrganizationID = org
		return made, event, err
	})
	return got.ID, got.APIKey, err
}

// RevokeAnyKey revokes any user's key on an operator's behalf. The operator has its id or, if the key has leaked, the key itself.
func (s *Service) RevokeAnyKey(ctx context.Context, by db.Caller, idOrSecret string) (id string, err error) {
	return s.revokeAnyKey(ctx, by, idOrSecret, false)
}

// RevokeAnyCompromisedKey is RevokeAnyKey that suspends what came through the key, as RevokeCompromisedKey does.
func (s *Service) RevokeAnyCompromisedKey(ctx context.Context, by db.Caller, idOrSecret string) (id string, err error) {
	return s.revokeAnyKey(ctx, by, idOrSecret, true)
}

func (s *Service) revokeAnyKey(ctx context.Context, by db.Caller, idOrSecret string, compromised bool) (id string, err error) {
	return writeRevocation(ctx, s.db, by, func(tx *db.Tx, p part) (string, audit.Event, error) {
		r := &revocation{compromised: compromised, part: p}
		column, value := "id", idOrSecret
		if credential.WellFormed(apiKeyPrefix, idOrSecret) {
			column, value, r.leaked = "hash", credential.Hash(idOrSecret), true
		}
		var org string
		found, err := tx.Row(`SELECT k.id, k.account_id, a.home_org_id FROM api_key k JOIN account a ON a.id = k.account_id
			WHERE k.`+column+` = $1`, value).Scan(&r.id, &r.userID, &org)
		if err == nil && !found {
			err = fault.Missing("API key")
		}
		if err == nil {
			err = r.run(tx, by)
		}
		if err != nil {
			return "", audit.Event{}, err
		}
		event := keyRevoked(r.id, r.name)
		if compromised {
			event = keyCompromised(r.id, r.name)
		}
		event.OrganizationID, err = access.AuditOrganization(tx.Q, org)
		return r.id, r.events(event), err
	})
}

// VerifyEmail records for every organization that a user's address belongs to the person. It completes the user if it was only
// invited. It returns the organization whose audit log records that. It also returns what changed, in words (or "" if nothing did) and
// field by field, and the audit rows of invitations that ended.
func VerifyEmail(tx *db.Tx, userID, name string) (home, changed string, changes audit.Changes, ended []audit.Event, err error) {
	changed, ended, err = markEmailVerified(tx, userID)
	if err != nil {
		return "", "", nil, nil, err
	}
	changes.Add("email_verified", changed == "", true)
	completed, err := tx.Row(`UPDATE account SET status = 'active', name = CASE WHEN name = '' THEN $2 ELSE name END
		WHERE id = $1 AND status = 'invited' RETURNING id`, userID, name).Scan(new(string))
	if completed {
		changes.Add("status", statusInvited, statusActive)
	}
	if changed == "" && completed {
		changed = "completed the account"
	}
	if err == nil && changed != "" {
		home, err = access.HomeOrg(tx.Q, userID)
	}
	return home, changed, changes, ended, err
}

// markEmailVerified records that a user's address belongs to the person. If only one organization vouched for the address before, its
// own people may have set up the user. In that case every credential is revoked before others trust it, the invitations made by the
// user end, and the person has to confirm each membership again.
func markEmailVerified(tx *db.Tx, userID string) (changed string, ended []audit.Event, err error) {
	var proof string
	found, err := tx.Row(`UPDATE account SET name = name WHERE id = $1 AND status <> 'disabled' RETURNING email_proof`, userID).Scan(&proof)
	if err != nil || !found || proof == provenToAll {
		return "", nil, err
	}
	changed = "verified the address"
	if proof != "" {
		changed += "; password, passkeys, second factor, sessions and API keys from before were revoked, memberships have to be accepted anew"
		if ended, err = revokeCredentials(tx, userID); err != nil {
			return "", nil, err
		}
		if err := access.AskAgain(tx, userID); err != nil {
			return "", nil, err
		}
	}
	return changed, ended, tx.Exec(`UPDATE account SET email_proof = '*' WHERE id = $1`, userID)
}

// revokeCredentials removes every way to sign in as a user: password, passkeys, second factor, sessions and API keys. It also ends the
// invitations that the user made.
func revokeCredentials(tx *db.Tx, userID string) ([]audit.Event, error) {
	if err := DeleteFactors(tx, userID); err != nil {
		return nil, err
	}
	ended, err := EndInvitationsBy(tx, userID, "the account of the person who made it was taken back by the owner of its address")
	if err != nil {
		return nil, err
	}
	if _, _, err := RevokeKeys(tx, userID); err != nil {
		return nil, err
	}
	return ended, RevokeSessions(tx, userID, "")
}

// RevokeKeys revokes all API keys of a user, which ends the sessions that depend on them, and the pending invitations made with them. It
// reports whether any of the keys was still valid, and returns the audit rows of the invitations.
func RevokeKeys(tx *db.Tx, userID string) (revoked bool, ended []audit.Event, err error) {
	if err := LockUser(tx, userID); err != nil {
		return false, nil, err
	}
	revoked, err = tx.Row(`SELECT id FROM api_key WHERE account_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2) LIMIT 1`,
		userID, tx.Now()).Scan(new(string))
	if err == nil {
		ended, err = voidInvitationsBy(tx, userID, true, keyEnded)
	}
	if err != nil {
		return false, nil, err
	}
	return revoked, ended, tx.Exec(`UPDATE api_key SET revoked_at = $2 WHERE account_id = $1 AND revoked_at IS NULL`, userID, tx.Now())
}

// DeleteFactors removes every way to sign in as a user in a browser. It also deletes the user's known browsers, because some may
// belong to someone else.
func DeleteFactors(tx *db.Tx, userID string) error {
	for _, statement := range []string{
		`UPDATE account SET password_hash = NULL, credential_version = credential_version + 1 WHERE id = $1`,
		`DELETE FROM passkey WHERE account_id = $1`,
		`DELETE FROM totp WHERE account_id = $1`,
		`DELETE FROM recovery_code WHERE account_id = $1`,
		`DELETE FROM known_browser WHERE account_id = $1`,
	} {
		if err := tx.Exec(statement, userID); err != nil {
			return err
		}
	}
	return nil
}
