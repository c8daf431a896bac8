package db

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The marks of a store. Open refuses a store that has one.
const (
	// Incomplete is a store that is being filled, or whose filling was interrupted.
	Incomplete = "incomplete"
	// Moved is a store whose place another has taken, which the value of the mark names.
	Moved = "moved"
)

// Mark is what is true of this copy of the store alone.
type Mark struct {
	Name, Value string
	Since       int64
}

// ErrMarked is that a store must not be used.
var ErrMarked = errors.New("the store must not be used")

// Mark returns the mark of the store. Its name is empty if there is none.
func (q Q) Mark() (m Mark, err error) {
	_, err = q.Row(`SELECT name, value, since FROM store_mark ORDER BY name LIMIT 1`).Scan(&m.Name, &m.Value, &m.Since)
	return m, err
}

// SetMark marks the store in place of an earlier mark.
func (b *Bulk) SetMark(name, value string) error {
	if err := b.ClearMark(); err != nil {
		return err
	}
	return b.Exec(`INSERT INTO store_mark (name, value, since) VALUES ($1, $2, $3)`, name, value, b.db.Now())
}

// Retire marks the store as moved. A process that has it open still, such as a node that lost its
// connection while others were asked to stop, can change nothing from then on: it would send payouts
// that the other store sends, too.
func (b *Bulk) Retire(to string) error {
	if err := b.SetMark(Moved, to); err != nil {
		return err
	}
	if err := b.bulk.Script(b.db.dialect.refuseChanges); err != nil {
		return fmt.Errorf("refuse changes: %w", err)
	}
	return nil
}

// ClearMark lets everybody use the store.
func (b *Bulk) ClearMark() error { return b.Exec(clearMark) }

// ClearMark lets everybody use the store.
func (tx *Tx) ClearMark() error { return tx.Exec(clearMark) }

const clearMark = `DELETE FROM store_mark`

// refuseMarked says why a store must not be used.
func (d *DB) refuseMarked(ctx context.Context) error {
	var m Mark
	err := d.Read(ctx, func(q Q) (err error) {
		m, err = q.Mark()
		return err
	})
	if err != nil {
		return fmt.Errorf("read the mark of the store: %w", err)
	}
	switch at := time.UnixMilli(m.Since).UTC().Format(time.DateTime + " UTC"); m.Name {
	case "":
		return nil
	case Moved:
		return fmt.Errorf("%w: it was moved to %s on %s, and everything is there now", ErrMarked, m.Value, at)
	default:
		return fmt.Errorf("%w: it is incomplete since %s, because %s has not ended: run it again", ErrMarked, at, m.Value)
	}
}
