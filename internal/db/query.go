package db

import (
	"bytes"
	"fmt"

	"bursar/internal/db/engine"
)

// Q runs queries. It is valid until the callback that got it returns.
type Q struct{ conn engine.Conn }

// Rows steps through the result of a query.
type Rows = engine.Rows

// Snapshot makes all later statements of a Read see the same state.
func (q Q) Snapshot() error { return q.conn.Snapshot() }

// Each calls fn with every row of the result.
func (q Q) Each(fn func(r Rows) error, sql string, args ...any) error {
	rows, err := q.conn.Query(sql, args)
	if err != nil {
		return fmt.Errorf("query the store: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read from the store: %w", err)
	}
	return nil
}

// Row is a query of which only the first row is read.
type Row struct {
	q    Q
	sql  string
	args []any
}

// Row returns a query that runs when its first row is scanned.
func (q Q) Row(sql string, args ...any) Row { return Row{q, sql, args} }

// Scan runs the query, copies its first row to *string, *[]byte, *int64, *int and *bool
// (NULL becomes the zero value) and reports whether there was one.
func (r Row) Scan(dest ...any) (found bool, err error) {
	err = r.q.Each(func(rows Rows) error {
		if found {
			return nil
		}
		found = true
		return scan(rows, dest)
	}, r.sql, r.args...)
	return found && err == nil, err
}

// Collect returns the result of fn for every row. Without rows the slice is empty, not nil.
func Collect[T any](q Q, fn func(r Rows) T, sql string, args ...any) ([]T, error) {
	all := []T{}
	err := q.Each(func(r Rows) error {
		all = append(all, fn(r))
		return nil
	}, sql, args...)
	return all, err
}

// First returns the result of fn for the first row, the zero value if there is none.
func First[T any](q Q, fn func(r Rows) T, sql string, args ...any) (one T, err error) {
	list, err := Collect(q, fn, sql, args...)
	if len(list) > 0 {
		one = list[0]
	}
	return one, err
}

func scan(rows Rows, dest []any) error {
	for i, d := range dest {
		switch p := d.(type) {
		case *string:
			*p = rows.Text(i)
		case *[]byte:
			*p = bytes.Clone(rows.Raw(i))
		case *int64:
			*p = rows.Int(i)
		case *int:
			*p = int(rows.Int(i))
		case *bool:
			*p = rows.Bool(i)
		default:
			return fmt.Errorf("scan column %d: unsupported %T", i, d)
		}
	}
	return nil
}

// Tx also runs statements that change the store. Only Write creates one.
type Tx struct {
	Q
	db *DB

	answers, audited [][]any // rows that are written at the end: see finish
}

// Exec runs a statement without a result. The engine may send it together with
// later ones, so its error may come from a later statement or from Write. Use Row
// with RETURNING to learn what a statement did.
func (tx *Tx) Exec(sql string, args ...any) error {
	if err := tx.conn.Exec(sql, args); err != nil {
		return fmt.Errorf("change the store: %w", err)
	}
	return nil
}

// Now returns the store's time in Unix milliseconds.
func (tx *Tx) Now() int64 { return tx.db.Now() }

// NewID makes an id. See DB.NewID.
func (tx *Tx) NewID(prefix string) string { return tx.db.NewID(prefix) }

// NullText returns NULL for "".
func NullText(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// NullInt returns NULL for 0.
func NullInt(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}
