package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"bursar/internal/db/dbtest"
	"bursar/internal/db/engine"
	"bursar/internal/wait"
)

func TestAWriteThatLosesADeadlockRunsAgain(t *testing.T) {
	d := open(t)
	must(t, d.insert(t.Context(), "one"))
	must(t, d.insert(t.Context(), "two"))
	var met, all sync.WaitGroup
	met.Add(2)
	for _, order := range [][]string{{"one", "two"}, {"two", "one"}} {
		meet := sync.OnceFunc(func() {
			met.Done()
			met.Wait()
		})
		all.Go(func() {
			err := d.Write(t.Context(), func(c engine.Conn) error {
				for _, name := range order {
					rows, err := c.Query(`UPDATE pair SET value = value || '+' WHERE name = $1 RETURNING name`, []any{name})
					if err != nil {
						return err
					}
					for rows.Next() {
					}
					if err := rows.Err(); err != nil {
						return err
					}
					meet()
				}
				return nil
			})
			if err != nil {
				t.Errorf("a write that lost a deadlock: %v", err)
			}
		})
	}
	all.Wait()
	if got := d.count(t, `SELECT count(*) FROM pair WHERE value = 'v++'`); got != 2 {
		t.Errorf("%d of 2 rows have both changes", got)
	}
}

// The server answers COMMIT with ROLLBACK if an earlier statement failed.
func TestACommitThatTheServerRollsBackIsAnError(t *testing.T) {
	d := open(t)
	err := d.Write(t.Context(), func(c engine.Conn) error {
		rows, err := c.Query(`SELECT 1 / length($1)`, []any{""})
		if err == nil {
			for rows.Next() {
			}
		}
		return nil // as a caller who ignores the error
	})
	if err == nil {
		t.Error("a transaction that was rolled back counts as committed")
	}
}

// pgx may keep the timeout of a caller who left in the connection's background reader.
func TestAConnectionWhoseCallerLeftIsClosed(t *testing.T) {
	d := open(t)
	ctx, leave := context.WithCancel(t.Context())
	var backend int64
	must(t, d.Read(ctx, func(c engine.Conn) error {
		rows, err := c.Query(`SELECT pg_backend_pid()`, nil)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			backend = rows.Int(0)
		}
		leave()
		return rows.Err()
	}))
	wait.Until(t, "the server has closed the connection", func() bool {
		return d.count(t, fmt.Sprintf(`SELECT count(*) FROM pg_stat_activity WHERE pid = %d`, backend)) == 0
	})
}

// Otherwise a search during a failover would be refused as too expensive.
func TestACallerWhoseDeadlinePassesWithoutAConnectionGetsErrAway(t *testing.T) {
	address, err := url.Parse(dbtest.EmptyPostgres(t).Config.URL)
	must(t, err)
	query := address.Query()
	query.Set("pool_max_conns", "1")
	address.RawQuery = query.Encode()
	d := openAt(t, address.String())
	defer func() { must(t, d.Close()) }()
	ask := func(c engine.Conn) error {
		rows, err := c.Query(`SELECT 1`, nil)
		if err == nil {
			rows.Close()
		}
		return err
	}
	must(t, d.Read(t.Context(), func(c engine.Conn) error {
		if err := ask(c); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := d.Read(ctx, ask); !errors.Is(err, engine.ErrAway) {
			t.Errorf("got %v", err)
		}
		return nil
	}))
}
