package db

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bursar/internal/db/engine"
)

// Table is a table of the store as archives describe it: independent of the engine's names for
// types and of the order of its columns.
type Table struct {
	Name    string
	Columns []Column // by name
}

// Column is a column of a table.
type Column struct {
	Name string
	Kind engine.Kind
}

// leftOut are the tables that belong to one copy of the store and not to its contents.
var leftOut = []string{"schema_migration", "store_mark"}

// ownColumns are the columns by which an engine sorts the audit log. The other engine sorts it
// differently, so Load recomputes them: see finishSQLite and finishPostgres.
var ownColumns = []string{"audit_log.xact", "audit_sequence.xact_offset"}

// kinds are the types of columns.
var kinds = map[string]engine.Kind{
	"TEXT": engine.Text, "BIGINT": engine.Int, "INTEGER": engine.Int, "BOOLEAN": engine.Bool,
	"BLOB": engine.Bytes, "BYTEA": engine.Bytes, "UUID": engine.Bytes,
}

// Tables lists all tables that have contents. Each comes after the tables that its rows refer to,
// unless they refer to each other.
func (q Q) Tables(d *DB) ([]Table, error) {
	found, references := map[string]*Table{}, map[string][]string{}
	var names []string
	err := q.Each(func(r Rows) error {
		table, column, kind := r.Text(0), r.Text(1), kinds[strings.ToUpper(r.Text(2))]
		if slices.Contains(leftOut, table) || slices.Contains(ownColumns, table+"."+column) {
			return nil
		}
		if kind == 0 {
			return fmt.Errorf("column %s of table %s has the unknown type %s", column, table, r.Text(2))
		}
		if found[table] == nil {
			found[table] = &Table{Name: table}
			names = append(names, table)
		}
		found[table].Columns = append(found[table].Columns, Column{column, kind})
		return nil
	}, d.dialect.columns)
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	err = q.Each(func(r Rows) error {
		references[r.Text(0)] = append(references[r.Text(0)], r.Text(1))
		return nil
	}, d.dialect.references)
	if err != nil {
		return nil, fmt.Errorf("list the references of tables: %w", err)
	}
	slices.Sort(names)
	var sorted []Table
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] || found[name] == nil {
			return
		}
		seen[name] = true
		slices.Sort(references[name])
		for _, to := range references[name] {
			visit(to)
		}
		slices.SortFunc(found[name].Columns, func(a, b Column) int { return strings.Compare(a.Name, b.Name) })
		sorted = append(sorted, *found[name])
	}
	for _, name := range names {
		visit(name)
	}
	return sorted, nil
}

// EachRow calls fn with every row of a table, in the format of engine.AppendRow, which both engines
// share. The row is valid until fn returns. Rows of the audit log come in the order of the log, others
// in any order.
func (q Q) EachRow(d *DB, t Table, fn func(row []byte) error) error {
	list, rowKinds := make([]string, len(t.Columns)), make([]engine.Kind, len(t.Columns))
	for i, c := range t.Columns {
		list[i], rowKinds[i] = `"`+c.Name+`"`, c.Kind
		if t.Name == "audit_sequence" && c.Name == "sorts_as" {
			list[i] = `0` // see ownColumns: this one cannot be left out, because it has no default
		}
	}
	order := ""
	if t.Name == "audit_log" {
		order = d.dialect.auditRows
	}
	var row []byte
	err := q.Each(func(r Rows) error {
		row = engine.AppendRow(row[:0], r, rowKinds)
		return fn(row)
	}, `SELECT `+strings.Join(list, ", ")+` FROM "`+t.Name+`"`+order)
	if err != nil {
		return fmt.Errorf("read table %s: %w", t.Name, err)
	}
	return nil
}

// Schema returns the name of the last migration that was applied to the store.
func (q Q) Schema() (name string, err error) {
	_, err = q.Row(`SELECT max(name) FROM schema_migration`).Scan(&name)
	return name, err
}

// Engine returns the name of the store's engine.
func (d *DB) Engine() string { return d.dialect.name }

// ReadAll is Read for a copy of the whole store: all statements see the same state, and none
// has a timeout.
func (d *DB) ReadAll(ctx context.Context, fn func(q Q) error) error {
	return d.Read(ctx, func(q Q) error {
		if err := q.Snapshot(); err != nil {
			return err
		}
		if d.dialect.noTimeout != "" {
			if _, err := q.Row(d.dialect.noTimeout).Scan(); err != nil {
				return err
			}
		}
		return fn(q)
	})
}

// Bulk is a transaction with exclusive access to the store. It writes no audit rows, because it is for
// copies of a store, which have the rows of the original.
type Bulk struct {
	Q
	db   *DB
	bulk engine.Bulk
}

// Exclusive runs fn in a transaction during which no other transaction can change the store.
func (d *DB) Exclusive(ctx context.Context, fn func(b *Bulk) error) error {
	err := d.engine.Exclusive(ctx, func(b engine.Bulk) error { return fn(&Bulk{Q{b}, d, b}) })
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

// Exec runs a statement without a result.
func (b *Bulk) Exec(sql string, args ...any) error {
	if err := b.bulk.Exec(sql, args); err != nil {
		return fmt.Errorf("change the store: %w", err)
	}
	return nil
}

// Load fills a store that contains only what its migrations inserted. fill calls put once for each
// table, in any order. The function that put gets returns the rows of the table, then io.EOF.
func (b *Bulk) Load(fill func(put func(t Table, next func() ([]byte, error)) error) error) error {
	tables, err := b.Tables(b.db)
	if err != nil {
		return err
	}
	restore, err := b.bulk.SetIndexesAside()
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := b.Exec(`DELETE FROM "` + t.Name + `"`); err != nil {
			return err
		}
	}
	if b.db.dialect.beforeLoad != "" {
		if err := b.bulk.Script(b.db.dialect.beforeLoad); err != nil {
			return fmt.Errorf("prepare to load: %w", err)
		}
	}
	err = fill(func(t Table, next func() ([]byte, error)) error {
		columns := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			columns[i] = c.Name
		}
		if err := b.bulk.Copy(t.Name, columns, next); err != nil {
			return fmt.Errorf("load table %s: %w", t.Name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := b.db.dialect.afterLoad(b); err != nil {
		return fmt.Errorf("sort the audit log: %w", err)
	}
	return restore()
}

// finishSQLite stores in the sequencer's state the number by which the last sequenced row sorts.
func finishSQLite(b *Bulk) error {
	return b.Exec(`UPDATE audit_sequence SET sorts_as = coalesce((SELECT a.rowid FROM audit_log a WHERE a.id = audit_sequence.audit_id), 0)`)
}

// finishPostgres does the same. Loaded rows were numbered in the order of arrival. New rows are
// numbered by their transaction, which must be higher: see renumberPostgres.
func finishPostgres(b *Bulk) error {
	var offset int64
	if _, err := b.Row(`SELECT coalesce((SELECT max(xact) FROM audit_log), 0) - pg_snapshot_xmin(pg_current_snapshot())::text::bigint + 1`).Scan(&offset); err != nil {
		return err
	}
	return b.bulk.Script(fmt.Sprintf(`UPDATE audit_sequence SET xact_offset = %[1]d, sorts_as = coalesce((SELECT a.xact FROM audit_log a WHERE a.id = audit_sequence.audit_id), 0);
		ALTER TABLE audit_log ALTER COLUMN xact SET DEFAULT pg_current_xact_id()::text::bigint + %[1]d;
		ALTER TABLE audit_sequence ALTER COLUMN xact_offset DROP DEFAULT;
		DROP SEQUENCE load_order`, offset))
}
