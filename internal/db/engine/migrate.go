package engine

import "fmt"

// Migration is one step of the schema.
type Migration struct {
	Name, SQL string
	Then      func(c Conn) error // what SQL cannot do, in the same transaction; nil if nothing
}

// Migrator is a connection in a transaction that keeps other programs from
// changing the schema at the same time.
type Migrator interface {
	Conn
	// Script runs several statements without parameters.
	Script(sql string) error
}

// ApplyMigrations runs the migrations that the database does not have yet. It
// refuses a database that a newer program has migrated, because there is no way
// back.
func ApplyMigrations(m Migrator, all []Migration, now int64) error {
	if err := m.Script(`CREATE TABLE IF NOT EXISTS schema_migration (name TEXT PRIMARY KEY, applied_at BIGINT NOT NULL)`); err != nil {
		return fmt.Errorf("create the table of migrations: %w", err)
	}
	applied, err := appliedMigrations(m)
	if err != nil {
		return fmt.Errorf("list the applied migrations: %w", err)
	}
	for _, step := range all {
		if applied[step.Name] {
			delete(applied, step.Name)
			continue
		}
		if err := m.Script(step.SQL); err != nil {
			return fmt.Errorf("apply migration %s: %w", step.Name, err)
		}
		if step.Then != nil {
			if err := step.Then(m); err != nil {
				return fmt.Errorf("apply migration %s: %w", step.Name, err)
			}
		}
		if err := m.Exec(`INSERT INTO schema_migration (name, applied_at) VALUES ($1, $2)`, []any{step.Name, now}); err != nil {
			return fmt.Errorf("record migration %s: %w", step.Name, err)
		}
	}
	for name := range applied {
		return UnknownMigration(name)
	}
	return nil
}

// UnknownMigration refuses a store of a newer program.
func UnknownMigration(name string) error {
	return fmt.Errorf("the store has migration %s, which this program does not know: use a newer bursar", name)
}

func appliedMigrations(c Conn) (map[string]bool, error) {
	rows, err := c.Query(`SELECT name FROM schema_migration ORDER BY name`, nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	applied := map[string]bool{}
	for rows.Next() {
		applied[rows.Text(0)] = true
	}
	return applied, rows.Err()
}
