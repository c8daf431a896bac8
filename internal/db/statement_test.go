package db_test

import (
	"testing"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

func TestParametersAreBoundByNumber(t *testing.T) {
	cases := map[string]struct {
		sql  string
		args []any
		want string
	}{
		"in order":           {`SELECT CAST($1 AS TEXT) || CAST($2 AS TEXT)`, []any{"a", "b"}, "ab"},
		"out of order":       {`SELECT CAST($2 AS TEXT) || CAST($1 AS TEXT)`, []any{"a", "b"}, "ba"},
		"repeated":           {`SELECT CAST($1 AS TEXT) || CAST($2 AS TEXT) || CAST($1 AS TEXT)`, []any{"a", "b"}, "aba"},
		"last first, twice":  {`SELECT CAST($3 AS TEXT) || CAST($1 AS TEXT) || CAST($3 AS TEXT) || CAST($2 AS TEXT)`, []any{"a", "b", "c"}, "cacb"},
		"beyond nine":        {`SELECT CAST($10 AS TEXT) || CAST($1 AS TEXT) || CAST($2 AS TEXT) || CAST($3 AS TEXT) || CAST($4 AS TEXT) || CAST($5 AS TEXT) || CAST($6 AS TEXT) || CAST($7 AS TEXT) || CAST($8 AS TEXT) || CAST($9 AS TEXT)`, []any{"1", "2", "3", "4", "5", "6", "7", "8", "9", "0"}, "0123456789"},
		"with quoted dollar": {`SELECT '$2' || CAST($1 AS TEXT)`, []any{"a"}, "$2a"},
	}
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				for range 2 { // the second time the statement is prepared already
					var got string
					err := d.Read(t.Context(), func(q db.Q) error {
						_, err := q.Row(c.sql, c.args...).Scan(&got)
						return err
					})
					if err != nil || got != c.want {
						t.Errorf("got %q, want %q: %v", got, c.want, err)
					}
				}
			})
		}
	})
}

func TestParametersOfAChangeAreBoundByNumber(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		err := change(t.Context(), d, happened, func(tx *db.Tx) error {
			return tx.Exec(`INSERT INTO setting (value, name) VALUES ($2, $1)`, "the name", "the value")
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := count(t, d, `SELECT count(*) FROM setting WHERE value = $2 AND name = $1`, "the name", "the value"); got != 1 {
			t.Error("the values went into the wrong columns")
		}
	})
}

func TestAMissingParameterIsAnError(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		err := d.Read(t.Context(), func(q db.Q) error {
			_, err := q.Row(`SELECT name FROM setting WHERE name = $1 AND value = $2`, "only one").Scan(new(string))
			return err
		})
		if err == nil {
			t.Error("a parameter without a value was taken for NULL")
		}
	})
}

func TestValuesAreReadAsTheyWereWritten(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		const big = int64(1) << 53
		err := change(t.Context(), d, happened, func(tx *db.Tx) error {
			if err := tx.Exec(`INSERT INTO organization (id, name, slug, created_at) VALUES ($1, $2, $3, $4)`, "org_1", "Ünïcödé 🦉 '\"", "s", big+1); err != nil {
				return err
			}
			if err := tx.Exec(`INSERT INTO workspace (id, number, organization_id, name, slug, member_version, created_at) VALUES ($1, 7, $2, $1, $1, 0, 0)`, "ws_1", "org_1"); err != nil {
				return err
			}
			return tx.Exec(`INSERT INTO directory_entry (id, workspace_number, type, label, label_sent, name, status, fields, words, created_at, updated_at, deleted_at)
				VALUES ($1, $2, '', '', $3, '', '', '{}', '', $4, 0, $5)`, db.PackID("entry", d.NewID("entry")), 7, true, -1, db.NullInt(0))
		})
		if err != nil {
			t.Fatal(err)
		}
		var name string
		var at, created, deleted int64
		var sent bool
		err = d.Read(t.Context(), func(q db.Q) error {
			_, err := q.Row(`SELECT o.name, o.created_at, e.label_sent, e.created_at, e.deleted_at
				FROM organization o JOIN workspace w ON w.organization_id = o.id JOIN directory_entry e ON e.workspace_number = w.number`).
				Scan(&name, &at, &sent, &created, &deleted)
			return err
		})
		if err != nil || name != "Ünïcödé 🦉 '\"" || at != big+1 || !sent || created != -1 || deleted != 0 {
			t.Errorf("read back %q %d %v %d %d: %v", name, at, sent, created, deleted, err)
		}
	})
}

func TestNullIsDifferentFromEmpty(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		err := d.Read(t.Context(), func(q db.Q) error {
			return q.Each(func(r db.Rows) error {
				if !r.Null(0) || r.Text(0) != "" || r.Null(1) {
					t.Errorf("null %v %q, empty %v", r.Null(0), r.Text(0), r.Null(1))
				}
				return nil
			}, `SELECT CAST(NULL AS TEXT), ''`)
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// SQLite prepares a statement once for each connection, so running it again while
// its result is being read would restart the result. On PostgreSQL the connection
// is busy.
func TestAStatementThatRunsWhileItsResultIsReadIsAnError(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		mustPut(t, d, "a")
		mustPut(t, d, "b")
		const names = `SELECT name FROM setting ORDER BY name`
		var inner error
		rows := 0
		err := d.Read(t.Context(), func(q db.Q) error {
			return q.Each(func(db.Rows) error {
				rows++
				inner = q.Each(func(db.Rows) error { return nil }, names)
				return nil
			}, names)
		})
		if inner == nil {
			t.Error("the inner statement was not refused")
		}
		if err == nil && rows != 2 {
			t.Errorf("the outer result has %d rows, want 2", rows)
		}
		if !has(t, d, "a") {
			t.Error("reads no longer work")
		}
	})
}

func TestOrderIsBytewise(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		for _, name := range []string{"a_b", "B", "a-c", "ä", "b", "a"} {
			mustPut(t, d, name)
		}
		var got []string
		err := d.Read(t.Context(), func(q db.Q) (err error) {
			got, err = db.Collect(q, func(r db.Rows) string { return r.Text(0) }, `SELECT name FROM setting WHERE (name, value) > ($1, $2) ORDER BY name`, "B", "v")
			return err
		})
		want := []string{"a", "a-c", "a_b", "b", "ä"}
		if err != nil || len(got) != len(want) {
			t.Fatalf("got %q: %v", got, err)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("got %q, want %q", got, want)
				break
			}
		}
	})
}
