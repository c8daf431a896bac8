// Package e2e runs the whole program, as a process of its own, and treats it the
// way operators, clients and bad luck do.
package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/db/dbtest/pgcluster"
)

// program is the path of the binary under test.
var program string

func TestMain(m *testing.M) {
	remove, err := buildProgram()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	dbtest.InParallel(4)
	_ = os.Setenv("PEBBLE_VA_NOSLEEP", "1") // the authority of the ACME tests answers at once
	dbtest.Main(m, remove)
}

// buildProgram builds the program with the flags of the tests, so that both use the
// same compiled packages, and returns how to remove it.
func buildProgram() (remove func() error, err error) {
	dir, err := os.MkdirTemp("", "bursar-e2e-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the program: %w", err)
	}
	program = filepath.Join(dir, "bursar")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "bursar/cmd/bursar")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it ships, and as make test builds the tests
	if underRace() {
		build = exec.Command("go", "build", "-race", "-gcflags="+buildSetting("-gcflags"), "-o", program, "bursar/cmd/bursar")
	}
	if out, err := build.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("build the program: %w\n%s", err, out), os.RemoveAll(dir))
	}
	return func() error { return os.RemoveAll(dir) }, nil
}

// underRace says whether the tests look for data races: then so does the program.
func underRace() bool { return buildSetting("-race") == "true" }

// buildSetting is a flag that the tests were built with.
func buildSetting(key string) string {
	info, _ := debug.ReadBuildInfo()
	for _, setting := range info.Settings {
		if setting.Key == key {
			return setting.Value
		}
	}
	return ""
}

// ownPostgres is an empty store in a cluster that the test may kill, and that keeps
// what it has committed.
func ownPostgres(t *testing.T) (dbtest.Store, *pgcluster.Cluster) {
	t.Helper()
	dbtest.NeedsPostgres(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cluster, err := pgcluster.Start(ctx, "", pgcluster.Options{TCP: true, Durable: true})
	dbtest.Started(t, err)
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Errorf("stop PostgreSQL: %v", err)
		}
	})
	url, _, err := cluster.NewSchema(t.Context())
	if err != nil {
		t.Fatalf("make a schema: %v", err)
	}
	return dbtest.Store{Engine: "postgres", Config: db.Config{URL: url}}, cluster
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
