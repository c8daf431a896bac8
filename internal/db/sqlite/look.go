package sqlite

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"
)

// look reads a database file that no process has open, and creates no other files beside it.
func look(ctx context.Context, path string, fn func(*conn) error) (err error) {
	name := "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() + "?mode=ro&immutable=1"
	db, err := sqlite3.OpenFlags(name, sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	if err != nil {
		return fmt.Errorf("open %s: %w", filepath.Base(path), err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetInterrupt(ctx)
	c := &conn{db: db, prepared: map[string]*statement{}}
	defer func() {
		for _, s := range c.prepared {
			_ = s.Close() // it was only read
		}
	}()
	return fn(c)
}

// Check looks for damage in a database file that no process has open, and for references to rows that do not
// exist.
func Check(ctx context.Context, path string) error {
	return look(ctx, path, func(c *conn) error {
		rows, err := c.Query(`PRAGMA integrity_check(1)`, nil)
		if err != nil {
			return err
		}
		if rows.Next() && rows.Text(0) != "ok" {
			err = fmt.Errorf("the database is damaged: %s", rows.Text(0))
		}
		if err = errors.Join(err, rows.Err()); err != nil {
			rows.Close()
			return err
		}
		rows.Close()
		return bulk{c}.checkReferences()
	})
}

// IsDiskFault reports whether the machine, and not the contents of a file, is why a database cannot be read or
// written.
func IsDiskFault(err error) bool {
	return errors.Is(err, sqlite3.IOERR) || errors.Is(err, sqlite3.FULL) || errors.Is(err, sqlite3.CANTOPEN)
}

// HasAuditRow reports whether a database file that no process has open has a row of the audit log.
func HasAuditRow(ctx context.Context, path string, id [16]byte) (found bool, err error) {
	err = look(ctx, path, func(c *conn) error {
		// Ids are indexed together with their workspaces, and separately for rows that belong to none. CROSS
		// makes SQLite begin with the workspaces.
		rows, err := c.Query(`SELECT 1 FROM audit_log WHERE coalesce(workspace_number, 0) = 0 AND id = $1
			UNION ALL SELECT 1 FROM workspace w CROSS JOIN audit_log a ON a.workspace_number = w.number AND a.id = $1`, []any{id})
		if err != nil {
			return err
		}
		defer rows.Close()
		found = rows.Next()
		return rows.Err()
	})
	return found, err
}
