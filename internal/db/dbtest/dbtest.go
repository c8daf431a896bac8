// Package dbtest runs a test on both real engines. Each test gets its own SQLite file, and
// its own database in a PostgreSQL cluster that the tests start themselves.
package dbtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest/pgcluster"
	"bursar/internal/vault"
	"bursar/internal/wait"
)

// Store is the location of one test's data.
type Store struct {
	Engine string // "sqlite" or "postgres"
	Config db.Config

	// VaultKey is the file of the vault key, which all nodes of a store share. It is outside
	// the data folder, so that a test can search the folder.
	VaultKey string
}

// shared is the cluster that all tests of a process share, because starting a cluster takes a second and copying
// a database only milliseconds. Main stops it.
var shared struct {
	once    sync.Once
	cluster *pgcluster.Cluster
	err     error
}

// Main runs the tests of a package and stops the cluster, if one was started. A package
// that uses Each calls it from TestMain. stops are functions that stop other things that
// the tests have started.
func Main(m *testing.M, stops ...func() error) {
	code := m.Run()
	for _, stop := range stops {
		if err := stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop what the tests started:", err)
			code = max(code, 1)
		}
	}
	if shared.cluster != nil {
		if err := shared.cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop PostgreSQL:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// InParallel lets more tests run at once than there are cores, unless a flag sets the
// number. It is for packages whose tests mostly wait for other processes.
func InParallel(perCore int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(perCore*runtime.GOMAXPROCS(0))) // the value is a number
	}
}

// Each runs a test on every engine, as subtests.
func Each(t *testing.T, run func(t *testing.T, s Store)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { run(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { run(t, Postgres(t)) })
}

// EachEmpty runs a test on every engine, with a PostgreSQL database that has no tables yet. It is for tests of how a store
// is created. On SQLite, Open copies a migrated file in both cases, and db.Open creates a store.
func EachEmpty(t *testing.T, run func(t *testing.T, s Store)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { run(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { run(t, EmptyPostgres(t)) })
}

// SQLite returns an empty store on SQLite, in a temporary folder.
func SQLite(t testing.TB) Store {
	return Store{Engine: "sqlite", Config: db.Config{Dir: t.TempDir()}, VaultKey: filepath.Join(t.TempDir(), "vault.key")}
}

// Cluster starts a PostgreSQL cluster for one test alone, which may kill it.
func Cluster(t testing.TB, options pgcluster.Options) *pgcluster.Cluster {
	t.Helper()
	return own(t, func(ctx context.Context) (*pgcluster.Cluster, error) { return pgcluster.Start(ctx, "", options) })
}

// Pair starts a PostgreSQL server and its standby for one test alone.
func Pair(t testing.TB) *pgcluster.Pair {
	t.Helper()
	return own(t, pgcluster.StartPair)
}

// own starts something for one test and stops it at its end.
func own[C interface{ Stop() error }](t testing.TB, start func(context.Context) (C, error)) C {
	t.Helper()
	NeedsPostgres(t)
	ctx, cancel := context.WithTimeout(t.Context(), wait.Limit())
	defer cancel()
	c, err := start(ctx)
	started(t, err)
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Errorf("stop PostgreSQL: %v", err)
		}
	})
	return c
}

// TakesSeconds skips the test in short mode, which make check uses.
func TakesSeconds(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("short mode leaves out what takes seconds")
	}
}

// NeedsPostgres skips the test in short mode, which make check uses.
func NeedsPostgres(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("short mode leaves PostgreSQL out")
	}
}

// started fails the test if a cluster could not be started. If PostgreSQL is not
// installed, the test is skipped, except in CI, where it fails.
func started(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, pgcluster.ErrNotInstalled) && os.Getenv("CI") != "true" {
		t.Skip("PostgreSQL is not installed: 'make test' installs it where it can")
	}
	if err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
}

// Postgres returns a store without rows on PostgreSQL, in the cluster that all tests of the package share. It is a copy of a
// database with the schema, which takes a quarter of the time of creating one. No database is dropped: all are deleted with the
// cluster.
func Postgres(t testing.TB) Store {
	t.Helper()
	return postgres(t, migratedDatabase)
}

// EmptyPostgres returns a database without any tables.
func EmptyPostgres(t testing.TB) Store {
	t.Helper()
	return postgres(t, "")
}

func postgres(t testing.TB, template string) Store {
	t.Helper()
	NeedsPostgres(t)
	shared.once.Do(func() { shared.cluster, shared.err = startShared() })
	started(t, shared.err)
	name, err := shared.cluster.NewDatabase(t.Context(), template)
	if err != nil {
		t.Fatalf("make a database: %v", err)
	}
	return Store{Engine: "postgres", Config: db.Config{URL: shared.cluster.URL(name, "")}, VaultKey: filepath.Join(t.TempDir(), "vault.key")}
}

// migratedDatabase is the name of the database from which the stores are copied.
const migratedDatabase = "migrated"

