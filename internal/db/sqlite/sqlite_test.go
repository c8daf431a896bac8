package sqlite

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"bursar/internal/db/engine"
)

// openEngine opens a database in dir and gives it an empty table of pairs.
func openEngine(t testing.TB, dir string) *Engine {
	t.Helper()
	e, err := Open(context.Background(), dir, engine.Shared, new(engine.Epoch))
	must(t, err)
	must(t, e.Write(t.Context(), func(c engine.Conn) error {
		return c.(*conn).Script("CREATE TABLE IF NOT EXISTS pair (name TEXT PRIMARY KEY, value TEXT)")
	}))
	return e
}

// open opens a database until the end of the test.
func open(t testing.TB) *Engine {
	t.Helper()
	e := openEngine(t, t.TempDir())
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func insert(c engine.Conn, name string) error {
	return c.Exec("INSERT INTO pair VALUES ($1, $2)", []any{name, ""})
}

// startInsert starts to insert a pair and returns where the result will be.
func startInsert(e *Engine, name string) <-chan error {
	return startWrite(e, func(c engine.Conn) error { return insert(c, name) })
}

func startWrite(e *Engine, fn func(engine.Conn) error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- e.Write(context.Background(), fn) }()
	return done
}

func countPairs(t testing.TB, e *Engine) (n int64) {
	t.Helper()
	must(t, e.Read(t.Context(), func(c engine.Conn) (err error) {
		n, err = c.(*conn).queryInt("SELECT count(*) FROM pair")
		return err
	}))
	return n
}

func TestAFolderHasOneLockThoughItsFileGoes(t *testing.T) {
	dir := t.TempDir()
	var holders, taken atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20000 {
				lock, err := Lock(dir)
				if err != nil {
					continue
				}
				if taken.Add(1); holders.Add(1) > 1 {
					t.Error("two have the lock")
				}
				runtime.Gosched()
				holders.Add(-1)
				if err := lock.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if taken.Load() == 0 {
		t.Error("no process got the lock")
	}
}
