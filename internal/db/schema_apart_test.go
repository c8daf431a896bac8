package db_test

import (
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/db/dbtest/pgcluster"
)

// Two stores can share a database of PostgreSQL, each with its own search_path. Neither sees the rows, the lock or the
// changes of access of the other.
func TestStoresInTwoSchemasOfADatabaseAreApart(t *testing.T) {
	t.Parallel()
	cluster := dbtest.Cluster(t, pgcluster.Options{})
	open := func() *db.DB {
		t.Helper()
		url, err := cluster.NewSchema(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d, err := db.Open(t.Context(), db.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		return d
	}
	first, second := open(), open()
	if err := db.Record(t.Context(), first, db.Caller{Actor: audit.SystemActor("test")}, audit.Event{Action: audit.TagCreated}, nil); err != nil {
		t.Fatal(err)
	}
	if here, there := auditRows(t, first), auditRows(t, second); here != 1 || there != 0 {
		t.Errorf("%d rows here and %d there", here, there)
	}
	if err := first.Exclusive(t.Context(), func(*db.Bulk) error { return nil }); err != nil {
		t.Errorf("the other store keeps this one from being used alone: %v", err)
	}
}
