package db

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"bursar/internal/db/engine"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

func (d *DB) migrate(ctx context.Context, wanted func(name string) bool) error {
	all, err := d.dialect.migrations()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(m engine.Migration) bool { return !wanted(m.Name) })
	return d.engine.Migrate(ctx, all, d.Now())
}

// ErrNoStore is that nobody has made a store in a database yet.
var ErrNoStore = errors.New("there is no store: it has no tables of Bursar")

// checkSchema refuses a store that migrate would change, or refuse.
func (d *DB) checkSchema(ctx context.Context, wanted func(name string) bool) error {
	all, err := d.dialect.migrations()
	if err != nil {
		return err
	}
	isStore, applied := false, map[string]bool{}
	err = d.Read(ctx, func(q Q) error {
		err := q.Each(func(r Rows) error {
			isStore = isStore || r.Text(0) == "schema_migration"
			return nil
		}, d.dialect.columns)
		if err != nil || !isStore {
			return err
		}
		return q.Each(func(r Rows) error {
			applied[r.Text(0)] = true
			return nil
		}, `SELECT name FROM schema_migration`)
	})
	switch {
	case err != nil:
		return fmt.Errorf("read the schema: %w", err)
	case !isStore:
		return ErrNoStore
	}
	for _, m := range all {
		if !wanted(m.Name) {
			continue
		}
		if !applied[m.Name] {
			return fmt.Errorf("the store lacks migration %s, as an older bursar has left it: use that one, or bring the store up to date with 'bursar serve'", m.Name)
		}
		delete(applied, m.Name)
	}
	for name := range applied {
		return engine.UnknownMigration(name)
	}
	return nil
}

// migrations lists the migrations of an engine in order. A file NNNN_name.sql is
// for both engines, NNNN_name.ENGINE.sql for one.
func (d dialect) migrations() ([]engine.Migration, error) {
	files, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	var list []engine.Migration
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "migrations/"), ".sql")
		if base, only, ok := strings.Cut(name, "."); ok {
			if only != d.name {
				continue
			}
			name = base
		}
		text, err := migrationFiles.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", name, err)
		}
		step := engine.Migration{Name: name, SQL: d.schema(string(text))}
		switch name {
		case "0035_label_key":
			step.Then = fillLabelKeys
		case "0039_name_key":
			step.Then = fillNameKeys
		}
		list = append(list, step)
	}
	return list, nil
}
