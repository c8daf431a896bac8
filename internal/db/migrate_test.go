package db_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

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

// openAtOnce opens a store from many nodes at once, each of which writes something.
func openAtOnce(t *testing.T, config db.Config) {
	t.Helper()
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			d, err := db.Open(context.Background(), config)
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
}

func TestManyNodesOpenANewStoreAtOnce(t *testing.T) {
	for range 3 {
		dbtest.EachEmpty(t, func(t *testing.T, store dbtest.Store) {
			openAtOnce(t, store.Config)
			if got := count(t, store.Open(t), countSettings); got != 5 {
				t.Errorf("%d of 5 writes are there", got)
			}
		})
	}
}

// next is the configuration of a store for an invented next version of the program.
func next(store dbtest.Store) db.Config {
	config := store.Config
	config.Migrations = dbtest.NextVersion()
	return config
}

// upgrade opens a store with a program, and closes it.
func upgrade(t *testing.T, config db.Config) error {
	t.Helper()
	d, err := db.Open(t.Context(), config)
	if err != nil {
		return err
	}
	return d.Close()
}

func TestTheNextVersionIsAppliedOnceByManyNodes(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		mustPut(t, d, "before")
		before := migrations(t, d)
		openAtOnce(t, next(store))
		store.Config = next(store)
		d = store.Open(t)
		if got := count(t, d, `SELECT count(*) FROM setting WHERE note = 'none'`); got != 6 {
			t.Errorf("%d of 6 rows have the new column", got)
		}
		if got := migrations(t, d); len(got) != len(before)+1 || !slices.Equal(got[:len(before)], before) || !strings.HasPrefix(got[len(before)], "9999_next") {
			t.Errorf("the migrations are %q", got)
		}
	})
}

func TestAnUpgradeThatFailedIsRepeated(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		before := migrations(t, d)
		broken := next(store)
		failing := &fstest.MapFile{Data: []byte(`CREATE INDEX setting_note ON nowhere (note);`)}
		broken.Migrations.(fstest.MapFS)["9999_next."+store.Engine+".sql"] = failing
		for range 2 {
			if err := upgrade(t, broken); err == nil || !strings.Contains(err.Error(), "apply migration 9999_next") {
				t.Errorf("the upgrade: %v", err)
			}
		}
		if after := migrations(t, d); !slices.Equal(before, after) {
			t.Errorf("the failed upgrade has changed the migrations to %q", after)
		}
		mustPut(t, d, "still in use")
		if err := errors.Join(upgrade(t, store.Config), upgrade(t, next(store))); err != nil {
			t.Error(err)
		}
		if got := count(t, d, `SELECT count(*) FROM setting WHERE note = 'none'`); got != 1 {
			t.Errorf("%d rows have the new column", got)
		}
	})
}

func TestAStoreOfANewerProgramIsRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		if err := upgrade(t, next(store)); err != nil {
			t.Fatal(err)
		}
		before := migrations(t, d)
		err := upgrade(t, store.Config)
		if err == nil || !strings.Contains(err.Error(), "9999_next") || !strings.Contains(err.Error(), "newer bursar") {
			t.Errorf("the refusal does not say why: %v", err)
		}
		if after := migrations(t, d); !slices.Equal(before, after) {
			t.Errorf("the refused store was changed from %v to %v", before, after)
		}
	})
}

func TestAStoreOfAnEarlierBuildIsRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		store.LooksEarlier(t, d)
		before := migrations(t, d)
		for name, change := range map[string]func(c *db.Config){
			"open":             func(*db.Config) {},
			"as it is":         func(c *db.Config) { c.NoMigrate = true },
			"the next version": func(c *db.Config) { *c = next(store) },
		} {
			config := store.Config
			change(&config)
			const want = "the store was made by a build before 1.0.0-rc.1, which this one cannot open: start with an empty store"
			if err := upgrade(t, config); !errors.Is(err, db.ErrEarlierBuild) || err.Error() != want {
				t.Errorf("%s: %v", name, err)
			}
		}
		if after := migrations(t, d); !slices.Equal(before, after) {
			t.Errorf("the refused store was changed from %v to %v", before, after)
		}
	})
}

func TestOpenReturnsTheReasonOfAFailure(t *testing.T) {
	for name, c := range map[string]struct {
		config db.Config
		want   string
	}{
		"nothing given":    {db.Config{}, "neither a data folder nor a database URL"},
		"malformed URL":    {db.Config{URL: "postgres://user:hunter2@[broken"}, "malformed"},
		"unreachable":      {db.Config{URL: "postgres://user:hunter2@127.0.0.1:1/x?sslmode=disable"}, "reach PostgreSQL"},
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
