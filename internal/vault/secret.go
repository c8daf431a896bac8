package vault

import (
	"context"
	"fmt"

	"bursar/internal/audit"
	"bursar/internal/db"
)

// ExternalIDKey is the name of the key under which the external ids of payouts are hashed.
const ExternalIDKey = "external_id_key"

// StoreKey returns a random key of 32 bytes that the store has under a name, and makes it at the first call. It stays the same when
// the vault is rotated or resealed. Call it outside of transactions.
func (v *Vault) StoreKey(ctx context.Context, name string) ([]byte, error) {
	if key, found := v.storeKeys.Load(name); found {
		return key.([]byte), nil
	}
	if err := v.Ready(ctx, 0); err != nil {
		return nil, err
	}
	var sealed []byte
	load := func(q db.Q) error {
		_, err := q.Row(`SELECT sealed FROM vault_secret WHERE name = $1`, name).Scan(&sealed)
		return err
	}
	err := v.db.Read(ctx, load)
	if err == nil && sealed == nil {
		if err = v.makeStoreKey(ctx, name); err == nil {
			err = v.db.Read(ctx, load) // another node may have been faster
		}
	}
	if err != nil {
		return nil, err
	}
	key, err := v.Open(0, StoreSecret(name), sealed)
	if err != nil {
		return nil, fmt.Errorf("the key %s: %w", name, err)
	}
	v.storeKeys.Store(name, key)
	return key, nil
}

func (v *Vault) makeStoreKey(ctx context.Context, name string) error {
	by := db.Caller{Actor: audit.SystemActor("bursar")}
	_, err := db.Write(ctx, v.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		sealed, err := v.Seal(0, StoreSecret(name), newKey())
		if err == nil {
			err = tx.Exec(`INSERT INTO vault_secret (name, sealed, sealed_by) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING`, name, sealed, KeyOf(sealed))
		}
		return struct{}{}, audit.None("the store makes a key for itself"), err
	})
	return err
}
