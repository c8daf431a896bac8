package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"bursar/internal/db/engine"
)

// Exclusive implements engine.Engine. It uses a separate connection, because the transaction is
// too large for the writer's cache and sorts more than fits into memory. SQLite has 256 MiB in this
// program, of which cache and sorting may take 48 MiB each.
func (e *Engine) Exclusive(ctx context.Context, fn func(engine.Bulk) error) (err error) {
	c, err := openConn(ctx, e.path, "PRAGMA foreign_keys = OFF; PRAGMA temp_store = FILE; PRAGMA cache_size = -49152;")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	c.db.SetInterrupt(ctx)
	if err := c.Exec("BEGIN IMMEDIATE", nil); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err = engine.Recover(func() error { return fn(bulk{c}) }); err == nil {
		if err = c.Exec("COMMIT", nil); err == nil {
			return nil
		}
		err = fmt.Errorf("commit: %w", err)
	}
	c.endRead() // also rolls back
	return err
}

// bulk is a connection in a transaction that the caller ends.
type bulk struct{ *conn }

// Copy implements engine.Bulk.
func (b bulk) Copy(table string, columns []string, next func() ([]byte, error)) (err error) {
	sql := `INSERT INTO ` + quote(table) + ` ("` + strings.Join(columns, `", "`) + `") VALUES (?` + strings.Repeat(", ?", len(columns)-1) + `)`
	stmt, _, err := b.db.Prepare(sql)
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	for {
		row, err := next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range columns {
			if row, err = bindNext(stmt, i+1, row); err != nil {
				return fmt.Errorf("bind %s: %w", columns[i], err)
			}
		}
		if len(row) > 0 {
			return engine.ErrRow
		}
		stmt.Step()
		if err := stmt.Reset(); err != nil { // returns the error of Step
			return err
		}
	}
}

// bindNext binds the first value of a row, and returns the rest of it.
func bindNext(stmt *sqlite3.Stmt, n int, row []byte) (rest []byte, err error) {
	tag, number, text, rest, err := engine.NextValue(row)
	if err != nil {
		return nil, err
	}
	switch tag {
	case engine.Null:
		err = stmt.BindNull(n)
	case engine.Number:
		err = stmt.BindInt64(n, number)
	case engine.True, engine.False:
		err = stmt.BindBool(n, tag == engine.True)
	case engine.String:
		err = stmt.BindRawText(n, text)
	case engine.Blob:
		err = stmt.BindBlob(n, text)
	}
	return rest, err
}

// SetIndexesAside implements engine.Bulk. The connection does not check foreign keys, so they
// are all checked at the end.
func (b bulk) SetIndexesAside() (restore func() error, err error) {
	type index struct{ name, sql string }
	var all []index
	rows, err := b.Query(`SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name`, nil)
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		all = append(all, index{rows.Text(0), rows.Text(1)})
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for _, i := range all {
		if err := b.Script(`DROP INDEX ` + quote(i.name)); err != nil {
			return nil, fmt.Errorf("drop index %s: %w", i.name, err)
		}
	}
	return func() error {
		for _, i := range all {
			if err := b.Script(i.sql); err != nil {
				return fmt.Errorf("make index %s: %w", i.name, err)
			}
		}
		return b.checkReferences()
	}, nil
}

func (b bulk) checkReferences() error {
	rows, err := b.Query(`PRAGMA foreign_key_check`, nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	if rows.Next() {
		return fmt.Errorf("a row of %s refers to one of %s that does not exist", rows.Text(0), rows.Text(2))
	}
	return rows.Err()
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
