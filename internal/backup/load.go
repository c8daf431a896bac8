package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bursar/internal/db"
)

// load fills an empty store, and compares its digests with the manifest of the stream.
func load(b *db.Bulk, d *db.DB, s *stream, progress func(rows int64)) (m Manifest, err error) {
	count := counter(progress)
	known, err := b.Tables(d)
	if err != nil {
		return m, err
	}
	missing := map[string][]db.Column{}
	for _, t := range known {
		missing[t.Name] = t.Columns
	}
	err = b.Load(func(put func(t db.Table, next func() ([]byte, error)) error) (err error) {
		m, err = s.tables(func(t db.Table, next func() ([]byte, error)) error {
			// The names go into statements, so they must be those of the store.
			if columns, found := missing[t.Name]; !found || !slices.Equal(columns, t.Columns) {
				return fmt.Errorf("%w: it has another table %q than a store of this schema", errDamaged, t.Name)
			}
			delete(missing, t.Name)
			return put(t, func() ([]byte, error) {
				count()
				return next()
			})
		})
		return err
	})
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("%w: it lacks %d tables", errDamaged, len(missing))
	}
	if err != nil {
		return m, err
	}
	have, err := digests(b.Q, d, nil)
	if err != nil {
		return m, fmt.Errorf("check the copy: %w", err)
	}
	return m, differ(compare(m.Tables, have))
}

// empty reports whether a store was never used.
func empty(q db.Q) (bool, error) {
	var used bool
	_, err := q.Row(`SELECT EXISTS (SELECT 1 FROM account) OR EXISTS (SELECT 1 FROM audit_log) OR EXISTS (SELECT 1 FROM workspace)`).Scan(&used)
	return !used, err
}

// errFull is returned for a target that is not empty.
var errFull = errors.New("the target is not empty: name a folder or a schema with nothing in it")

// claim marks a target as incomplete, if it is empty. why names what fills it. full means that it was filled before.
func claim(ctx context.Context, d *db.DB, why string, full bool) (isEmpty bool, err error) {
	err = d.Exclusive(ctx, func(b *db.Bulk) error {
		mark, err := b.Mark()
		if err != nil {
			return err
		}
		if isEmpty, err = empty(b.Q); err != nil {
			return err
		}
		if isEmpty && full {
			return errors.New("the source was moved, and the target is empty: it is not the store that it was moved to")
		}
		if mark.Name == db.Incomplete {
			return nil
		}
		if !isEmpty || mark.Name != "" {
			return errFull
		}
		return b.SetMark(db.Incomplete, why)
	})
	return isEmpty, err
}
