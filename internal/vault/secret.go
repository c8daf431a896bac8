package vault

import (
	"context"
	"fmt"

	"bursar/internal/audit"
	"bursar/internal/db"
)

// ExternalIDKey is the name of the key under which the external ids of payouts are hashed.
const ExternalIDKey = "external_id_key"

// StoredSecret returns a secret of the store by its name, or nil if there is none. It stays the same when the vault is rotated
// or resealed. Call it outside transactions.
func (v *Vault) StoredSecret(ctx context.Context, name string) (secret []byte, err error) {
	if err := v.Ready(ctx, 0); err != nil {
		return nil, err
	}
	var sealed []byte
	err = v.db.Read(ctx, func(q db.Q) error {
		_, err := q.Row(`SELECT sealed FROM vault_secret WHERE name = $1`, name).Scan(&sealed)
		return err
	})
	if err != nil || sealed == nil {
		return nil, err
	}
	if secret, err = v.Open(0, StoreSecret(name), sealed); err != nil {
		err = fmt.Errorf("the secret %s: %w", name, err)
	}
	return secret, err
}

// InsertSecret seals and stores a secret unless one of that name exists, and reports whether it did. The vault must be ready for
// the store itself. Several nodes may call it at once: one wins, and the others wait for it.
func (v *Vault) InsertSecret(tx *db.Tx, name string, secret []byte) (bool, error) {
	sealed, err := v.Seal(0, StoreSecret(name), secret)
	if err != nil {
		return false, err
	}
	return tx.Row(`INSERT INTO vault_secret (name, sealed, sealed_by) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING RETURNING name`,
		name, sealed, KeyOf(sealed)).Scan(new(string))
}

// StoreKey returns the random 32-byte key that the store has under a name, and creates it at the first call.
func (v *Vault) StoreKey(ctx context.Context, name string) ([]byte, error) {
	if key, found := v.storeKeys.Load(name); found {
		return key.([]byte), nil
	}
	key, err := v.StoredSecret(ctx, name)
	if err == nil && key == nil {
		by := db.SystemCaller()
		_, err = db.Write(ctx, v.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
			_, err := v.InsertSecret(tx, name, newKey())
			return struct{}{}, audit.None("the store makes a key for itself"), err
		})
		if err == nil {
			key, err = v.StoredSecret(ctx, name) // another node may have created it first
		}
	}
	if err != nil {
		return nil, err
	}
	v.storeKeys.Store(name, key)
	return key, nil
}
