package db

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"bursar/internal/db/engine"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migrations returns the files of the schema.
func Migrations() fs.FS {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		panic(err) // only for a malformed name
	}
	return files
}

// migrations lists the migrations that a store of this configuration has.
func (c Config) migrations(d dialect) ([]engine.Migration, error) {
	files := c.Migrations
	if files == nil {
		files = Migrations()
	}
	all, err := d.migrations(files)
	return slices.DeleteFunc(all, func(m engine.Migration) bool { return c.Schema != "" && m.Name > c.Schema }), err
}

// LastMigration returns the last migration that a store of this configuration has.
func (c Config) LastMigration() (string, error) {
	all, err := c.migrations(sqliteDialect())
	more, err2 := c.migrations(postgresDialect())
	if err := errors.Join(err, err2); err != nil {
		return "", err
	}
	return max(all[len(all)-1].Name, more[len(more)-1].Name), nil
}

// ErrNoStore is returned for a database that contains no store.
var ErrNoStore = errors.New("there is no store: it has no tables of Bursar")

// ErrEarlierBuild is returned for a store of a build before the first version of the schema.
var ErrEarlierBuild = engine.ErrEarlierBuild

// checkSchema refuses a store that Migrate would change or refuse.
func (d *DB) checkSchema(ctx context.Context, all []engine.Migration) error {
	isStore := false
	var applied []string
	err := d.Read(ctx, func(q Q) error {
		err := q.Each(func(r Rows) error {
			isStore = isStore || r.Text(0) == "schema_migration"
			return nil
		}, d.dialect.columns)
		if err != nil || !isStore {
			return err
		}
		applied, err = Collect(q, func(r Rows) string { return r.Text(0) }, `SELECT name FROM schema_migration ORDER BY name`)
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("read the schema: %w", err)
	case !isStore:
		return ErrNoStore
	}
	if err := engine.RefuseMigrations(applied, all); err != nil {
		return err
	}
	for _, m := range all {
		if !slices.Contains(applied, m.Name) {
			return fmt.Errorf("the store lacks migration %s, as an older bursar has left it: use that one, or bring the store up to date with 'bursar serve'", m.Name)
		}
	}
	return nil
}

// migrations lists the migrations of an engine in order. A file NNNN_name.sql is for both engines, and NNNN_name.ENGINE.sql for one.
// If both exist, they are one migration, and the file of the engine comes last.
func (d dialect) migrations(files fs.FS) (list []engine.Migration, err error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	texts := map[string]string{}
	for _, suffix := range []string{".sql", "." + d.name + ".sql"} {
		for _, file := range names {
			name, ok := strings.CutSuffix(file, suffix)
			if !ok || strings.Contains(name, ".") {
				continue
			}
			text, err := fs.ReadFile(files, file)
			if err != nil {
				return nil, fmt.Errorf("read migration %s: %w", name, err)
			}
			texts[name] += d.schema(string(text))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		list = append(list, engine.Migration{Name: name, SQL: texts[name]})
	}
	return list, nil
}
