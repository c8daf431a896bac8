package pgcluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestStopRemovesEverything(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	connect(t, c.URL("postgres", "")) // an idle client must not hold it up
	for range 2 {
		if err := c.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if c.server.running() {
		t.Error("the server is still running")
	}
	for _, path := range []string{c.dir, c.sockets} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v, want it removed", path, err)
		}
	}
	if err := c.Restart(t.Context()); err == nil {
		t.Error("a stopped cluster was restarted")
	}
}

func TestFailedStartReturnsTheReasonAndLeavesNothing(t *testing.T) {
	requirePostgres(t)
	full, temp := t.TempDir(), sharedTempDir(t)
	t.Setenv("TMPDIR", temp)
	if err := os.WriteFile(filepath.Join(full, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), full, Options{}); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("in a folder with files: %v", err)
	}
	if _, err := os.Stat(filepath.Join(full, "precious")); err != nil {
		t.Error(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := Start(ctx, "", Options{})
	if err == nil || !strings.Contains(err.Error(), "initdb") || !strings.Contains(err.Error(), "log ends") {
		t.Errorf("with too little time: %v", err)
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}
