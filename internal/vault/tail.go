package vault

import (
	"context"
	"errors"

	"bursar/internal/audit"
	"bursar/internal/db"
)

// fillTails indexes account numbers by their last digits that were stored before there was this
// index. One that cannot be opened any more has none.
func (v *Vault) fillTails(ctx context.Context) error {
	type value struct {
		sealedValue
		workspace int64
		tail      []byte
	}
	for {
		var some []value
		err := v.db.Read(ctx, func(q db.Q) (err error) {
			// With a join, the planners would start with all entries.
			some, err = db.Collect(q, func(r db.Rows) value {
				return value{sealedValue: sealedValue{r.Text(0), clone(r, 1)}, workspace: r.Int(2)}
			}, `SELECT m.id, m.account_sealed, (SELECT e.workspace_number FROM directory_entry e WHERE e.id = m.entry_id)
				FROM receiving_method m WHERE m.tail_key IS NULL ORDER BY m.entry_id LIMIT $1`, batch)
			return err
		})
		if err != nil || len(some) == 0 {
			return err
		}
		for i, one := range some {
			number, err := v.Open(one.workspace, Account(one.id), one.sealed)
			if err == nil {
				some[i].tail, err = v.TailIndex(one.sealed, string(number))
			}
			if errors.Is(err, ErrLost) || errors.Is(err, ErrDamaged) {
				some[i].tail, err = []byte{}, nil
			}
			if err != nil {
				return err
			}
		}
		_, err = db.Write(ctx, v.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			exempt := audit.None("the values stay as they were, and only an index is added")
			for _, one := range some {
				if err := tx.Exec(`UPDATE receiving_method SET tail_key = $2 WHERE id = $1 AND tail_key IS NULL`, one.id, one.tail); err != nil {
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
