package db_test

import (
	"context"
	"errors"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// happened is the event of a change that does not change access.
var happened = audit.Event{Action: audit.TagCreated, WorkspaceID: "ws_1", ResourceID: "tag_1", Description: "Created a tag"}

const insertSetting = `INSERT INTO setting (name, value) VALUES ($1, $2)`

// change runs fn as a mutation.
func change(ctx context.Context, d *db.DB, event audit.Event, fn func(tx *db.Tx) error) error {
	_, err := db.Write(ctx, d, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, event, fn(tx)
	})
	return err
}

// put stores a setting as a mutation.
func put(ctx context.Context, d *db.DB, name string) error {
	return change(ctx, d, happened, func(tx *db.Tx) error { return tx.Exec(insertSetting, name, "v") })
}

func mustPut(t testing.TB, d *db.DB, name string) {
	t.Helper()
	if err := put(t.Context(), d, name); err != nil {
		t.Fatalf("put %s: %v", name, err)
	}
}

// has reports whether a setting is there.
func has(t testing.TB, d *db.DB, name string) bool {
	t.Helper()
	return count(t, d, `SELECT count(*) FROM setting WHERE name = $1`, name) == 1
}

// count returns the number that a query answers with. Any goroutine may call it.
func count(t testing.TB, d *db.DB, sql string, args ...any) (n int) {
	t.Helper()
	err := d.Read(t.Context(), func(q db.Q) error {
		_, err := q.Row(sql, args...).Scan(&n)
		return err
	})
	if err != nil {
		t.Errorf("%s: %v", sql, err)
	}
	return n
}

func auditRows(t testing.TB, d *db.DB) int {
	t.Helper()
	return count(t, d, `SELECT count(*) FROM audit_log`)
}

var errOnPurpose = errors.New("on purpose")

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
	insertWorkspace    = `INSERT INTO workspace (id, number, organization_id, name, slug, member_version, created_at)
		VALUES ($1, 1, 'org_1', $1, $1, 0, 0)`
)
