package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"bursar/internal/db/dbtest"
	"bursar/internal/db/engine"
	"bursar/internal/db/postgres"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// database is an engine with its own schema.
type database struct {
	*postgres.Engine
	url   string
	epoch *engine.Epoch
}

// open opens an empty database until the end of the test.
func open(t testing.TB) *database {
	t.Helper()
	d := openAt(t, dbtest.EmptyPostgres(t).Config.URL)
	t.Cleanup(func() { must(t, d.Close()) })
	return d
}

// openAt opens a database that the caller closes, and makes sure that it has a
// table of pairs.
func openAt(t testing.TB, url string) *database {
	t.Helper()
	d := &database{url: url, epoch: new(engine.Epoch)}
	var err error
	d.Engine, err = postgres.Open(context.Background(), url, engine.Shared, d.epoch)
	must(t, err)
	must(t, d.Write(t.Context(), func(c engine.Conn) error {
		return c.(engine.Migrator).Script(`CREATE TABLE IF NOT EXISTS pair (name TEXT PRIMARY KEY, value TEXT)`)
	}))
	return d
}

var must = dbtest.Must

const insertPair = `INSERT INTO pair (name, value) VALUES ($1, $2)`

// insert inserts two rows, so that a write which is only half done can be seen.
func (d *database) insert(ctx context.Context, name string) error {
	return d.Write(ctx, func(c engine.Conn) error {
		if err := c.Exec(insertPair, []any{name + "/1", "v"}); err != nil {
			return err
		}
		return c.Exec(insertPair, []any{name, "v"})
	})
}

// has reports whether both rows of insert are there, and fails if only one is.
func (d *database) has(t testing.TB, name string) bool {
	t.Helper()
	n := d.count(t, `SELECT count(*) FROM pair WHERE name IN ($1, $2)`, name, name+"/1")
	if n == 1 {
		t.Errorf("the write of %s is half done", name)
	}
	return n == 2
}

// count returns the number that a query answers with. Any goroutine may call it.
func (d *database) count(t testing.TB, sql string, args ...any) (n int64) {
	t.Helper()
	err := d.Read(t.Context(), func(c engine.Conn) error {
		rows, err := c.Query(sql, args)
		if err != nil {
			return err
		}
		defer rows.Close()
		if rows.Next() {
			n = rows.Int(0)
		}
		return rows.Err()
	})
	if err != nil {
		t.Errorf("%s: %v", sql, err)
	}
	return n
}

// connect opens a connection of the test's own.
func (d *database) connect(t testing.TB) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), d.url)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}
