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
func SQLite(ctx context.Context, dir string, p Filling) (err error) {
	conn, err := sqlite3.OpenContext(ctx, filepath.Join(dir, db.SQLiteFile))
	if err != nil {
		return fmt.Errorf("open the store to fill: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	// A store that is lost on the way is filled again, so nothing is synced. With a larger
	// cache the driver runs out of memory when it indexes a million rows.
	if err := conn.Exec(`PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -64000; PRAGMA foreign_keys = OFF; BEGIN`); err != nil {
		return fmt.Errorf("prepare to fill the store: %w", err)
	}
	restore, err := dropIndexes(conn)
	if err != nil {
		return fmt.Errorf("drop the indexes: %w", err)
	}
	if err := p.into(ctx, sqliteStore{conn}); err != nil {
		return err
	}
	if err := conn.Exec(restore + `COMMIT; PRAGMA journal_mode = WAL`); err != nil {
		return fmt.Errorf("restore the indexes: %w", err)
	}
	return nil
}

// dropIndexes drops indexes and triggers, because indexing all rows at once is faster, and
// returns the statements that restore them.
func dropIndexes(conn *sqlite3.Conn) (restore string, err error) {
	stmt, _, err := conn.Prepare(`SELECT type, name, sql FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL`)
	if err != nil {
		return "", err
	}
	var drop strings.Builder
	for stmt.Step() {
		drop.WriteString("DROP " + stmt.ColumnText(0) + " " + stmt.ColumnText(1) + ";")
		restore += stmt.ColumnText(2) + ";"
	}
	if err := stmt.Close(); err != nil {
		return "", err
	}
	return restore, conn.Exec(drop.String())
}

type sqliteStore struct{ conn *sqlite3.Conn }

// ReadSQLite returns the only row of a table that meets a condition, ready to be copied.
func ReadSQLite(conn *sqlite3.Conn, table string, where Condition, v Vary) (Row, error) {
	return only(context.Background(), sqliteStore{conn}, table, where, v)
}

func (s sqliteStore) read(_ context.Context, table string, where Condition) (columns []string, rows [][]any, err error) {
	stmt, _, err := s.conn.Prepare(`SELECT * FROM ` + table + ` WHERE ` + where.SQL)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", table, err)
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	if err := bind(stmt, where.Args); err != nil {
		return nil, nil, err
	}
	for i := range stmt.ColumnCount() {
		columns = append(columns, stmt.ColumnName(i))
	}
	for stmt.Step() {
		row := make([]any, len(columns))
		for i := range row {
			switch stmt.ColumnType(i) {
			case sqlite3.INTEGER:
				row[i] = stmt.ColumnInt64(i)
			case sqlite3.TEXT:
				row[i] = stmt.ColumnText(i)
			case sqlite3.BLOB:
				if blob := stmt.ColumnBlob(i, nil); len(blob) == 16 {
					row[i] = [16]byte(blob)
				} else {
					row[i] = blob
				}
			case sqlite3.NULL:
			default:
				return nil, nil, fmt.Errorf("read %s: column %s is neither a text nor bytes nor a whole number", table, columns[i])
			}
		}
		rows = append(rows, row)
	}
	return columns, rows, stmt.Err()
}

func (s sqliteStore) change(_ context.Context, sql string, args ...any) error {
	stmt, _, err := s.conn.Prepare(sql)
	if err != nil {
		return fmt.Errorf("prepare a change: %w", err)
	}
	return errors.Join(Insert(stmt, args), stmt.Close())
}

func (s sqliteStore) write(ctx context.Context, table string, columns []string, n int, row func(i int) []any) error {
	stmt, _, err := s.conn.Prepare(InsertSQL(table, columns))
	if err != nil {
		return fmt.Errorf("prepare the insert: %w", err)
	}
	for i := range n {
		if i%1000 == 0 && ctx.Err() != nil {
			return errors.Join(ctx.Err(), stmt.Close())
		}
		if err := Insert(stmt, row(i)); err != nil {
			return errors.Join(err, stmt.Close())
		}
	}
	return stmt.Close()
}

// InsertSQL is a statement that inserts a row.
func InsertSQL(table string, columns []string) string {
	return `INSERT INTO ` + table + ` (` + strings.Join(columns, ", ") + `) VALUES (` + strings.Repeat(", ?", len(columns))[2:] + `)`
}

// Insert runs a statement of InsertSQL.
func Insert(stmt *sqlite3.Stmt, values []any) error {
	if err := bind(stmt, values); err != nil {
		return err
	}
	return stmt.Exec()
}

func bind(stmt *sqlite3.Stmt, values []any) (err error) {
	for i, value := range values {
		switch v := value.(type) {
		case string:
			err = stmt.BindText(i+1, v)
		case [16]byte:
			err = stmt.BindBlob(i+1, v[:])
		case []byte:
			err = stmt.BindBlob(i+1, v)
		case int64:
			err = stmt.BindInt64(i+1, v)
		default:
			err = stmt.BindNull(i + 1)
		}
		if err != nil {
			return fmt.Errorf("bind: %w", err)
		}
	}
	return nil
}
