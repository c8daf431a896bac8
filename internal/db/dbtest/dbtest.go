// Package dbtest runs a test on real engines: a SQLite file and a PostgreSQL
// schema of its own, in a cluster that the tests start themselves.
package dbtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"bursar/internal/db"
	"bursar/internal/db/dbtest/pgcluster"
)

// Store is a place for one test's data.
type Store struct {
	Engine string // "sqlite" or "postgres"
	Config db.Config
}

// The one cluster of this test process: starting one takes a second, a schema
// in it milliseconds. Main stops it.
var shared struct {
	once    sync.Once
	cluster *pgcluster.Cluster
	err     error
}

// Main runs the tests of a package and stops the cluster, if one was started.
// A package that uses Each calls it from TestMain, with what else is to be stopped.
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

// Each runs a test on every engine, as subtests.
func Each(t *testing.T, run func(t *testing.T, s Store)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { run(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { run(t, Postgres(t)) })
}

// SQLite is a fresh folder.
func SQLite(t testing.TB) Store {
	return Store{Engine: "sqlite", Config: db.Config{Dir: t.TempDir()}}
}

// NeedsPostgres skips the test in short mode, which make check uses.
func NeedsPostgres(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("short mode leaves PostgreSQL out")
	}
}

// Started judges how starting a cluster went. Where PostgreSQL is not installed
// the test is skipped, except in CI, where it fails.
func Started(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, pgcluster.ErrNotInstalled) && os.Getenv("CI") != "true" {
		t.Skip("PostgreSQL is not installed: 'make test' installs it where it can")
	}
	if err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
}

// Postgres is a fresh schema in the cluster that all tests of the package share.
// Running the migrations in it costs as much as copying a template database would.
func Postgres(t testing.TB) Store {
	t.Helper()
	NeedsPostgres(t)
	shared.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		shared.cluster, shared.err = pgcluster.Start(ctx, "", pgcluster.Options{TCP: false})
	})
	Started(t, shared.err)
	url, drop, err := shared.cluster.NewSchema(t.Context())
	if err != nil {
		t.Fatalf("make a schema: %v", err)
	}
	t.Cleanup(func() {
		if err := drop(context.Background()); err != nil {
			t.Errorf("drop the schema: %v", err)
		}
	})
	return Store{Engine: "postgres", Config: db.Config{URL: url}}
}

// Open opens the store until the end of the test. Several may be open at once,
// as the nodes of one service.
func (s Store) Open(t testing.TB) *db.DB { return s.OpenAt(t, nil) }

// OpenAt opens the store with a clock of the test's own.
func (s Store) OpenAt(t testing.TB, clock func() time.Time) *db.DB {
	t.Helper()
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
