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

func TestNobodyIsAnsweredBeforeTheCommit(t *testing.T) {
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

// spoilers are the ways in which a write can fail after it has written.
var spoilers = map[string]func(tx *db.Tx) (audit.Event, error){
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

func TestWriteThatFailsTakesDownOnlyItself(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		for name, spoil := range spoilers {
			t.Run(name, func(t *testing.T) {
				d := store.Open(t)
				if !has(t, d, "taken") {
					mustPut(t, d, "taken")
				}
				before := auditRows(t, d)
				good, bad := amid(t, store, d, name, spoil)
				if bad == nil {
					t.Error("the write that failed was told that it succeeded")
				}
				if has(t, d, name) {
					t.Error("what the failed write did is still there")
				}
				for i, err := range good {
					if err != nil {
						t.Errorf("write %d beside the failed one: %v", i, err)
					}
					if !has(t, d, fmt.Sprint(name, i)) {
						t.Errorf("write %d beside the failed one is not there", i)
					}
				}
				if got := auditRows(t, d) - before; got != len(good)+neighbours(store) {
					t.Errorf("%d audit rows, want one for each of the %d writes that succeeded", got, len(good))
				}
			})
		}
	})
}

// neighbours is how many writes of occupied succeed along.
func neighbours(store dbtest.Store) int {
	if store.Engine == "sqlite" {
		return 1
	}
	return 0
}

// amid runs a write that spoils itself between good ones, on SQLite in the same
// group.
func amid(t *testing.T, store dbtest.Store, d *db.DB, name string, spoil func(*db.Tx) (audit.Event, error)) (good []error, bad error) {
	t.Helper()
	const before, after = 3, 3
	good = make([]error, before+after)
	release := func() {}
	if store.Engine == "sqlite" {
		release = occupied(t, d)
	}
	var all sync.WaitGroup
	queued := 0
	enqueue := func(write func()) {
		all.Go(write)
		queued++
		if store.Engine == "sqlite" {
			eventually(t, "the write is queued", func() bool { return db.Waiting(d) == queued })
		}
	}
	for i := range good {
		if i == before {
			enqueue(func() {
				_, bad = db.Write(t.Context(), d, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
					if err := tx.Exec(insertSetting, name, "v"); err != nil {
						return struct{}{}, happened, err
					}
					event, err := spoil(tx)
					return struct{}{}, event, err
				})
			})
		}
		enqueue(func() { good[i] = put(t.Context(), d, fmt.Sprint(name, i)) })
	}
	release()
	all.Wait()
	return good, bad
}

func TestStoreKeepsWritingAfterAPanic(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		err := change(t.Context(), d, happened, func(*db.Tx) error { panic("on purpose") })
		if err == nil || !strings.Contains(err.Error(), "panic") {
			t.Errorf("a panic came back as %v", err)
		}
		mustPut(t, d, "after")
	})
}

func TestCallerWhoLeftBeforeTheirTurnIsSkipped(t *testing.T) {
	store := dbtest.SQLite(t)
	d := store.Open(t)
	release := occupied(t, d)
	ctx, leave := context.WithCancel(t.Context())
	ran, done := false, make(chan error, 1)
	go func() {
		done <- change(ctx, d, happened, func(*db.Tx) error {
			ran = true
			return nil
		})
	}()
	eventually(t, "the write is queued", func() bool { return db.Waiting(d) == 1 })
	leave()
	release()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller who left is told %v", err)
	}
	if ran {
		t.Error("the write of a caller who left was run")
	}
}

func TestCallerWhoIsGoneAlreadyWritesNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		ctx, leave := context.WithCancel(t.Context())
		leave()
		if err := put(ctx, d, "gone"); !errors.Is(err, context.Canceled) {
			t.Errorf("a write for a caller who is gone ends with %v", err)
		}
		if has(t, d, "gone") {
			t.Error("a write for a caller who is gone was committed")
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
