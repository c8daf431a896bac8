package db

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

type migration struct{ name, sql string }

// migrations lists what builds the schema of an engine, in order. A file named
// NNNN_name.sql is for both engines, NNNN_name.ENGINE.sql for one.
func migrations(engine string, translate func(string) string) ([]migration, error) {
	files, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	var list []migration
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "migrations/"), ".sql")
		if base, only, ok := strings.Cut(name, "."); ok {
			if only != engine {
				continue
			}
			name = base
		}
		text, err := migrationFiles.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", name, err)
		}
		list = append(list, migration{name, translate(string(text))})
	}
	return list, nil
}

// migrator is a connection inside the transaction that holds the schema lock.
type migrator interface {
	conn
	script(sql string) error
}

// applyPending runs what the store has not seen yet. It goes forward only, and
// refuses a store that a newer program has written.
func applyPending(m migrator, all []migration, now int64) error {
	if err := m.script(`CREATE TABLE IF NOT EXISTS schema_migration (name TEXT PRIMARY KEY, applied_at BIGINT NOT NULL)`); err != nil {
		return fmt.Errorf("create the table of migrations: %w", err)
	}
	applied, err := Collect(Q{m}, func(r Rows) string { return r.Text(0) }, `SELECT name FROM schema_migration ORDER BY name`)
	if err != nil {
		return err
	}
	done := make(map[string]bool, len(applied))
	for _, name := range applied {
		done[name] = true
	}
	for _, step := range all {
		if done[step.name] {
			delete(done, step.name)
			continue
		}
		if err := m.script(step.sql); err != nil {
			return fmt.Errorf("apply migration %s: %w", step.name, err)
		}
		if err := m.exec(`INSERT INTO schema_migration (name, applied_at) VALUES ($1, $2)`, []any{step.name, now}); err != nil {
			return fmt.Errorf("note migration %s: %w", step.name, err)
		}
	}
	for name := range done {
		return fmt.Errorf("the store has migration %s, which this program does not know: use a newer bursar", name)
	}
	return nil
}