// startShared starts the cluster from a copy of one that has the database with the schema.
func startShared() (*pgcluster.Cluster, error) {
	options := pgcluster.Options{Settings: []string{
		"autovacuum=off", // with a database for each test, it would start a process several times a second
		"jit=off",        // it takes longer than any query of a test
		// A test sends a statement a few times. By default, PostgreSQL plans it again for each of the first five.
		"plan_cache_mode=force_generic_plan",
	}}
	bin, err := pgcluster.Find()
	if err != nil {
		return nil, err
	}
	if options.Data, err = prepared("postgres", filepath.Join(bin, "postgres"), func(folder string) error {
		ctx, cancel := context.WithTimeout(context.Background(), wait.Limit())
		defer cancel()
		c, err := pgcluster.Start(ctx, "", options)
		if err != nil {
			return err
		}
		return errors.Join(migrate(ctx, c, folder), c.Stop())
	}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait.Limit()) // the wait for another process does not count
	defer cancel()
	c, err := pgcluster.Start(ctx, "", options)
	if err != nil {
		return nil, err
	}
	// The first connection to a database writes a file for the later ones, which the copies of the database then have.
	if err := connectOnce(ctx, c.URL(migratedDatabase, "")); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to the database with the schema: %w", err), c.Stop())
	}
	return c, nil
}

func connectOnce(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// migrate creates the database and moves the data of the cluster to a folder.
func migrate(ctx context.Context, c *pgcluster.Cluster, folder string) error {
	if err := c.CreateDatabase(ctx, migratedDatabase, ""); err != nil {
		return err
	}
	d, err := db.Open(ctx, db.Config{URL: c.URL(migratedDatabase, "")})
	if err != nil {
		return err
	}
	if err := d.Close(); err != nil {
		return err
	}
	return c.MoveData(folder)
}

// Open opens the store and closes it at the end of the test. It can be opened several times
// at once, as several nodes of one service do.
func (s Store) Open(t testing.TB) *db.DB { return s.OpenAt(t, nil) }

// OpenAt opens the store with a clock that the test provides.
func (s Store) OpenAt(t testing.TB, clock func() time.Time) *db.DB {
	t.Helper()
	s.CopySchema(t)
	config := s.Config
	config.Clock = clock
	d, err := db.Open(context.Background(), config)
	if err != nil {
		t.Fatalf("open the store: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return d
}

// LooksEarlier makes an open store look like one of a build before the schema had its first version.
func (s Store) LooksEarlier(t testing.TB, d *db.DB) {
	t.Helper()
	_, err := db.Write(t.Context(), d, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), tx.Exec(`UPDATE schema_migration SET name = '0001_base' WHERE name = '0001_schema'`)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// NextVersion returns the schema of an invented next version of the program, with 9999_next after every migration that there is.
func NextVersion() fs.FS {
	next := fstest.MapFS{
		"9999_next.sql":          {Data: []byte(`ALTER TABLE setting ADD COLUMN note TEXT NOT NULL DEFAULT 'none';`)},
		"9999_next.sqlite.sql":   {Data: []byte(`CREATE INDEX setting_note ON setting (note) WHERE value IS NOT '';`)},
		"9999_next.postgres.sql": {Data: []byte(`CREATE INDEX setting_note ON setting (note) WHERE value IS DISTINCT FROM '';`)},
	}
	err := fs.WalkDir(db.Migrations(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			next[name] = new(fstest.MapFile)
			next[name].Data, err = fs.ReadFile(db.Migrations(), name)
		}
		return err
	})
	if err != nil {
		panic(err) // the files are in the program
	}
	return next
}

// Vault returns the vault of an opened store.
func (s Store) Vault(d *db.DB) *vault.Vault {
	return vault.New(d, vault.Config{KeyFile: s.VaultKey, Make: true})
}

// schema is a database file with the schema and nothing else in it.
var schema struct {
	once sync.Once
	file []byte
	err  error
}

// CopySchema puts a migrated database file into a data folder that has none. Creating the
// schema for each test was a fifth of the CPU time of the tests. It does nothing on PostgreSQL.
func (s Store) CopySchema(t testing.TB) {
	t.Helper()
	if s.Engine != "sqlite" {
		return
	}
	file := filepath.Join(s.Config.Dir, db.SQLiteFile)
	if _, err := os.Stat(file); err == nil {
		return
	}
	schema.once.Do(func() { schema.file, schema.err = migratedFile() })
	if schema.err != nil {
		t.Fatalf("make a database file to copy: %v", schema.err)
	}
	if err := errors.Join(os.MkdirAll(s.Config.Dir, 0o700), os.WriteFile(file, schema.file, 0o600)); err != nil {
		t.Fatalf("copy the schema: %v", err)
	}
}

func migratedFile() ([]byte, error) {
	made, err := prepared("sqlite", "", func(folder string) error {
		d, err := db.Open(context.Background(), db.Config{Dir: folder})
		if err != nil {
			return err
		}
		return d.Close()
	})
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(made, db.SQLiteFile))
}

// Must fails the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
