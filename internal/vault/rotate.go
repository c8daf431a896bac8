package vault

import (
	"context"
	"errors"
	"fmt"

	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
)

// Prepare adds the next master key to the file and does not use it yet, so that the file
// can be copied to other nodes first.
func (v *Vault) Prepare(ctx context.Context) (string, error) {
	if v.config.Command != "" {
		return "", errors.New("a key that a program wraps is in the store, where every node finds it: there is nothing to prepare")
	}
	if err := v.Start(ctx); err != nil {
		return "", err
	}
	current, err := v.currentMaster(ctx)
	if err != nil {
		return "", err
	}
	secret, _, err := v.newMaster(ctx, current.version+1)
	return fingerprint(secret), err
}

// Rotated is the result of a rotation.
type Rotated struct {
	Fingerprint string `json:"fingerprint"`
	Version     int64  `json:"version"`
	Resumed     bool   `json:"resumed"` // it continued an interrupted one
	Rewrapped   int64  `json:"rewrapped"`
}

// Rotate creates a new version of the master key and wraps all data keys with it. It
// continues an earlier rotation that was interrupted. No value is sealed again.
func (v *Vault) Rotate(ctx context.Context, by db.Caller) (Rotated, error) {
	if err := v.Start(ctx); err != nil {
		return Rotated{}, err
	}
	current, err := v.currentMaster(ctx)
	if err != nil {
		return Rotated{}, err
	}
	done := Rotated{Resumed: true}
	if done.Rewrapped, err = v.rewrap(ctx, current); err != nil {
		return done, err
	}
	if done.Rewrapped == 0 {
		done.Resumed = false
		if current, err = v.addMaster(ctx, by, current.version+1, rotatedEvent); err != nil {
			return done, err
		}
		if done.Rewrapped, err = v.rewrap(ctx, current); err != nil {
			return done, err
		}
	}
	done.Fingerprint, done.Version = current.fingerprint, current.version
	return done, nil
}

func rotatedEvent(tx *db.Tx) (audit.Event, error) {
	org, err := access.AuditOrganization(tx.Q, "")
	return audit.Event{Action: audit.VaultKeyRotated, OrganizationID: org, Description: "Rotated the master key of the vault"}, err
}

// batch is how many data keys are wrapped in one transaction. It is small so that other writes do not wait long.
const batch = 500

// rewrap wraps data keys of earlier master keys with the current one. It skips those that
// were wrapped by a lost key.
func (v *Vault) rewrap(ctx context.Context, current masterKey) (done int64, err error) {
	if err := v.obtain(ctx, current); err != nil { // another process may have just created it
		return 0, err
	}
	v.mu.RLock()
	master := v.masters[current.fingerprint]
	v.mu.RUnlock()
	after := wrappedKey{}
	for {
		var rows []wrappedKey
		err := v.db.Read(ctx, func(q db.Q) (err error) {
			rows, err = db.Collect(q, readWrapped, `SELECT k.id, k.workspace_number, k.master_version, m.fingerprint, m.wrapped, k.wrapped, k.retired_at
				FROM vault_key k JOIN vault_master m ON m.version = k.master_version
				WHERE k.master_version < $1 AND (k.master_version, k.id) > ($2, $3) ORDER BY k.master_version, k.id LIMIT $4`,
				current.version, after.master.version, after.id, batch)
			return err
		})
		if err != nil || len(rows) == 0 {
			return done, err
		}
		after = rows[len(rows)-1]
		n, err := v.rewrapSome(ctx, master, current.version, rows)
		if done += n; err != nil {
			return done, err
		}
	}
}

func (v *Vault) rewrapSome(ctx context.Context, master []byte, version int64, rows []wrappedKey) (n int64, err error) {
	secrets := map[int64][]byte{}
	for _, row := range rows {
		secret, err := v.secretOf(ctx, row)
		if errors.Is(err, ErrLost) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("unwrap the data key %d: %w", row.id, err)
		}
		secrets[row.id] = secret
	}
	if len(secrets) == 0 {
		return 0, nil
	}
	_, err = db.Write(ctx, v.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		exempt := audit.None("the rotation is recorded once")
		for _, row := range rows {
			secret := secrets[row.id]
			if secret == nil {
				continue
			}
			wrapped, err := wrapKey(master, row.id, row.workspace, secret)
			if err != nil {
				return struct{}{}, exempt, err
			}
			if err := tx.Exec(`UPDATE vault_key SET wrapped = $3, master_version = $4 WHERE id = $1 AND master_version = $2`,
				row.id, row.master.version, wrapped, version); err != nil {
				return struct{}{}, exempt, err
			}
		}
		return struct{}{}, exempt, nil
	})
	return int64(len(secrets)), err
}

// Replace creates a new master key because the old one is lost, together with all values
// that it has sealed. The keys that sign sessions are replaced, too: see identity.Prepare.
func (v *Vault) Replace(ctx context.Context, by db.Caller) (string, error) {
	current, err := v.currentMaster(ctx)
	if err != nil {
		return "", err
	}
	if current.version == 0 {
		return "", ErrNone
	}
	switch err := v.obtain(ctx, current); {
	case err == nil:
		return "", errors.New("the vault key is not lost: it is here, and it is the one of this store")
	case !errors.Is(err, ErrLost):
		return "", err
	}
	made, err := v.addMaster(ctx, by, current.version+1, func(tx *db.Tx) (audit.Event, error) {
		event := audit.Event{Action: audit.VaultKeyReplaced, Description: "Began with a new vault key, because the old one is lost"}
		for _, statement := range []string{`DELETE FROM signing_key`, `DELETE FROM vault_secret`} {
			if err := tx.Exec(statement); err != nil {
				return event, err
			}
		}
		err := tx.Exec(`UPDATE vault_key SET retired_at = $1 WHERE retired_at IS NULL`, tx.Now())
		if err == nil {
			event.OrganizationID, err = access.AuditOrganization(tx.Q, "")
		}
		return event, err
	})
	return made.fingerprint, err
}
