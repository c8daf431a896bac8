package db_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

func TestAWriteIsAnsweredAfterItsCommit(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		const writers = 100
		d, other := store.Open(t), store.Open(t)
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() {
				name := fmt.Sprintf("n%d", i)
				if err := put(t.Context(), d, name); err != nil {
					t.Errorf("put %s: %v", name, err)
					return
				}
				if !has(t, other, name) {
					t.Errorf("%s was answered and another connection does not see it", name)
				}
			})
		}
		all.Wait()
		if got := count(t, other, `SELECT count(*) FROM setting`); got != writers {
			t.Errorf("%d of %d writes are there", got, writers)
		}
		if got := auditRows(t, other); got != writers {
			t.Errorf("%d writes left %d audit rows", writers, got)
		}
	})
}

func TestWritesSurviveClosingTheStore(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d, err := db.Open(t.Context(), store.Config)
		if err != nil {
			t.Fatal(err)
		}
		mustPut(t, d, "kept")
		if err := d.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
		if !has(t, store.Open(t), "kept") {
			t.Error("what was written is gone after closing and opening")
		}
	})
}

// failures are ways in which a write can fail after it has written.
var failures = map[string]func(tx *db.Tx) (audit.Event, error){
	"an error": func(*db.Tx) (audit.Event, error) { return happened, errOnPurpose },
	"a panic":  func(*db.Tx) (audit.Event, error) { panic("on purpose") },
	"no event": func(*db.Tx) (audit.Event, error) { return audit.Event{}, nil },
	"a constraint": func(tx *db.Tx) (audit.Event, error) {
		return happened, tx.Exec(insertSetting, "taken", "twice")
	},
	"malformed SQL": func(tx *db.Tx) (audit.Event, error) {
		_, err := tx.Row(`SELECT nothing FROM nowhere`).Scan(new(string))
		return happened, err
	},
}

// The tests of each engine check the same for writes that certainly share a commit.
func TestAWriteThatFailsIsUndoneAlone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		for name, fail := range failures {
			t.Run(name, func(t *testing.T) {
				d := store.Open(t)
				if !has(t, d, "taken") {
					mustPut(t, d, "taken")
				}
				before := auditRows(t, d)
				const good = 30
				var all sync.WaitGroup
				for i := range good {
					all.Go(func() {
						if err := put(t.Context(), d, fmt.Sprint(name, i)); err != nil {
							t.Errorf("write %d beside the failed one: %v", i, err)
						}
					})
				}
				_, err := db.Write(t.Context(), d, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
					if err := tx.Exec(insertSetting, name, "v"); err != nil {
						return struct{}{}, happened, err
					}
					event, err := fail(tx)
					return struct{}{}, event, err
				})
				all.Wait()
				if err == nil {
					t.Error("the failed write reported success")
				}
				if has(t, d, name) {
					t.Error("what the failed write did is still there")
				}
				if got := count(t, d, `SELECT count(*) FROM setting WHERE name LIKE $1`, name+"%"); got != good {
					t.Errorf("%d of %d writes beside the failed one are there", got, good)
				}
				if got := auditRows(t, d) - before; got != good {
					t.Errorf("%d audit rows, want one for each of the %d writes that succeeded", got, good)
				}
			})
		}
	})
}

func TestTheStoreKeepsWritingAfterAPanic(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		err := change(t.Context(), d, happened, func(*db.Tx) error { panic("on purpose") })
		if err == nil || !strings.Contains(err.Error(), "panic") {
			t.Errorf("a panic was returned as %v", err)
		}
		mustPut(t, d, "after")
	})
}

func TestACallerWhoHasLeftWritesNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		ctx, leave := context.WithCancel(t.Context())
		leave()
		if err := put(ctx, d, "gone"); !errors.Is(err, context.Canceled) {
			t.Errorf("the write of a caller who has left ends with %v", err)
		}
		if has(t, d, "gone") {
			t.Error("the write of a caller who has left was committed")
		}
	})
}

func TestWriteAfterCloseFails(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d, err := db.Open(t.Context(), store.Config)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if err := put(t.Context(), d, "late"); err == nil {
			t.Error("a closed store took a write")
		}
	})
}
