package db_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

const countSettings = `SELECT count(*) FROM setting`

// countAround counts, lets another connection write, and counts again.
func countAround(t *testing.T, d *db.DB, name string, prepare func(db.Q) error) (before, after int) {
	t.Helper()
	err := d.Read(t.Context(), func(q db.Q) error {
		if err := prepare(q); err != nil {
			return err
		}
		if _, err := q.Row(countSettings).Scan(&before); err != nil {
			return err
		}
		mustPut(t, d, name)
		_, err := q.Row(countSettings).Scan(&after)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return before, after
}

func TestASnapshotDoesNotChange(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		if before, after := countAround(t, d, "during", db.Q.Snapshot); before != after {
			t.Errorf("a snapshot saw %d rows, then %d", before, after)
		}
		if !has(t, d, "during") {
			t.Error("what was written during a snapshot is not seen after it")
		}
	})
}

func TestAReadWithoutASnapshotSeesNewCommits(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		if before, after := countAround(t, d, "during", func(db.Q) error { return nil }); after != before+1 {
			t.Errorf("the count went from %d to %d around a write", before, after)
		}
	})
}

// Every write changes two rows together, so a snapshot sees the same in both.
func TestASnapshotNeverSeesHalfAWrite(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		mustPut(t, d, "left")
		mustPut(t, d, "right")
		stop := make(chan struct{})
		var writer sync.WaitGroup
		writer.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := change(t.Context(), d, happened, func(tx *db.Tx) error {
					return tx.Exec(`UPDATE setting SET value = $1`, fmt.Sprint(i))
				}); err != nil {
					t.Errorf("write: %v", err)
					return
				}
			}
		})
		for range 200 {
			var left, right string
			err := d.Read(t.Context(), func(q db.Q) error {
				err := q.Snapshot()
				for name, value := range map[string]*string{"left": &left, "right": &right} {
					if err == nil {
						_, err = q.Row(`SELECT value FROM setting WHERE name = $1`, name).Scan(value)
					}
				}
				return err
			})
			if err != nil || left != right {
				t.Errorf("a snapshot saw %q and %q: %v", left, right, err)
			}
		}
		close(stop)
		writer.Wait()
	})
}

// leaveDuring runs a query, cancels the context, and runs the query again.
func leaveDuring(t *testing.T, d *db.DB, prepare func(db.Q) error) error {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	return d.Read(ctx, func(q db.Q) error {
		if err := prepare(q); err != nil {
			t.Fatalf("prepare the read: %v", err)
		}
		if _, err := q.Row(countSettings).Scan(new(int)); err != nil {
			t.Fatalf("query: %v", err)
		}
		leave()
		_, err := q.Row(countSettings).Scan(new(int))
		return err
	})
}

// manyReads is more than the connections that read on a small machine, so that each
// of them is used.
const manyReads = 16

// A connection whose caller has left in the middle of a snapshot must not keep the
// snapshot.
func TestASnapshotEndsWhenItsCallerLeaves(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		for i := range manyReads {
			_ = leaveDuring(t, d, db.Q.Snapshot)
			name := fmt.Sprint("fresh", i)
			mustPut(t, d, name)
			if !has(t, d, name) {
				t.Fatal("a connection still has the snapshot of a caller who left")
			}
		}
	})
}

func TestAReadEndsWhenItsCallerLeaves(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		for range manyReads {
			if err := leaveDuring(t, d, func(db.Q) error { return nil }); !errors.Is(err, context.Canceled) {
				t.Fatalf("a read whose caller left ends with %v, want context.Canceled", err)
			}
		}
	})
}

func TestACallerWhoHasLeftReadsNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		ctx, leave := context.WithCancel(t.Context())
		leave()
		for range manyReads {
			if err := d.Read(ctx, func(q db.Q) error {
				_, err := q.Row(countSettings).Scan(new(int))
				return err
			}); !errors.Is(err, context.Canceled) {
				t.Fatalf("the read of a caller who has left ends with %v, want context.Canceled", err)
			}
		}
	})
}

func TestReadReturnsTheErrorOfItsCallback(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		mustPut(t, d, "row")
		err := d.Read(t.Context(), func(q db.Q) error {
			return q.Each(func(db.Rows) error { return errOnPurpose }, `SELECT name FROM setting`)
		})
		if !errors.Is(err, errOnPurpose) {
			t.Errorf("got %v", err)
		}
		if !has(t, d, "row") {
			t.Error("reads no longer work")
		}
	})
}

func TestTheStoreAnswersPing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		if err := store.Open(t).Ping(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
