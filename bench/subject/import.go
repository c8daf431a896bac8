package subject

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/ncruces/go-sqlite3"

	"bursar/internal/db"
)

// group is how many entries a bare transaction stores: as many as the product's import.
const group = 500

// importInto lets the product import a file into a separate store, as it ships, and then writes
// the rows that it made into another one.
func importInto(ctx context.Context, lines int, fresh func(context.Context) (*bursar, error), copyRows func(ctx context.Context, from, to *bursar) (time.Duration, error)) (rate, bare float64, err error) {
	b, err := fresh(ctx)
	if err != nil {
		return 0, 0, err
	}
	server, err := b.server()
	if err != nil {
		return 0, 0, err
	}
	server.args = slices.DeleteFunc(server.args, func(arg string) bool { return arg == "--rate-limit" || arg == "off" })
	if err := server.SignIn(ctx); err != nil {
		return 0, 0, err
	}
	took, err := b.importFile(ctx, lines)
	if err = errors.Join(err, server.Stop()); err != nil {
		return 0, 0, err
	}
	other, err := fresh(ctx)
	if err != nil {
		return 0, 0, err
	}
	alone, err := copyRows(ctx, b, other)
	return float64(lines) / took.Seconds(), float64(lines) / alone.Seconds(), err
}

// importFile imports a file and returns how long that took, from the first byte that is sent.
func (b *bursar) importFile(ctx context.Context, lines int) (time.Duration, error) {
	var file strings.Builder
	file.WriteString("type,first-name,last-name,email\n")
	for i := range lines {
		fmt.Fprintf(&file, "person,Ada,Lovelace %d,ada%d@example.com\n", i, i)
	}
	header := b.header()
	header["Content-Type"] = "text/csv"
	var answer struct {
		Data struct {
			ID, Status, Reason string
			Created            int
		}
	}
	began := time.Now()
	if err := call(ctx, http.DefaultClient, http.MethodPost, b.base+"/v1/directory/imports?workspace_id="+b.plan.WorkspaceID, header, file.String(), &answer); err != nil {
		return 0, err
	}
	for answer.Data.Status == "queued" || answer.Data.Status == "running" {
		time.Sleep(50 * time.Millisecond)
		if err := call(ctx, http.DefaultClient, http.MethodGet, b.base+"/v1/directory/imports/"+answer.Data.ID, b.header(), "", &answer); err != nil {
			return 0, err
		}
	}
	if answer.Data.Status != "completed" || answer.Data.Created != lines {
		return 0, fmt.Errorf("the import is %s with %d of %d entries: %s", answer.Data.Status, answer.Data.Created, lines, answer.Data.Reason)
	}
	return time.Since(began), nil
}

// copied are the tables that an import writes, and which of their rows: each entry has one, or
// some words.
func copied() [][2]string {
	return [][2]string{
		{"directory_entry", "SELECT * FROM directory_entry ORDER BY id"},
		{"directory_word", "SELECT * FROM directory_word ORDER BY entry_id"},
		{"audit_log", "SELECT * FROM audit_log WHERE workspace_number IS NOT NULL ORDER BY id"},
	}
}

// statement inserts rows into a table at once.
type statement struct {
	sql  string
	args []any
}

// statements makes one statement of each entry's rows. Those of an entry have the same value in
// the key column.
func statements(table string, columns []string, key int, rows [][]any) (out []statement) {
	for begin, end := 0, 0; begin < len(rows); begin = end {
		var values []string
		var args []any
		for end = begin; end < len(rows) && (end == begin || fmt.Sprint(rows[end][key]) == fmt.Sprint(rows[begin][key])); end++ {
			var marks []string
			for _, value := range rows[end] {
				args = append(args, value)
				marks = append(marks, fmt.Sprintf("$%d", len(args)))
			}
			values = append(values, "("+strings.Join(marks, ", ")+")")
		}
		out = append(out, statement{"INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES " + strings.Join(values, ", "), args})
	}
	return out
}

