package postgres_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"testing"

	"bursar/internal/db/engine"
	"bursar/internal/db/postgres"
	"bursar/internal/wait"
)

// group runs writes so that they wait for the same group: it holds up the groups
// in flight, starts the writes one after another, and releases the groups when all
// of the writes wait.
func (d *database) group(t *testing.T, writes ...func()) {
	t.Helper()
	d.DisableGroupLockTimeout()
	lock := d.connect(t)
	_, err := lock.Exec(t.Context(), `BEGIN; LOCK TABLE pair IN SHARE MODE`)
	must(t, err)
	var all sync.WaitGroup
	for i := range d.MaxLeaders() {
		all.Go(func() {
			if err := d.insert(t.Context(), fmt.Sprint("in flight ", i)); err != nil {
				t.Errorf("a write before the group: %v", err)
			}
		})
		wait.Until(t, "the write is in flight", func() bool {
			return d.count(t, `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'pair'::regclass`) == int64(i+1)
		})
	}
	for i, write := range writes {
		all.Go(write)
		wait.Until(t, "the write waits", func() bool { return d.Waiting() == i+1 })
	}
	_, err = lock.Exec(t.Context(), `ROLLBACK`)
	must(t, err)
	all.Wait()
}

func TestInsertsThatWaitShareATransaction(t *testing.T) {
	d := open(t)
	const writers = 20
	var writes []func()
	for i := range writers {
		writes = append(writes, func() {
			if err := d.insert(t.Context(), fmt.Sprint("n", i)); err != nil {
				t.Errorf("write %d: %v", i, err)
			}
		})
	}
	d.group(t, writes...)
	if got := d.count(t, `SELECT count(*) FROM pair WHERE name LIKE 'n%'`); got != 2*writers {
		t.Errorf("%d of %d rows are there", got, 2*writers)
	}
	if got := d.count(t, `SELECT count(DISTINCT xmin::text) FROM pair WHERE name LIKE 'n%'`); got != 1 {
		t.Errorf("%d writes that waited together took %d transactions", writers, got)
	}
}

func TestAnInsertThatIsRefusedIsUndoneAlone(t *testing.T) {
	d := open(t)
	must(t, d.insert(t.Context(), "taken"))
	errs := make([]error, 6)
	var writes []func()
	for i := range errs {
		name := fmt.Sprint("n", i)
		if i%3 == 1 {
			name = "taken"
		}
		writes = append(writes, func() { errs[i] = d.insert(t.Context(), name) })
	}
	d.group(t, writes...)
	for i, err := range errs {
		switch taken := i%3 == 1; {
		case taken && !postgres.IsUnique(err), !taken && err != nil:
			t.Errorf("write %d ended with %v", i, err)
		case !taken && !d.has(t, fmt.Sprint("n", i)):
			t.Errorf("write %d is not there", i)
		}
	}
}

func TestTheWriteOfACallerWhoLeavesTheGroupIsSkipped(t *testing.T) {
	d := open(t)
	ctx, leave := context.WithCancel(t.Context())
	var left, stayed error
	d.group(t,
		func() { stayed = d.insert(t.Context(), "stayed") },
		func() { left = d.insert(ctx, "left") },
		func() { leave(); _ = d.insert(t.Context(), "last") },
	)
	if stayed != nil || !d.has(t, "stayed") {
		t.Errorf("the caller who stayed gets %v", stayed)
	}
	if !errors.Is(left, context.Canceled) || d.has(t, "left") {
		t.Errorf("the caller who left gets %v, stored: %v", left, d.has(t, "left"))
	}
}

// Another node may be inserting the same key, or deleting a row that an insert
// refers to. Only the write that meets its lock waits for it.
func TestAWriteThatWaitsForALockDelaysNoOther(t *testing.T) {
	d := open(t)
	lock := d.connect(t)
	_, err := lock.Exec(t.Context(), `BEGIN; INSERT INTO pair SELECT 'held ' || n, '' FROM generate_series(0, 9) n`)
	must(t, err)
	var waiting sync.WaitGroup
	errs := make([]error, d.MaxLeaders()+1)
	for i := range errs {
		waiting.Go(func() { errs[i] = d.insert(t.Context(), fmt.Sprint("held ", i)) })
	}
	wait.Until(t, "they wait for the lock", func() bool {
		return d.count(t, `SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'`) == int64(len(errs))
	})
	must(t, d.insert(t.Context(), "unrelated"))
	_, err = lock.Exec(t.Context(), `ROLLBACK`)
	must(t, err)
	waiting.Wait()
	for i, err := range errs {
		if err != nil || !d.has(t, fmt.Sprint("held ", i)) {
			t.Errorf("write %d: %v", i, err)
		}
	}
}

// insertValue inserts a row with a value that pgx may not be able to encode.
func (d *database) insertValue(t *testing.T, name string, value any) error {
	return d.Write(t.Context(), func(c engine.Conn) error { return c.Exec(insertPair, []any{name, value}) })
}

func TestAWriteThatCannotBeEncodedIsUndoneAlone(t *testing.T) {
	d := open(t)
	var good, bad error
	d.group(t,
		func() { good = d.insert(t.Context(), "good") },
		func() { bad = d.insertValue(t, "bad", struct{ secret string }{"x"}) },
	)
	if good != nil || !d.has(t, "good") {
		t.Errorf("the good write ended with %v", good)
	}
	if bad == nil || d.count(t, `SELECT count(*) FROM pair WHERE name = 'bad'`) != 0 {
		t.Errorf("the bad write ended with %v", bad)
	}
}

// panicking is a value that panics when pgx encodes it.
type panicking struct{}

func (panicking) Value() (driver.Value, error) { panic("on purpose") }

func TestAWriteThatPanicsWhenItIsSentDelaysNoOther(t *testing.T) {
	d := open(t)
	for range 2*d.MaxLeaders() + 1 {
		if err := d.insertValue(t, "bad", panicking{}); err == nil {
			t.Error("a write that panicked counts as done")
		}
	}
	must(t, d.insert(t.Context(), "good"))
}

func TestCloseWaitsForGroups(t *testing.T) {
	reader := open(t)
	for round := range 5 {
		d := openAt(t, reader.url)
		var writers sync.WaitGroup
		for w := range 10 {
			writers.Go(func() {
				for i := range 20 {
					name := fmt.Sprint(round, "-", w, "-", i)
					if d.insert(t.Context(), name) == nil && !reader.has(t, name) {
						t.Errorf("%s was answered and is not there", name)
					}
				}
			})
		}
		must(t, d.Close())
		writers.Wait()
	}
}
