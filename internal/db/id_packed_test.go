package db_test

import (
	"slices"
	"strings"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

// unpack returns the text of what PackID returned.
func unpack(t *testing.T, prefix string, stored any) string {
	t.Helper()
	bytes, ok := stored.([16]byte)
	if !ok {
		t.Fatalf("%v is no stored id", stored)
	}
	return string(db.AppendID(nil, prefix, bytes[:]))
}

const (
	lowestID  = "entry_00000000000000000000000000"
	highestID = "entry_7zzzzzzzzzzzzzzzzzzzzzzzzz"
)

func TestAPackedIDIsTheSameID(t *testing.T) {
	d := dbtest.SQLite(t).Open(t)
	ids := []string{lowestID, highestID, "entry_0123456789abcdefghjkmnpqrs", "entry_7tvwxyz0123456789abcdefghj"}
	for range 1000 {
		ids = append(ids, d.NewID("entry"))
	}
	for _, id := range ids {
		if got := unpack(t, "entry", db.PackID("entry", id)); got != id {
			t.Errorf("%s is unpacked as %s", id, got)
		}
	}
}

// Whatever else a request calls an id must not be taken for one, least of all for another.
func TestOnlyTheSpellingThatIsMadeIsPacked(t *testing.T) {
	const id = "entry_01m7f4dmeb000sgqgd6d7veyf4"
	for _, text := range []string{
		"", "entry", "entry_", "~", id[:len(id)-1], id + "0", id + "~", id + "\x00", " " + id[:len(id)-1], strings.ToUpper(id), "Entry" + id[5:],
		"aud" + id[5:], "tag_" + id[4:], "entry-" + id[6:], "entry_8" + id[7:], "entry_z" + id[7:],
		id[:10] + "i" + id[11:], id[:10] + "l" + id[11:], id[:10] + "o" + id[11:], id[:10] + "u" + id[11:], id[:10] + "M" + id[11:],
		id[:10] + "-" + id[11:], id[:10] + "\x00" + id[11:], id[:10] + "é" + id[12:], strings.Repeat("entry_", 1000),
	} {
		if got := db.PackID("entry", text); got != nil {
			t.Errorf("%q is taken for %s", text, unpack(t, "entry", got))
		}
	}
}

func FuzzPackID(f *testing.F) {
	f.Add(lowestID)
	f.Add(highestID)
	f.Add("entry_8zzzzzzzzzzzzzzzzzzzzzzzzz")
	f.Fuzz(func(t *testing.T, text string) {
		if stored := db.PackID("entry", text); stored != nil && unpack(t, "entry", stored) != text {
			t.Errorf("%q is taken for %s", text, unpack(t, "entry", stored))
		}
	})
}

func TestEverythingIsBelowAPositionThatIsNoID(t *testing.T) {
	for _, id := range []string{lowestID, "entry_01m7f4dmeb000sgqgd6d7veyf4"} {
		if got := unpack(t, "entry", db.PackBelow("entry", id)); got != id {
			t.Errorf("the bound %s is %s", id, got)
		}
	}
	if got := unpack(t, "entry", db.PackBelow("entry", "~")); got != highestID {
		t.Errorf("everything is below %s", got)
	}
}

func TestNothingIsBetweenAnIDAndTheNext(t *testing.T) {
	for id, want := range map[string]string{
		lowestID: lowestID[:31] + "1", "entry_01m7f4dmeb000sgqgd6d7veyfz": "entry_01m7f4dmeb000sgqgd6d7veyg0",
		"entry_01m7f4dmeb0000zzzzzzzzzzzz": "entry_01m7f4dmeb0001000000000000", "entry_01m7f4dmeb000fzzzzzzzzzzzz": "entry_01m7f4dmeb000g000000000000",
	} {
		if got := db.NextID("entry", id); got != want {
			t.Errorf("after %s comes %s, want %s", id, got, want)
		}
	}
}

func TestStoredIDsSortAsTheirTextsDo(t *testing.T) {
	columns := map[string]string{"sqlite": "BLOB", "postgres": "uuid"}
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		ids := []string{lowestID, highestID, "entry_3zzzzzzzzzzzzzzzzzzzzzzzzz", "entry_40000000000000000000000000"}
		for range 20 {
			ids = append(ids, d.NewID("entry"))
		}
		err := change(t.Context(), d, audit.None("a test"), func(tx *db.Tx) error {
			return tx.Exec(`CREATE TABLE packed (id ` + columns[store.Engine] + ` PRIMARY KEY)`)
		})
		if err != nil {
			t.Fatal(err)
		}
		err = change(t.Context(), d, audit.None("a test"), func(tx *db.Tx) error {
			for _, id := range ids {
				if err := tx.Exec(`INSERT INTO packed (id) VALUES ($1)`, db.PackID("entry", id)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		read := func(sql string, args ...any) (got []string) {
			err := d.Read(t.Context(), func(q db.Q) (err error) {
				got, err = db.Collect(q, func(r db.Rows) string { return db.UnpackID("entry", r, 0) }, sql, args...)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		slices.Sort(ids)
		if got := read(`SELECT id FROM packed ORDER BY id`); !slices.Equal(got, ids) {
			t.Errorf("the store sorts %q", got)
		}
		for i, id := range ids {
			if got := read(`SELECT id FROM packed WHERE id < $1 ORDER BY id`, db.PackBelow("entry", id)); !slices.Equal(got, ids[:i]) {
				t.Errorf("%q are below %s", got, id)
			}
			if got := read(`SELECT id FROM packed WHERE id = $1`, db.PackID("entry", id)); !slices.Equal(got, ids[i:i+1]) {
				t.Errorf("%s is found as %q", id, got)
			}
		}
		if got := read(`SELECT id FROM packed WHERE id = $1`, db.PackID("entry", "no id")); len(got) > 0 {
			t.Errorf("no id is found as %q", got)
		}
	})
}
