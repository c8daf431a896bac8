package db_test

import (
	"fmt"
	"testing"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

func TestRowsThatAreInsertedTogetherAreStoredAsTheyWereGiven(t *testing.T) {
	const n = 64 + 32 + 3 // pieces of several lengths
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		rows := make([][]any, n)
		for i := range rows {
			rows[i] = []any{fmt.Sprint("value ", i), fmt.Sprintf("row %02d", i)}
		}
		err := change(t.Context(), d, happened, func(tx *db.Tx) error {
			return tx.InsertRows(`INSERT INTO setting (name, value) VALUES `, `($2, $1 || ', ' || $2)`, rows)
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := d.Read(t.Context(), func(q db.Q) (err error) {
			got, err = db.Collect(q, func(r db.Rows) string { return r.Text(0) }, `SELECT value FROM setting WHERE name LIKE 'row %' ORDER BY name`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if len(got) != n {
			t.Fatalf("stored %d rows, want %d", len(got), n)
		}
		for i, value := range got {
			if want := fmt.Sprintf("value %d, row %02d", i, i); value != want {
				t.Errorf("row %d is %q, want %q", i, value, want)
			}
		}
	})
}
