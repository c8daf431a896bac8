package db_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/torture"
	"bursar/internal/wait"
)

var must = dbtest.Must

func TestNoWriteIsLostDuplicatedOrUnknownWhenThePrimaryDies(t *testing.T) {
	const writers = 16
	p := dbtest.Pair(t)
	d, err := db.Open(t.Context(), db.Config{URL: p.URL()})
	must(t, err)
	t.Cleanup(func() { _ = d.Close() })

	var answered sync.Map
	var total atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("%d/%d", w, i)
				read := i%2 == 0 // every other write commits alone
				_, err := db.Write(t.Context(), d, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
					if read {
						if _, err := tx.Row(`SELECT name FROM setting WHERE name = $1`, name).Scan(new(string)); err != nil {
							return struct{}{}, audit.Event{}, err
						}
					}
					return struct{}{}, happened, tx.Exec(insertSetting, name, "v")
				})
				if err != nil {
					t.Errorf("write %s: %v", name, err)
					return
				}
				answered.Store(name, true)
				total.Add(1)
			}
		})
	}
	more := func() {
		t.Helper()
		before := total.Load()
		wait.Until(t, "writes continue", func() bool { return t.Failed() || total.Load() >= before+10*writers })
		if t.Failed() {
			t.FailNow()
		}
	}
	for range torture.Rounds(2, 100) {
		more()
		must(t, p.FailOver(t.Context(), func() {
			at, before := time.Now(), total.Load()
			for total.Load() == before && !t.Failed() {
				time.Sleep(time.Millisecond)
			}
			t.Logf("a write was answered %v after the promotion", time.Since(at).Round(time.Millisecond))
		}))
	}
	more()
	stop()
	all.Wait()

	kept := map[string]bool{}
	err = d.Read(t.Context(), func(q db.Q) error {
		return q.Each(func(r db.Rows) error {
			kept[r.Text(0)] = true
			return nil
		}, `SELECT name FROM setting WHERE value = 'v'`)
	})
	must(t, err)
	answered.Range(func(name, _ any) bool {
		if !kept[name.(string)] {
			t.Errorf("%s was answered, and is lost", name)
		}
		return true
	})
	if n := total.Load(); int64(len(kept)) != n || int64(auditRows(t, d)) != n {
		t.Errorf("%d writes were answered, %d are there, and %d audit rows", n, len(kept), auditRows(t, d))
	}
}

func TestACommitThatItsStandbyNeverConfirmedIsNotAnsweredAsDone(t *testing.T) {
	p := dbtest.Pair(t)
	d, err := db.Open(t.Context(), db.Config{URL: p.URL()})
	must(t, err)
	t.Cleanup(func() { _ = d.Close() })
	mustPut(t, d, "before")
	must(t, p.Standby.Kill())
	done := make(chan error, 1)
	go func() { done <- put(context.Background(), d, "alone") }()
	// If the wait is canceled, the server answers COMMIT with a warning.
	conn, err := pgx.Connect(t.Context(), p.Primary.URL("postgres", ""))
	must(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	for {
		_, err := conn.Exec(t.Context(), `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'bursar' AND wait_event = 'SyncRep'`)
		must(t, err)
		select {
		case err := <-done:
			if !errors.Is(err, db.ErrUnknown) {
				t.Errorf("a write that no standby has was answered with %v, want an unknown outcome", err)
			}
			must(t, p.Primary.WaitForStandbys(t.Context(), false)) // or it would not shut down
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestADatabaseURLWithReadWriteIsRefusedWithTheReason(t *testing.T) {
	_, err := db.Open(t.Context(), db.Config{URL: "postgres://127.0.0.1:1,127.0.0.1:2/bursar?target_session_attrs=read-write"})
	if err == nil {
		t.Fatal("it was opened")
	}
	if want := "use primary instead"; !strings.Contains(err.Error(), want) {
		t.Errorf("the reason is %q, want %q in it", err, want)
	}
}
