package db_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

// held keeps all writes to the settings waiting until release is called.
func held(t *testing.T, store dbtest.Store) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), store.Config.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), `BEGIN; LOCK TABLE setting IN SHARE MODE`); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if _, err := conn.Exec(t.Context(), `ROLLBACK`); err != nil {
			t.Error(err)
		}
	}
}

// gathered starts writes one after another while the groups under way cannot
// proceed, and lets them proceed once all of the others wait.
func gathered(t *testing.T, store dbtest.Store, d *db.DB, writes []func()) {
	t.Helper()
	db.Patient(d)
	release := held(t, store)
	var all sync.WaitGroup
	for i := range db.GroupsAtOnce(d) {
		all.Go(func() {
			if err := put(t.Context(), d, fmt.Sprint("under way ", i)); err != nil {
				t.Errorf("a write before the group: %v", err)
			}
		})
		eventually(t, "the write is under way", func() bool {
			return count(t, d, `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'setting'::regclass`) == i+1
		})
	}
	for i, write := range writes {
		all.Go(write)
		eventually(t, "the write waits", func() bool { return db.WaitingTogether(d) == i+1 })
	}
	release()
	all.Wait()
}

func TestInsertsShareATransactionOnPostgreSQL(t *testing.T) {
	store := dbtest.Postgres(t)
	d := store.Open(t)
	const writers = 20
	var writes []func()
	for i := range writers {
		writes = append(writes, func() {
			if err := put(t.Context(), d, fmt.Sprint("n", i)); err != nil {
				t.Errorf("write %d: %v", i, err)
			}
		})
	}
	gathered(t, store, d, writes)
	if got := count(t, d, `SELECT count(*) FROM setting WHERE name LIKE 'n%'`); got != writers {
		t.Errorf("%d of %d writes are there", got, writers)
	}
	if got := count(t, d, `SELECT count(DISTINCT xmin::text) FROM setting WHERE name LIKE 'n%'`); got != 1 {
		t.Errorf("%d writes that waited together took %d transactions", writers, got)
	}
}

func TestInsertThatIsRefusedTakesDownOnlyItself(t *testing.T) {
	store := dbtest.Postgres(t)
	d := store.Open(t)
	mustPut(t, d, "taken")
	const writers = 6
	errs := make([]error, writers)
	var writes []func()
	for i := range writers {
		name := fmt.Sprint("n", i)
		if i%3 == 1 {
			name = "taken"
		}
		writes = append(writes, func() { errs[i] = put(t.Context(), d, name) })
	}
	before := auditRows(t, d)
	gathered(t, store, d, writes)
	good := 0
	for i, err := range errs {
		if refused := i%3 == 1; refused != (err != nil) || refused && !db.IsUnique(err) {
			t.Errorf("write %d ended with %v", i, err)
		}
		if i%3 != 1 {
			good++
			if !has(t, d, fmt.Sprint("n", i)) {
				t.Errorf("write %d is not there", i)
			}
		}
	}
	if got := auditRows(t, d) - before; got != good+db.GroupsAtOnce(d) {
		t.Errorf("%d audit rows, want %d and those of the %d before", got, good, db.GroupsAtOnce(d))
	}
}

