package db

import "fmt"

// Q asks questions. It is good for the callback that it was handed to.
type Q struct{ c conn }

// Rows steps through an answer. Values are read by column number; Raw is only
// good until the next step.
type Rows interface {
	Next() bool
	Err() error
	Close()
	Text(i int) string
	Raw(i int) []byte
	Int(i int) int64
	Bool(i int) bool
	Null(i int) bool
}

// Snapshot makes all further statements of a Read see the same moment.
func (q Q) Snapshot() error { return q.c.snapshot() }

// Each runs fn on every row of the answer.
func (q Q) Each(fn func(r Rows) error, sql string, args ...any) error {
	rows, err := q.c.query(sql, args)
	if err != nil {
		return fmt.Errorf("ask the store: %w", err)
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

// Row is the first row of an answer, once it is scanned.
type Row struct {
	q    Q
	sql  string
	args []any
}

// Row prepares a question whose first row matters.
func (q Q) Row(sql string, args ...any) Row { return Row{q, sql, args} }

// Scan copies the row to *string, *int64, *int and *bool (NULL leaves the zero
// value) and says whether there was one.
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

// Collect gathers what fn makes of every row; an empty answer is an empty slice.
func Collect[T any](q Q, fn func(r Rows) T, sql string, args ...any) ([]T, error) {
	all := []T{}
	err := q.Each(func(r Rows) error {
		all = append(all, fn(r))
		return nil
	}, sql, args...)
	return all, err
}

func scan(rows Rows, dest []any) error {
	for i, d := range dest {
		switch p := d.(type) {
		case *string:
			*p = rows.Text(i)
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

// Tx can also change things. Only Write hands one out.
type Tx struct {
	Q
	db *DB
}

// Exec runs a statement whose answer does not matter. It may be sent together
// with later ones, so an error may only show at a later statement or in the
// result of Write. What needs to know its effect uses Row with RETURNING.
func (tx *Tx) Exec(sql string, args ...any) error {
	if err := tx.c.exec(sql, args); err != nil {
		return fmt.Errorf("change the store: %w", err)
	}
	return nil
}

// Now is the store's time in Unix milliseconds.
func (tx *Tx) Now() int64 { return tx.db.Now() }

// NewID makes an id. See DB.NewID.
func (tx *Tx) NewID(prefix string) string { return tx.db.NewID(prefix) }

// NullText is NULL for "".
func NullText(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// NullInt is NULL for 0.
func NullInt(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}
