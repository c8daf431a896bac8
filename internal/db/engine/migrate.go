package engine

import (
	"errors"
	"fmt"
	"slices"
)

// Migration is one version of the schema.
type Migration struct{ Name, SQL string }

// Migrator is a connection in a transaction that keeps other programs from
// changing the schema at the same time.
type Migrator interface {
	Conn
	// Script runs several statements without parameters.
	Script(sql string) error
}

// ApplyMigrations runs the migrations that the database does not have yet. A database
// that it refuses stays unchanged.
func ApplyMigrations(m Migrator, all []Migration, now int64) error {
	if err := m.Script(`CREATE TABLE IF NOT EXISTS schema_migration (name TEXT PRIMARY KEY, applied_at BIGINT NOT NULL)`); err != nil {
		return fmt.Errorf("create the table of migrations: %w", err)
	}
	applied, err := appliedMigrations(m)
	if err != nil {
		return fmt.Errorf("list the applied migrations: %w", err)
	}
	if err := RefuseMigrations(applied, all); err != nil {
		return err
	}
	for _, step := range all {
		if slices.Contains(applied, step.Name) {
			continue
		}
		if err := m.Script(step.SQL); err != nil {
			return fmt.Errorf("apply migration %s: %w", step.Name, err)
		}
		if err := m.Exec(`INSERT INTO schema_migration (name, applied_at) VALUES ($1, $2)`, []any{step.Name, now}); err != nil {
			return fmt.Errorf("record migration %s: %w", step.Name, err)
		}
	}
	return nil
}

// ErrEarlierBuild is returned for a store or file of a build before the first version of
// the schema.
var ErrEarlierBuild = errors.New("which this one cannot open: start with an empty store")

// EarlierBuild returns an error that refuses a store or file of an earlier build.
func EarlierBuild(what string) error {
	return fmt.Errorf("the %s was made by a build before 1.0.0-rc.1, %w", what, ErrEarlierBuild)
}

// RefuseMigrations returns why a program with these migrations cannot use a database that
// has the applied ones. Migrations of a newer program cannot be reverted.
func RefuseMigrations(applied []string, all []Migration) error {
	if len(applied) > 0 && !slices.Contains(applied, all[0].Name) {
		return EarlierBuild("store")
	}
	for _, name := range applied {
		if !slices.ContainsFunc(all, func(m Migration) bool { return m.Name == name }) {
			return fmt.Errorf("the store has migration %s, which this program does not know: use a newer bursar", name)
		}
	}
	return nil
}

func appliedMigrations(c Conn) (applied []string, err error) {
	rows, err := c.Query(`SELECT name FROM schema_migration ORDER BY name`, nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		applied = append(applied, rows.Text(0))
	}
	return applied, rows.Err()
}
