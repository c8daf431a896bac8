package db_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

// migrations lists the applied migrations, with their times.
func migrations(t *testing.T, d *db.DB) []string {
	t.Helper()
	var list []string
	err := d.Read(t.Context(), func(q db.Q) (err error) {
		list, err = db.Collect(q, func(r db.Rows) string { return r.Text(0) + " " + time.UnixMilli(r.Int(1)).String() },
			`SELECT name, applied_at FROM schema_migration ORDER BY name`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestOpeningAgainMigratesNothing(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store dbtest.Store) {
		first := migrations(t, store.OpenAt(t, func() time.Time { return time.UnixMilli(1) }))
		second := migrations(t, store.OpenAt(t, func() time.Time { return time.UnixMilli(2) }))
		if len(first) == 0 || strings.Join(first, ",") != strings.Join(second, ",") {
			t.Errorf("migrations were %v, then %v", first, second)
		}
	})
}

func TestManyNodesOpenANewStoreAtOnce(t *testing.T) {
	for range 3 {
		dbtest.EachEmpty(t, func(t *testing.T, store dbtest.Store) {
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() {
					d, err := db.Open(context.Background(), store.Config)
					if err != nil {
						t.Errorf("open: %v", err)
						return
					}
					if err := put(context.Background(), d, d.NewID("x")); err != nil {
						t.Errorf("write: %v", err)
					}
					if err := d.Close(); err != nil {
						t.Errorf("close: %v", err)
					}
				})
			}
			all.Wait()
			if got := count(t, store.Open(t), countSettings); got != 5 {
				t.Errorf("%d of 5 writes are there", got)
			}
		})
	}
}

func TestAStoreOfANewerProgramIsRefused(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		err := change(t.Context(), d, audit.None("a test"), func(tx *db.Tx) error {
			return tx.Exec(`INSERT INTO schema_migration (name, applied_at) VALUES ($1, $2)`, "9999_from_the_future", 1)
		})
		if err != nil {
			t.Fatal(err)
		}
		before := migrations(t, d)
		newer, err := db.Open(t.Context(), store.Config)
		if err == nil {
			t.Fatalf("a store of a newer program was opened: %v", newer.Close())
		}
		if text := err.Error(); !strings.Contains(text, "9999_from_the_future") || !strings.Contains(text, "newer bursar") {
			t.Errorf("the refusal does not say why: %s", text)
		}
		if after := migrations(t, d); strings.Join(before, ",") != strings.Join(after, ",") {
			t.Errorf("the refused store was changed from %v to %v", before, after)
		}
	})
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		config db.Config
		want   string
	}{
		"nothing given":    {db.Config{}, "neither a data folder nor a database URL"},
		"malformed URL":    {db.Config{URL: "postgres://user:hunter2@[broken"}, "malformed"},
		"nobody listens":   {db.Config{URL: "postgres://user:hunter2@127.0.0.1:1/x?sslmode=disable"}, "reach PostgreSQL"},
		"folder is a file": {db.Config{Dir: "main_test.go"}, "data folder"},
		"folder in a file": {db.Config{Dir: "main_test.go/below"}, "data folder"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := db.Open(t.Context(), c.config)
			if err == nil {
				t.Fatalf("opened: %v", d.Close())
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the password is in the error: %v", err)
			}
		})
	}
}
