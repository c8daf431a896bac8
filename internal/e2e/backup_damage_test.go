package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/wait"
)

func TestADamagedBackupShowsInItsStatusUntilItIsVerifiedAgain(t *testing.T) {
	t.Parallel()
	store, to, key := dbtest.SQLite(t), filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "audit.key")
	initialise(t, store)
	succeed(t, append(at(store), "admin", "audit", "init", "--audit-key", key)...)
	serve := func() *process { return start(t, store, "--audit-key", key, "--backup", to) }
	status := func() result { return command(t, nil, "backup", "status", "--from", to) }
	verify := func() result { return command(t, nil, "backup", "verify", "--from", to, "--audit-key", key) }
	p := serve()
	wait.Until(t, "the backup has a base", func() bool { return status().Code == 0 })
	p.terminate(t)
	files, err := filepath.Glob(filepath.Join(to, "ltx", "9", "*.ltx"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	newest := files[len(files)-1]
	text, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(newest, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := verify(); got.Code != 1 || !strings.Contains(got.Err, "is damaged") {
		t.Errorf("%+v", got)
	}
	if got := status(); got.Code != 1 || !strings.Contains(got.Err, "the last verification failed") {
		t.Errorf("%+v", got)
	}
	p = serve()
	wait.Until(t, "the server makes a new base", func() bool { return verify().Code == 0 })
	if got := status(); got.Code != 0 {
		t.Errorf("%+v", got)
	}
	p.terminate(t)
}
