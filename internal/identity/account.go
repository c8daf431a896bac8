package identity

import (
	"context"
	"strings"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// NewAccount is what an account of a person is made from.
type NewAccount struct {
	Email   string
	Name    string
	Invited bool
}

// NormalEmail is an address as it is stored and compared.
func NormalEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// EnsureAccount finds the person with an email address or makes one. It says
// which of the two happened.
func EnsureAccount(tx *db.Tx, a NewAccount) (id string, made bool, err error) {
	status, proof := statusActive, provenToAll
	if a.Invited {
		status, proof = statusInvited, ""
	}
	email := NormalEmail(a.Email)
	made, err = tx.Row(`INSERT INTO account (id, kind, email, email_proof, name, status, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (email) WHERE email <> '' DO NOTHING RETURNING id`,
		tx.NewID("usr"), kindPerson, email, proof, a.Name, status, tx.Now()).Scan(&id)
	if err != nil || made {
		return id, made, err
	}
	_, err = tx.Row(`SELECT id FROM account WHERE email = $1 AND email <> ''`, email).Scan(&id)
	return id, false, err
}

// findActor is an account as an actor at a device that a session let in: a person
// is then there in person, whatever key the session hangs on.
func findActor(q db.Q, accountID, keyID string) (audit.Actor, error) {
	a := audit.Actor{Type: audit.User, KeyID: keyID}
	var kind string
	_, err := q.Row(`SELECT id, kind, email, name, home_org_id FROM account WHERE id = $1`, accountID).
		Scan(&a.ID, &kind, &a.Email, &a.Name, &a.HomeOrgID)
	if kind == kindClient {
		a.Type = audit.Client
	}
	return a, err
}

// CreateUser makes a person's account, or completes an invited one.
func (s *Service) CreateUser(ctx context.Context, by db.Caller, email, name string) (id string, err error) {
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (string, audit.Event, error) {
		id, made, err := EnsureAccount(tx, NewAccount{Email: email, Name: name})
		if err == nil && !made {
			var completed bool
			completed, err = tx.Row(`UPDATE account SET name = $2, status = 'active', email_proof = '*' WHERE id = $1 AND status = 'invited' RETURNING id`,
				id, name).Scan(new(string))
			if err == nil && !completed {
				err = fault.New(fault.Validation, "there is a user with the email %s already", NormalEmail(email))
			}
		}
		if err != nil {
			return "", audit.Event{}, err
		}
		home, err := SettleHome(tx, id)
		if err != nil {
			return "", audit.Event{}, err
		}
		home, err = FiledUnder(tx.Q, home)
		return id, audit.Event{Action: audit.UserCreated, OrganizationID: home, ResourceID: id, Description: "Created user " + name}, err
	})
}

// DisableUser turns a person's access off. Their sessions end with it.
func (s *Service) DisableUser(ctx context.Context, by db.Caller, email string) (id string, err error) {
	return s.setStatus(ctx, by, email, statusDisabled, audit.UserDisabled, "Disabled user ")
}

// EnableUser turns a disabled person's access on again.
func (s *Service) EnableUser(ctx context.Context, by db.Caller, email string) (id string, err error) {
	return s.setStatus(ctx, by, email, statusActive, audit.UserEnabled, "Enabled user ")
}

func (s *Service) setStatus(ctx context.Context, by db.Caller, email, status string, action audit.Action, text string) (id string, err error) {
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (string, audit.Event, error) {
		var id, name, org, before string
		found, err := tx.Row(`UPDATE account SET name = name WHERE email = $1 AND email <> '' RETURNING id, name, home_org_id, status`,
			NormalEmail(email)).Scan(&id, &name, &org, &before)
		if err == nil && !found {
			err = fault.Missing("user " + email)
		}
		if err != nil {
			return "", audit.Event{}, err
		}
		if before == status || (status == statusActive && before != statusDisabled) {
			return id, audit.None("nothing changed"), nil
		}
		// Who never completed the account is still invited.
		if err := tx.Exec(`UPDATE account SET status = CASE WHEN $2 = 'active' AND email_proof = '' THEN 'invited' ELSE $2 END WHERE id = $1`,
			id, status); err != nil {
			return "", audit.Event{}, err
		}
		if status == statusDisabled {
			if err := RevokeSessions(tx, id, ""); err != nil {
				return "", audit.Event{}, err
			}
		}
		org, err = FiledUnder(tx.Q, org)
		return id, audit.Event{Action: action, OrganizationID: org, ResourceID: id, Description: text + name}, err
	})
}

