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
	// Moved is a store that another store has replaced. The value of the mark names the other.
	Moved = "moved"
)

// Mark is a property of this copy of the store alone.
type Mark struct {
	Name, Value string
	Since       int64
}

// ErrMarked is returned by Open for a store that has a mark.
var ErrMarked = errors.New("the store must not be used")

// Mark returns the mark of the store. Its name is empty if there is none.
func (q Q) Mark() (m Mark, err error) {
	_, err = q.Row(`SELECT name, value, since FROM store_mark ORDER BY name LIMIT 1`).Scan(&m.Name, &m.Value, &m.Since)
	return m, err
}

// SetMark sets the mark of the store and replaces an earlier one.
func (b *Bulk) SetMark(name, value string) error {
	if err := b.ClearMark(); err != nil {
		return err
	}
	return b.Exec(`INSERT INTO store_mark (name, value, since) VALUES ($1, $2, $3)`, name, value, b.db.Now())
}

// Retire marks the store as moved. After that, a process that still has it open can change nothing.
// An example is a node that had lost its connection when the others were stopped. Otherwise it would
// send payouts that the other store also sends.
func (b *Bulk) Retire(to string) error {
	if err := b.SetMark(Moved, to); err != nil {
		return err
	}
	if err := b.bulk.Script(b.db.dialect.refuseChanges); err != nil {
		return fmt.Errorf("refuse changes: %w", err)
	}
	return nil
}

// ClearMark removes the mark, so that the store can be opened.
func (b *Bulk) ClearMark() error { return b.Exec(clearMark) }

// ClearMark removes the mark, so that the store can be opened.
func (tx *Tx) ClearMark() error { return tx.Exec(clearMark) }

const clearMark = `DELETE FROM store_mark`

// refuseMarked returns why the store must not be used, or nil.
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
