package db

import (
	"context"
	"embed"
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
