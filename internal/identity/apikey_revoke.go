package identity

import (
	"context"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// RevokeKey revokes a key of the caller and ends the sessions and keys that depend on it.
func (s *Service) RevokeKey(ctx context.Context, by db.Caller, in KeyInput) (api.Revoked, error) {
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Revoked, audit.Event, error) {
		name, err := revokeKey(tx, in.ID, by.ID)
		if err == nil {
			err = limitRevocation(tx.Q, by.Actor, in.ID)
		}
		return api.Revoked{ID: in.ID, Revoked: true}, keyRevoked(in.ID, name), err
	})
}

func revokeKey(tx *db.Tx, id, accountID string) (name string, err error) {
	if err := lockKeys(tx, accountID); err != nil {
		return "", err
	}
	found, err := tx.Row(`SELECT name FROM api_key WHERE id = $1 AND account_id = $2 AND revoked_at IS NULL`, id, accountID).Scan(&name)
	if err == nil && !found {
		return "", fault.Foreign("API key", fault.Scope{})
	}
	if err != nil {
		return "", err
	}
	ending, err := dependents(tx, id)
	if err != nil {
		return "", err
	}
	for _, id := range ending {
		if err := tx.Exec(`UPDATE api_key SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL`, id, tx.Now()); err != nil {
			return "", err
		}
		if err := tx.Exec(`UPDATE session SET revoked_at = $2 WHERE api_key_id = $1 AND revoked_at IS NULL`, id, tx.Now()); err != nil {
			return "", err
		}
	}
	return name, nil
}

// madeWith reports whether a key is another one or was made with it, directly or by keys between.
func madeWith(q db.Q, id, ancestor string) (bool, error) {
	for id != "" && id != ancestor {
		var parentID string
		if _, err := q.Row(`SELECT parent_id FROM api_key WHERE id = $1`, id).Scan(&parentID); err != nil {
			return false, err
		}
		id = parentID
	}
	return id == ancestor, nil
}

// limitRevocation returns an error unless the caller may revoke a key of theirs. A session that depends on a key can revoke that key and those
// that were made with it; a limited key only itself, and to it no other key exists. A key that administers and is not limited can
// revoke all keys of its owner.
func limitRevocation(q db.Q, by audit.Actor, id string) error {
	switch {
	case by.KeyID == "" || by.KeyID == id:
		return nil
	case by.Scope.Limited():
		return fault.Foreign("API key", fault.Scope{})
	case by.Scope.Administer:
		return nil
	}
	within, err := madeWith(q, id, by.KeyID)
	if err == nil && !within {
		err = fault.New(fault.Forbidden,
			"you are logged in with an API key that does not administer: it can revoke only itself and the keys that were made with it")
	}
	return err
}
