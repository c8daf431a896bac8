package db_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

// color is a text with a name of its own.
type color string

// parcel is a record with a column of each kind. Its length is computed, and its weight is stored beside it.
type parcel struct {
	ID      string `db:"id"`
	Size    int64  `db:"size"`
	Fragile bool   `db:"fragile"`
	Content []byte `db:"content"`
	Color   color  `db:"color"`
	Worth   *int64 `db:"worth"`
	Note    string `db:"note,null"`
	Twice   int64  `db:"twice,computed"`
	Local   string // not stored
}

func TestRecordsAreStoredChangedAndReadByTheirTags(t *testing.T) {
	weight := db.Derived[parcel]{Column: "weight", Of: func(p *parcel) any { return 3 * p.Size }}
	whole := db.Select[parcel]("parcel", map[string]string{"twice": "2 * size"})
	part := db.Select[parcel]("parcel", nil, "id", "note")
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		none := audit.None("a test")
		_, err := db.Write(t.Context(), d, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			binary := map[string]string{"sqlite": "BLOB", "postgres": "BYTEA"}[store.Engine]
			return struct{}{}, none, tx.Exec(`CREATE TABLE parcel (note TEXT, fragile BOOLEAN, id TEXT PRIMARY KEY, weight BIGINT, size BIGINT, color TEXT, worth BIGINT, content ` + binary + `)`)
		})
		if err != nil {
			t.Fatal(err)
		}
		written, err := db.Write(t.Context(), d, db.Caller{}, func(tx *db.Tx) ([]string, audit.Event, error) {
			list := []*parcel{{ID: "a", Size: 1, Fragile: true, Content: []byte{1, 0}, Note: "x", Color: "red", Worth: new(int64(0)), Local: "y"}, {ID: "b", Size: 2}, {ID: "c", Size: 3}}
			add := db.InsertInto("parcel", weight)
			if err := add.Insert(tx, list...); err != nil {
				return nil, none, err
			}
			if err := add.OrIgnore("id").Insert(tx, &parcel{ID: "a"}, &parcel{ID: "b"}); err != nil {
				return nil, none, err
			}
			list[1].Size, list[1].Note, list[1].Fragile = 20, "changed", true
			change := db.UpdateOf("parcel", []db.Derived[parcel]{weight}, "fragile", "color").If("color")
			for _, color := range []string{"", "red"} { // b is not red
				if err := change.Update(tx, "b", list[1], color); err != nil {
					return nil, none, err
				}
				list[1].Size = 30
			}
			weights, err := db.Collect(tx.Q, func(r db.Rows) string { return r.Text(0) }, `SELECT CAST(weight AS TEXT) FROM parcel ORDER BY id`)
			return weights, none, err
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"3", "60", "9"}, written); diff != "" {
			t.Errorf("derived columns (-want +got):\n%s", diff)
		}
		var all, some []parcel
		var nulls int64
		err = d.Read(t.Context(), func(q db.Q) (err error) {
			if all, err = db.Collect(q, whole.Read, `SELECT `+whole.Columns+` FROM parcel ORDER BY id`); err != nil {
				return err
			}
			if some, err = db.Collect(q, func(r db.Rows) parcel { return part.ReadAt(r, 1) }, `SELECT size, `+part.Columns+` FROM parcel ORDER BY id`); err != nil {
				return err
			}
			_, err = q.Row(`SELECT count(*) FROM parcel WHERE note IS NULL`).Scan(&nulls)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]parcel{
			{ID: "a", Size: 1, Fragile: true, Content: []byte{1, 0}, Note: "x", Color: "red", Worth: new(int64(0)), Twice: 2},
			{ID: "b", Size: 20, Note: "changed", Twice: 40},
			{ID: "c", Size: 3, Twice: 6},
		}, all); diff != "" {
			t.Errorf("whole records (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]parcel{{ID: "a", Note: "x"}, {ID: "b", Note: "changed"}, {ID: "c"}}, some); diff != "" {
			t.Errorf("two columns (-want +got):\n%s", diff)
		}
		if nulls != 1 {
			t.Errorf("%d notes are NULL, want that of c alone", nulls)
		}
	})
}
