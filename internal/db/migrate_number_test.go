package db_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

// openBefore opens a store as the last program without a migration left it.
func openBefore(t *testing.T, store dbtest.Store, migration string) *db.DB {
	t.Helper()
	config := store.Config
	config.Schema, config.Marked = migration, true // 0052_name sorts after 0052, so 0052 itself is not applied
	d, err := db.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// fillBefore opens a store as the last program without a migration left it, runs
// statements in it and closes it again.
func fillBefore(t *testing.T, store dbtest.Store, migration string, fill func(tx *db.Tx) error) {
	t.Helper()
	d := openBefore(t, store, migration)
	if err := change(t.Context(), d, audit.None("a store of before"), fill); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// each runs a statement with every argument.
func each(tx *db.Tx, sql string, args ...any) error {
	for _, arg := range args {
		if err := tx.Exec(sql, arg); err != nil {
			return err
		}
	}
	return nil
}

const (
	insertOrganization = `INSERT INTO organization (id, name, slug, created_at) VALUES ($1, $1, $1, 0)`
	insertWorkspace    = `INSERT INTO workspace (id, organization_id, name, slug, member_version, created_at) VALUES ($1, 'org_1', $1, $1, 0, 0)`
)

func TestWorkspacesAreNumbered(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store dbtest.Store) {
		fillBefore(t, store, "0012", func(tx *db.Tx) error {
			if err := each(tx, insertOrganization, "org_1"); err != nil {
				return err
			}
			return each(tx, insertWorkspace, "ws_b", "ws_c", "ws_a")
		})
		var got []string
		err := store.Open(t).Read(t.Context(), func(q db.Q) (err error) {
			got, err = db.Collect(q, func(r db.Rows) string { return r.Text(0) },
				`SELECT id FROM workspace w, workspace_counter c WHERE w.number BETWEEN 1 AND c.last_number ORDER BY w.number`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"ws_a", "ws_b", "ws_c"}, got); diff != "" {
			t.Errorf("workspaces by number, want (-) and got (+):\n%s", diff)
		}
	})
}