// CreateKeyFor makes an API key for the person with an email address. An invited
// person's account is complete with it.
func (s *Service) CreateKeyFor(ctx context.Context, by db.Caller, email string, key NewKey) (id, secret string, err error) {
	got, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (api.NewAPIKey, audit.Event, error) {
		found, err := tx.Row(`UPDATE account SET status = 'active', email_proof = CASE WHEN status = 'invited' THEN '*' ELSE email_proof END
			WHERE email = $1 AND email <> '' AND status <> 'disabled'
			RETURNING id`, NormalEmail(email)).Scan(&key.AccountID)
		if err == nil && !found {
			err = fault.Missing("active user " + email)
		}
		if err != nil {
			return api.NewAPIKey{}, audit.Event{}, err
		}
		org, err := SettleHome(tx, key.AccountID)
		if err == nil {
			org, err = FiledUnder(tx.Q, org)
		}
		if err != nil {
			return api.NewAPIKey{}, audit.Event{}, err
		}
		made, err := InsertKey(tx, key)
		event := keyEvent(audit.KeyCreated, made.ID, "Created API key "+key.Name+" for "+NormalEmail(email))
		event.OrganizationID = org
		return made, event, err
	})
	return got.ID, got.APIKey, err
}

// RevokeAnyKey ends anybody's key, for an operator, who may have its id or, where
// it has leaked, the key itself.
func (s *Service) RevokeAnyKey(ctx context.Context, by db.Caller, idOrSecret string) (id string, err error) {
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (string, audit.Event, error) {
		column, value := "id", idOrSecret
		if wellFormed(apiKeyPrefix, idOrSecret) {
			column, value = "hash", hashSecret(idOrSecret)
		}
		var id, account, org string
		found, err := tx.Row(`SELECT k.id, k.account_id, a.home_org_id FROM api_key k JOIN account a ON a.id = k.account_id
			WHERE k.`+column+` = $1`, value).Scan(&id, &account, &org)
		if err == nil && !found {
			err = fault.Missing("API key")
		}
		if err != nil {
			return "", audit.Event{}, err
		}
		name, err := revokeKey(tx, id, account)
		if err != nil {
			return "", audit.Event{}, err
		}
		event := keyEvent(audit.KeyRevoked, id, "Revoked API key "+name)
		event.OrganizationID, err = FiledUnder(tx.Q, org)
		return id, event, err
	})
}

// FiledUnder is where an operator's deed is filed: under the organization that it
// concerns, or else the first one of the store, which is the operator's own.
func FiledUnder(q db.Q, organizationID string) (string, error) {
	if organizationID != "" {
		return organizationID, nil
	}
	_, err := q.Row(`SELECT id FROM organization ORDER BY id LIMIT 1`).Scan(&organizationID)
	return organizationID, err
}

// Settle completes an invited account, and settles for everybody that the address
// is the person's. It says under which organization that is filed, and what changed,
// in words; nothing where nothing did.
func Settle(tx *db.Tx, accountID, name string) (home, changed string, err error) {
	changed, err = settle(tx, accountID)
	if err != nil {
		return "", "", err
	}
	completed, err := tx.Row(`UPDATE account SET status = 'active', name = CASE WHEN name = '' THEN $2 ELSE name END
		WHERE id = $1 AND status = 'invited' RETURNING id`, accountID, name).Scan(new(string))
	if changed == "" && completed {
		changed = "completed the account"
	}
	if err == nil && changed != "" {
		home, err = SettleHome(tx, accountID)
	}
	return home, changed, err
}

// settle makes it settled for everybody that an account's address is the person's.
// Where only one organization vouched for that until now, its people may have set
// the account up themselves: whatever opens it is void, before others trust it.
func settle(tx *db.Tx, accountID string) (changed string, err error) {
	var proof string
	found, err := tx.Row(`UPDATE account SET name = name WHERE id = $1 AND status <> 'disabled' RETURNING email_proof`, accountID).Scan(&proof)
	if err != nil || !found || proof == provenToAll {
		return "", err
	}
	changed = "settled whose the address is"
	if proof != "" {
		changed += "; password, passkeys, second factor, sessions and API keys from before are void"
		if err := void(tx, accountID); err != nil {
			return "", err
		}
	}
	return changed, tx.Exec(`UPDATE account SET email_proof = '*' WHERE id = $1`, accountID)
}

// void takes everything away that opens an account: password, passkeys, second
// factor, sessions and API keys.
func void(tx *db.Tx, accountID string) error {
	if err := DropFactors(tx, accountID); err != nil {
		return err
	}
	if err := RevokeKeys(tx, accountID); err != nil {
		return err
	}
	return RevokeSessions(tx, accountID, "")
}

// RevokeKeys ends all API keys of an account.
func RevokeKeys(tx *db.Tx, accountID string) error {
	return tx.Exec(`UPDATE api_key SET revoked_at = $2 WHERE account_id = $1 AND revoked_at IS NULL`, accountID, tx.Now())
}

// DropFactors takes every way to sign in at a browser from an account.
func DropFactors(tx *db.Tx, accountID string) error {
	for _, statement := range []string{
		`UPDATE account SET password_hash = NULL WHERE id = $1`,
		`DELETE FROM passkey WHERE account_id = $1`,
		`DELETE FROM totp WHERE account_id = $1`,
		`DELETE FROM recovery_code WHERE account_id = $1`,
	} {
		if err := tx.Exec(statement, accountID); err != nil {
			return err
		}
	}
	return nil
}
