package pgcluster

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
)

func requirePostgres(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("short mode leaves PostgreSQL out")
	}
	_, err := Find()
	if errors.Is(err, ErrNotInstalled) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func start(t *testing.T, opts Options) *Cluster {
	t.Helper()
	requirePostgres(t)
	c, err := Start(t.Context(), "", opts)
	if err != nil {
		t.Fatal(err)
	}
	stopAfter(t, c)
	return c
}

func stopAfter(t *testing.T, c *Cluster) {
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
}

// sharedTempDir is a t.TempDir that the server's user can reach as well.
func sharedTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgcluster-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connecting to %s: %v", url, err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // the server may be gone
	return conn
}

func execute(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func query[T any](t *testing.T, conn *pgx.Conn, sql string) T {
	t.Helper()
	var value T
	if err := conn.QueryRow(t.Context(), sql).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

func TestOptionsReachTheServer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		opts    Options
		durable string
		listen  string
	}{
		"plain":       {Options{}, "off", ""},
		"tcp durable": {Options{TCP: true, Durable: true}, "on", "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, start(t, test.opts).URL("postgres", ""))
			for setting, want := range map[string]string{
				"fsync": test.durable, "synchronous_commit": test.durable, "full_page_writes": test.durable,
				"listen_addresses": test.listen, "max_connections": "200", "server_encoding": "UTF8",
			} {
				if got := query[string](t, conn, "SHOW "+setting); got != want {
					t.Errorf("%s = %q, want %q", setting, got, want)
				}
			}
			viaTCP := query[bool](t, conn, "SELECT inet_server_addr() IS NOT NULL")
			if viaTCP != test.opts.TCP {
				t.Errorf("connected over TCP: %v, want %v", viaTCP, test.opts.TCP)
			}
		})
	}
}

func TestSchemasAreIsolated(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	first, err := c.NewSchema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.NewSchema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a, b := connect(t, first), connect(t, second)
	execute(t, a, "CREATE TABLE things (id int)")
	execute(t, a, "INSERT INTO things VALUES (1)")
	execute(t, b, "CREATE TABLE things (id int)")
	if got := query[int](t, b, "SELECT count(*) FROM things"); got != 0 {
		t.Errorf("the second schema sees %d rows of the first", got)
	}
	mixed := connect(t, c.URL("postgres", `Mixed "Case`))
	execute(t, mixed, `CREATE SCHEMA "Mixed ""Case"`)
	if got := query[string](t, mixed, "SELECT current_schema()"); got != `Mixed "Case` {
		t.Errorf("current schema = %q", got)
	}
}
