package vault

import (
	"context"
	"fmt"
	"slices"

	"bursar/internal/audit"
	"bursar/internal/db"
)

// batch is how many values are sealed, or data keys wrapped, in one transaction. It is small so
// that other writes do not wait long.
const batch = 500

// clearValue is a row of vault_unsealed.
type clearValue struct {
	kind, id, value string
	workspace       int64
}

// sealClear seals what a store of before had in clear, a batch in each transaction, and then
// has the store write its files anew, which still have the old bytes.
func (v *Vault) sealClear(ctx context.Context) error {
	for {
		some, err := v.clearValues(ctx)
		if err != nil {
			return err
		}
		if len(some) == 0 {
			return v.rewriteFiles(ctx)
		}
		ready := map[int64]bool{}
		for _, value := range some {
			if !ready[value.workspace] {
				if err := v.load(ctx, value.workspace); err != nil {
					return err
				}
				ready[value.workspace] = true
			}
		}
		_, err = db.Write(ctx, v.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			exempt := audit.None("the values stay as they were, and only their form in the store changes")
			for _, value := range some {
				if err := v.sealOne(tx, value); err != nil {
					return struct{}{}, exempt, err
				}
			}
			return struct{}{}, exempt, nil
		})
		if err != nil {
			return err
		}
	}
}

func (v *Vault) clearValues(ctx context.Context) (some []clearValue, err error) {
	err = v.db.Read(ctx, func(q db.Q) (err error) {
		some, err = db.Collect(q, func(r db.Rows) clearValue { return clearValue{r.Text(0), r.Text(1), r.Text(2), r.Int(3)} },
			`SELECT kind, id, value, workspace_number FROM vault_unsealed ORDER BY kind, id LIMIT $1`, batch)
		return err
	})
	return some, err
}

func (v *Vault) sealOne(tx *db.Tx, value clearValue) error {
	i := slices.IndexFunc(columns(), func(c column) bool { return c.table == value.kind })
	if i < 0 {
		return fmt.Errorf("the store has an unknown kind of value in clear: %s", value.kind)
	}
	c := columns()[i]
	sealed, err := v.Seal(value.workspace, c.context(value.id), []byte(value.value))
	if err != nil {
		return err
	}
	if err := c.replace(tx, v, value.id, nil, sealed, []byte(value.value)); err != nil {
		return err
	}
	return tx.Exec(`DELETE FROM vault_unsealed WHERE kind = $1 AND id = $2`, value.kind, value.id)
}

// rewriteFiles removes the old bytes from the files of the store, once. The migration has
// left a note that this is needed.
func (v *Vault) rewriteFiles(ctx context.Context) error {
	wanted := false
	err := v.db.Read(ctx, func(q db.Q) (err error) {
		wanted, err = q.Row(`SELECT value FROM setting WHERE name = $1`, "vault_vacuum").Scan(new(string))
		return err
	})
	if err != nil || !wanted {
		return err
	}
	tables := []string{"vault_unsealed", "setting"}
	for _, c := range columns() {
		tables = append(tables, c.table)
	}
	if err := v.db.Rewrite(ctx, tables...); err != nil {
		return err
	}
	_, err = db.Write(ctx, v.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("the note that the files must be written anew"), tx.Exec(`DELETE FROM setting WHERE name = $1`, "vault_vacuum")
	})
	return err
}
