// Package e2e runs the whole program, as a process of its own, and treats it the
// way operators, clients and bad luck do.
package e2e_test

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"

	_ "bursar/internal/cli" // go test runs these tests again when the program has changed, which it would not see otherwise
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/db/dbtest/pgcluster"
	"bursar/internal/keyfile"
)

// program is the path of the binary under test, and vaultKey the file of the vault key that
// the programs of the tests share: PostgreSQL has no folder to make one in.
var program, vaultKey string

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
	program, vaultKey = filepath.Join(dir, "bursar"), filepath.Join(dir, "vault.key")
	var secret [32]byte
	rand.Read(secret[:])
	if err := keyfile.Make(vaultKey, []byte("bursar-vault-key-1 "+base64.StdEncoding.EncodeToString(secret[:])+"\n")); err != nil {
		return nil, fmt.Errorf("make a vault key: %w", err)
	}
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
	cluster := dbtest.Cluster(t, pgcluster.Options{TCP: true, Durable: true})
	url, err := cluster.NewSchema(t.Context())
	if err != nil {
		t.Fatalf("make a schema: %v", err)
	}
	return dbtest.Store{Engine: "postgres", Config: db.Config{URL: url}, VaultKey: vaultKey}, cluster
}