func TestKeyOfOneGroupIsUsedOnce(t *testing.T) {
	store := dbtest.Postgres(t)
	d, other := store.Open(t), store.Open(t)
	once := func() *db.IdempotencyKey {
		o, err := db.NewIdempotencyKey("caller", "key", []byte("request"), func(out any) (int, []byte, error) { return 200, []byte(out.(string)), nil })
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	write := func(d *db.DB, name string) error {
		_, err := db.Write(t.Context(), d, db.Caller{IdempotencyKey: once()}, func(tx *db.Tx) (string, audit.Event, error) {
			return name, happened, tx.Exec(insertSetting, name, "v")
		})
		return err
	}
	if err := write(other, "first"); err != nil {
		t.Fatal(err)
	}
	var again, beside error
	gathered(t, store, d, []func(){
		func() { again = write(d, "second") },
		func() { beside = put(t.Context(), d, "beside") },
	})
	var replay *db.Replay
	if !errors.As(again, &replay) || string(replay.Body) != "first" {
		t.Errorf("a key that was used ends with %v, want the answer of that time", again)
	}
	if beside != nil || !has(t, d, "beside") || has(t, d, "second") {
		t.Errorf("beside it: %v; what is stored is not what was answered", beside)
	}
}

func TestCallerWhoLeavesTheGroupIsSkipped(t *testing.T) {
	store := dbtest.Postgres(t)
	d := store.Open(t)
	ctx, leave := context.WithCancel(t.Context())
	var left, stayed error
	gathered(t, store, d, []func(){
		func() { stayed = put(t.Context(), d, "stayed") },
		func() { left = put(ctx, d, "left") },
		func() { leave(); _ = put(t.Context(), d, "last") },
	})
	if stayed != nil || !has(t, d, "stayed") {
		t.Errorf("who stayed: %v", stayed)
	}
	if !errors.Is(left, context.Canceled) || has(t, d, "left") {
		t.Errorf("who left before their turn is told %v, stored: %v", left, has(t, d, "left"))
	}
}

// Who waits for another's lock waits alone: a key that another node is about to use,
// or a row that it takes away, is no reason for all others to wait.
func TestWriteThatWaitsForALockHoldsNobodyUp(t *testing.T) {
	store := dbtest.Postgres(t)
	d := store.Open(t)
	conn, err := pgx.Connect(t.Context(), store.Config.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), `BEGIN; INSERT INTO setting SELECT 'held ' || n, '' FROM generate_series(0, 9) n`); err != nil {
		t.Fatal(err)
	}
	var waiting sync.WaitGroup
	errs := make([]error, db.GroupsAtOnce(d)+1)
	for i := range errs {
		waiting.Go(func() { errs[i] = put(t.Context(), d, fmt.Sprint("held ", i)) })
	}
	eventually(t, "they wait for the lock", func() bool {
		return count(t, d, `SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'`) == len(errs)
	})
	mustPut(t, d, "unrelated")
	if _, err := conn.Exec(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	waiting.Wait()
	for i, err := range errs {
		if err != nil || !has(t, d, fmt.Sprint("held ", i)) {
			t.Errorf("write %d: %v", i, err)
		}
	}
}

func TestWriteThatCannotBeSaidTakesDownOnlyItself(t *testing.T) {
	store := dbtest.Postgres(t)
	d := store.Open(t)
	type secret struct{ of string }
	var good, bad error
	gathered(t, store, d, []func(){
		func() { good = put(t.Context(), d, "good") },
		func() {
			bad = change(t.Context(), d, happened, func(tx *db.Tx) error { return tx.Exec(insertSetting, "bad", secret{"somebody"}) })
		},
	})
	if good != nil || !has(t, d, "good") {
		t.Errorf("the good one is told %v", good)
	}
	if bad == nil || has(t, d, "bad") {
		t.Errorf("the bad one is told %v", bad)
	}
}

func TestCommitThatRollsBackIsAnError(t *testing.T) {
	store := dbtest.Postgres(t)
	d := store.Open(t)
	err := change(t.Context(), d, audit.None("a test"), func(tx *db.Tx) error {
		_, _ = tx.Row(`SELECT 1 / length($1)`, "").Scan(new(int64)) // and takes no notice
		return nil
	})
	if err == nil {
		t.Error("a transaction that was rolled back counts as done")
	}
}

func TestClosingWaitsForGroups(t *testing.T) {
	store := dbtest.Postgres(t)
	reader := store.Open(t)
	for round := range 5 {
		d, err := db.Open(t.Context(), store.Config)
		if err != nil {
			t.Fatal(err)
		}
		var writers sync.WaitGroup
		for w := range 10 {
			writers.Go(func() {
				for i := range 20 {
					name := fmt.Sprint(round, "-", w, "-", i)
					if put(t.Context(), d, name) == nil && !has(t, reader, name) {
						t.Errorf("%s was answered and is not there", name)
					}
				}
			})
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		writers.Wait()
	}
}

// panicking is a value that pgx fails to encode in the worst way.
type panicking struct{}

func (panicking) Value() (driver.Value, error) { panic("on purpose") }

func TestWriteThatPanicsOnItsWayHoldsNobodyUp(t *testing.T) {
	store := dbtest.Postgres(t)
	d := store.Open(t)
	for range 2*db.GroupsAtOnce(d) + 1 {
		err := change(t.Context(), d, happened, func(tx *db.Tx) error { return tx.Exec(insertSetting, "bad", panicking{}) })
		if err == nil {
			t.Error("it counts as done")
		}
	}
	mustPut(t, d, "good")
}
