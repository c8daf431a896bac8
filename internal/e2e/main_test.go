// Package e2e runs the whole program, as a process of its own, and treats it the
// way operators, clients and bad luck do.
package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/db/dbtest/pgcluster"
)

// program is the path of the binary under test.
var program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "bursar-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a folder for the program:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "bursar")
	build := exec.Command("go", "build", "-o", program, "bursar/cmd/bursar")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it ships
	if underRace() {
		build = exec.Command("go", "build", "-race", "-o", program, "bursar/cmd/bursar")
	}
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
		return 1
	}
	code := m.Run()
	if shared.cluster != nil {
		if err := shared.cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop PostgreSQL:", err)
			return max(code, 1)
		}
	}
	return code
}

// underRace says whether the tests look for data races: then so does the program.
func underRace() bool {
	info, _ := debug.ReadBuildInfo()
	for _, setting := range info.Settings {
		if setting.Key == "-race" {
			return setting.Value == "true"
		}
	}
	return false
}

// The cluster of all tests but those that kill theirs.
var shared struct {
	once    sync.Once
	cluster *pgcluster.Cluster
	err     error
}

func startCluster() (*pgcluster.Cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return pgcluster.Start(ctx, "", pgcluster.Options{TCP: true, Durable: true})
}

// postgres is an empty store in the shared cluster.
func postgres(t *testing.T) dbtest.Store {
	t.Helper()
	shared.once.Do(func() { shared.cluster, shared.err = startCluster() })
	return schema(t, shared.cluster, shared.err)
}

// ownPostgres is an empty store in a cluster that the test may kill.
func ownPostgres(t *testing.T) (dbtest.Store, *pgcluster.Cluster) {
	t.Helper()
	cluster, err := startCluster()
	store := schema(t, cluster, err)
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Errorf("stop PostgreSQL: %v", err)
		}
	})
	return store, cluster
}

func schema(t *testing.T, cluster *pgcluster.Cluster, err error) dbtest.Store {
	t.Helper()
	dbtest.Started(t, err)
	url, _, err := cluster.NewSchema(t.Context())
	if err != nil {
		t.Fatalf("make a schema: %v", err)
	}
	return dbtest.Store{Engine: "postgres", Config: db.Config{URL: url}}
}

// each runs a test on both engines.
func each(t *testing.T, run func(t *testing.T, store dbtest.Store)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { run(t, dbtest.SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { run(t, postgres(t)) })
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	within(t, patience, what, holds)
}

// within waits for so long until something holds.
func within(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s: %s", limit, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
