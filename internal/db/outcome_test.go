package db_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

// mutations are the ways in which a write reaches PostgreSQL. Each attempt adds a setting, whose name
// begins with that given and ends with what it returns, so that two attempts can be seen.
var mutations = map[string]func(d *db.DB) func(ctx context.Context, by db.Caller, name string) (int64, error){
	"an insert that shares its commit": func(d *db.DB) func(context.Context, db.Caller, string) (int64, error) {
		var attempts atomic.Int64
		return func(ctx context.Context, by db.Caller, name string) (int64, error) {
			return db.Write(ctx, d, by, func(tx *db.Tx) (int64, audit.Event, error) {
				n := attempts.Add(1)
				return n, happened, tx.Exec(insertSetting, fmt.Sprint(name, n), name)
			})
		}
	},
	"a write that has read": func(d *db.DB) func(context.Context, db.Caller, string) (int64, error) {
		var attempts atomic.Int64
		return func(ctx context.Context, by db.Caller, name string) (int64, error) {
			return db.Write(ctx, d, by, func(tx *db.Tx) (int64, audit.Event, error) {
				n := attempts.Add(1)
				if _, err := tx.Row(`SELECT name FROM setting WHERE name = $1`, name).Scan(new(string)); err != nil {
					return 0, happened, err
				}
				return n, happened, tx.Exec(insertSetting, fmt.Sprint(name, n), name)
			})
		}
	},
	"a gathered write": func(d *db.DB) func(context.Context, db.Caller, string) (int64, error) {
		var attempts atomic.Int64
		gather := db.NewCoalescer(d, func(tx *db.Tx, list []db.Request[string]) ([]db.Result[int64], error) {
			results := make([]db.Result[int64], len(list))
			for i, one := range list {
				n := attempts.Add(1)
				results[i] = db.Result[int64]{Out: n, Event: happened}
				if err := tx.Exec(insertSetting, fmt.Sprint(one.In, n), one.In); err != nil {
					return nil, err
				}
			}
			return results, nil
		})
		return func(ctx context.Context, by db.Caller, name string) (int64, error) {
			return gather.Write(ctx, "one row", by, name)
		}
	},
}

func TestAWriteWhoseConnectionBreaksHappensOnceAndIsAnsweredByWhatHappened(t *testing.T) {
	store := dbtest.Postgres(t)
	proxy := newCutProxy(t, store.Config.URL)
	d, err := db.Open(t.Context(), db.Config{URL: proxy.url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	// Ids of audit rows are unique in a workspace by one index, and outside of all by another.
	t.Run("outside of workspaces", func(t *testing.T) { breakConnections(t, d, proxy) })
	makeWorkspace(t, d)
	t.Run("in a workspace", func(t *testing.T) { breakConnections(t, d, proxy) })
}

func breakConnections(t *testing.T, d *db.DB, proxy *cutProxy) {
	for how, mutation := range mutations {
		write := mutation(d)
		for moment, at := range map[string]cut{"before COMMIT is sent": cutBeforeSent, "after the commit": cutBeforeTold, "during the commit": cutWhileItRuns} {
			t.Run(how+" "+moment, func(t *testing.T) {
				name, rows := t.Name(), auditRows(t, d)
				if _, err := write(t.Context(), db.Caller{}, name+" before"); err != nil { // so that COMMIT is prepared
					t.Fatal(err)
				}
				proxy.cutNext(at)
				answer, err := write(t.Context(), db.Caller{}, name)
				if err != nil {
					t.Fatalf("the write failed: %v", err)
				}
				var stored []string
				if err := d.Read(t.Context(), func(q db.Q) (err error) {
					stored, err = db.Collect(q, func(r db.Rows) string { return r.Text(0) }, `SELECT name FROM setting WHERE value = $1`, name)
					return err
				}); err != nil || len(stored) != 1 || stored[0] != fmt.Sprint(name, answer) {
					t.Errorf("the answer is of attempt %d, the store has %q: %v", answer, stored, err)
				}
				if left := auditRows(t, d) - rows; left != 2 {
					t.Errorf("two writes left %d audit rows", left)
				}
				if proxy.take() != cutNever {
					t.Error("the connection was never cut")
				}
			})
		}
	}
}

func TestAReadWhoseConnectionBreaksIsRetried(t *testing.T) {
	proxy := newCutProxy(t, dbtest.Postgres(t).Config.URL)
	d, err := db.Open(t.Context(), db.Config{URL: proxy.url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	mustPut(t, d, "kept")
	for range 20 {
		proxy.cutAll()
		if !has(t, d, "kept") {
			t.Fatal("a setting that was stored is not there")
		}
	}
}
