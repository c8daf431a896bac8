package vault

import (
	"context"
	"fmt"

	"bursar/internal/db"
)

// StoredSecret returns a secret of the store by its name, nil if there is none.
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

// InsertSecret seals and stores a secret unless there is one of that name, and reports whether it did. The vault must be ready for
// the store itself. Several nodes may do so at once: one of them wins, and the others wait for it.
func (v *Vault) InsertSecret(tx *db.Tx, name string, secret []byte) (bool, error) {
	sealed, err := v.Seal(0, StoreSecret(name), secret)
	if err != nil {
		return false, err
	}
	return tx.Row(`INSERT INTO vault_secret (name, sealed, sealed_by) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING RETURNING name`,
		name, sealed, KeyOf(sealed)).Scan(new(string))
}
