package fill

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"bursar/internal/db"
)

// SQLite fills the store in a data folder that no server has open.
func SQLite(ctx context.Context, dir string, p Plan) (err error) {
	conn, err := sqlite3.OpenContext(ctx, filepath.Join(dir, db.SQLiteFile))
	if err != nil {
		return fmt.Errorf("open the store to fill: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	// Losing this store means filling it again. With a larger cache the driver runs out
	// of memory when it makes the indexes over a million rows.
	if err := conn.Exec(`PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -64000; PRAGMA foreign_keys = OFF; BEGIN`); err != nil {
		return fmt.Errorf("prepare to fill the store: %w", err)
	}
	again, err := setAside(conn)
	if err != nil {
		return fmt.Errorf("set the indexes aside: %w", err)
	}
	if err := p.into(ctx, sqliteSink{conn}); err != nil {
		return err
	}
	if err := conn.Exec(again + `COMMIT; PRAGMA journal_mode = WAL`); err != nil {
		return fmt.Errorf("end filling the store: %w", err)
	}
	return nil
}

// setAside drops indexes and triggers, which cost less when they are made over all
// rows at once, and returns the statements that make them.
func setAside(conn *sqlite3.Conn) (again string, err error) {
	stmt, _, err := conn.Prepare(`SELECT type, name, sql FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL`)
	if err != nil {
		return "", err
	}
	var drop strings.Builder
	for stmt.Step() {
		drop.WriteString("DROP " + stmt.ColumnText(0) + " " + stmt.ColumnText(1) + ";")
		again += stmt.ColumnText(2) + ";"
	}
	if err := stmt.Close(); err != nil {
		return "", err
	}
	return again, conn.Exec(drop.String())
}

type sqliteSink struct{ conn *sqlite3.Conn }

func (s sqliteSink) rows(ctx context.Context, table string, columns []string, n int, row func(i int) []any) error {
	places := strings.Repeat(", ?", len(columns))[2:]
	stmt, _, err := s.conn.Prepare(`INSERT INTO ` + table + ` (` + strings.Join(columns, ", ") + `) VALUES (` + places + `)`)
	if err != nil {
		return fmt.Errorf("prepare rows of %s: %w", table, err)
	}
	defer func() { _ = stmt.Close() }() // repeats an error of Exec
	for i := range n {
		if i%1000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for column, value := range row(i) {
			if err := bind(stmt, column+1, value); err != nil {
				return fmt.Errorf("fill %s: %w", table, err)
			}
		}
		if err := stmt.Exec(); err != nil {
			return fmt.Errorf("fill %s: %w", table, err)
		}
	}
	return nil
}

func bind(stmt *sqlite3.Stmt, i int, value any) error {
	switch v := value.(type) {
	case string:
		return stmt.BindText(i, v)
	case int64:
		return stmt.BindInt64(i, v)
	case bool:
		return stmt.BindBool(i, v)
	}
	return stmt.BindNull(i)
}