func copyPostgres(ctx context.Context, from, to *bursar) (took time.Duration, err error) {
	source, err := pgx.Connect(ctx, from.store[1])
	if err != nil {
		return 0, fmt.Errorf("open the store to copy: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close(ctx)) }()
	target, err := pgx.Connect(ctx, to.store[1])
	if err != nil {
		return 0, fmt.Errorf("open the bare store: %w", err)
	}
	defer func() { err = errors.Join(err, target.Close(ctx)) }()
	var all [][]statement
	for _, t := range copied() {
		found, err := source.Query(ctx, t[1])
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", t[0], err)
		}
		var columns []string
		leave := -1 // the transaction that stores a row sets its transaction
		for i, field := range found.FieldDescriptions() {
			if field.Name == "xact" {
				leave = i
				continue
			}
			columns = append(columns, field.Name)
		}
		rows, err := pgx.CollectRows(found, func(row pgx.CollectableRow) ([]any, error) {
			values, err := row.Values()
			if leave >= 0 {
				values = slices.Delete(values, leave, leave+1)
			}
			return values, err
		})
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", t[0], err)
		}
		all = append(all, statements(t[0], columns, keyOf(columns), rows))
	}
	began := time.Now()
	for at := 0; at < len(all[0]); at += group {
		batch := &pgx.Batch{}
		batch.Queue("BEGIN")
		for _, of := range all {
			for _, s := range of[min(at, len(of)):min(at+group, len(of))] {
				batch.Queue(s.sql, s.args...)
			}
		}
		batch.Queue("COMMIT")
		if err := target.SendBatch(ctx, batch).Close(); err != nil {
			return 0, fmt.Errorf("write bare rows: %w", err)
		}
	}
	return time.Since(began), nil
}

// keyOf is the column that distinguishes the entries of rows.
func keyOf(columns []string) int { return max(0, slices.Index(columns, "entry_id")) }

func copySQLite(_ context.Context, from, to *bursar) (took time.Duration, err error) {
	source, err := sqlite3.Open(filepath.Join(from.store[1], db.SQLiteFile))
	if err != nil {
		return 0, fmt.Errorf("open the store to copy: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := sqlite3.Open(filepath.Join(to.store[1], db.SQLiteFile))
	if err != nil {
		return 0, fmt.Errorf("open the bare store: %w", err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if err := target.Exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -8192; PRAGMA wal_autocheckpoint = 4000`); err != nil {
		return 0, fmt.Errorf("configure the bare store: %w", err)
	}
	var all [][]statement
	for _, t := range copied() {
		columns, rows, err := readSQLite(source, t[1])
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", t[0], err)
		}
		all = append(all, statements(t[0], columns, keyOf(columns), rows))
	}
	prepared := map[string]*sqlite3.Stmt{}
	defer func() {
		for _, stmt := range prepared {
			err = errors.Join(err, stmt.Close())
		}
	}()
	began := time.Now()
	for at := 0; at < len(all[0]); at += group {
		if err := target.Exec(`BEGIN IMMEDIATE`); err != nil {
			return 0, err
		}
		for _, of := range all {
			for _, s := range of[min(at, len(of)):min(at+group, len(of))] {
				if prepared[s.sql] == nil {
					if prepared[s.sql], _, err = target.Prepare(s.sql); err != nil {
						return 0, err
					}
				}
				if err := execSQLite(prepared[s.sql], s.args); err != nil {
					return 0, fmt.Errorf("write bare rows: %w", err)
				}
			}
		}
		if err := target.Exec(`COMMIT`); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

func execSQLite(stmt *sqlite3.Stmt, args []any) (err error) {
	for i, value := range args {
		switch v := value.(type) {
		case string:
			err = stmt.BindText(i+1, v)
		case []byte:
			err = stmt.BindBlob(i+1, v)
		case int64:
			err = stmt.BindInt64(i+1, v)
		default:
			err = stmt.BindNull(i + 1)
		}
		if err != nil {
			return err
		}
	}
	return stmt.Exec()
}

func readSQLite(conn *sqlite3.Conn, sql string) (columns []string, rows [][]any, err error) {
	stmt, _, err := conn.Prepare(sql)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
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
				row[i] = stmt.ColumnBlob(i, nil)
			}
		}
		rows = append(rows, row)
	}
	return columns, rows, stmt.Err()
}
