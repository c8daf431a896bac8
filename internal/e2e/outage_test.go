package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/wait"
)

// smallDisk mounts a disk and returns its folder. The disk has room for the longest write-ahead log, which takes 96 MB before it
// starts over: what a test writes by itself never fills it.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=128m", "tmpfs", dir).CombinedOutput()
	if err != nil {
		if os.Getenv("CI") != "true" {
			t.Skipf("a small disk can only be mounted by root on Linux: %s", bytes.TrimSpace(out))
		}
		t.Fatalf("mount a small disk: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("unmount the small disk: %v: %s", err, out)
		}
	})
	return dir
}

// fill takes all room that is left on a disk, and returns a way to give it back.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	ballast, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer ballast.Close()
	for block := make([]byte, 1<<16); err == nil; {
		_, err = ballast.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("fill the disk: %v", err)
	}
	return func() {
		if err := os.Remove(ballast.Name()); err != nil {
			t.Error(err)
		}
	}
}

// Many write at once, so that they share commits: SQLite gives up the whole
// transaction when the disk is full.
func TestFullDiskRefusesWritesAndNothingElse(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	store := dbtest.Store{Engine: "sqlite", Config: db.Config{Dir: filepath.Join(disk, "data")}}
	l := newLoad(initialise(t, store), 12)
	p := start(t, store)
	admin := servertest.Remote(t, p.URL, l.made).Admin(t)
	l.token = admin.Token
	end := l.begin(t, p.URL, true)
	l.awaitTold(t, betweenCrash)

	free := fill(t, disk)
	wait.Until(t, "writes are refused", func() bool { return l.failed.Load() > 100 })
	admin.Get("/v1/auth/me").OK()
	everyRow(admin, "/v1/audit?limit=100&workspace_id="+l.made.WorkspaceID)
	for _, row := range everyRow(admin, "/v1/directory?limit=100&workspace_id="+l.made.WorkspaceID) {
		admin.Get("/v1/directory/" + row["id"].(string)).OK()
	}

	free()
	l.awaitTold(t, betweenCrash) // by itself, without a restart
	end()
	l.check(t, p)
	p.terminate(t)
}

func TestServerOutlivesADatabaseOutage(t *testing.T) {
	t.Parallel()
	store, cluster := ownPostgres(t)
	made := initialise(t, store)
	p := start(t, store)
	node := servertest.Remote(t, p.URL, made)
	admin := node.Admin(t)
	var unseen []*servertest.Client // whose tokens the server has yet to see
	for range 30 {
		unseen = append(unseen, node.Admin(t))
	}
	entry := servertest.Body{"workspace_id": made.WorkspaceID, "type": "person", "fields": servertest.Body{}}
	id := admin.Post("/v1/directory", entry).OK().Text("id")

	if err := cluster.Kill(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the server is not ready", func() bool { return node.Outside(t, "/readyz").Status == http.StatusServiceUnavailable })
	// Each of them waits for the database for ten seconds, so they ask together.
	asks := map[string]func() *servertest.Answer{
		"a write":      func() *servertest.Answer { return admin.Post("/v1/directory", entry) },
		"a read":       func() *servertest.Answer { return admin.Get("/v1/directory/" + id) },
		"a list":       func() *servertest.Answer { return admin.Get("/v1/workspaces") },
		"a login":      func() *servertest.Answer { return node.Exchange(t, "Bearer "+made.APIKey) },
		"a new device": func() *servertest.Answer { return node.Stranger(t).Post("/v1/auth/device-code", nil) },
	}
	for i, c := range unseen { // no one is logged out
		asks[fmt.Sprint("session ", i)] = func() *servertest.Answer { return c.Get("/v1/auth/me") }
	}
	var all sync.WaitGroup
	for name, ask := range asks {
		all.Go(func() {
			answer := ask()
			if answer.Status != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
				t.Errorf("%s is answered with %d and Retry-After %q, want 503 and a time", name, answer.Status, answer.Header.Get("Retry-After"))
			}
		})
	}
	all.Wait()
	node.Outside(t, "/healthz").OK()

	if err := cluster.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the server is ready again", func() bool { return node.Outside(t, "/readyz").Status == http.StatusOK })
	unseen[0].Get("/v1/auth/me").OK()
	admin.Get("/v1/directory/" + id).OK()
	admin.Post("/v1/directory", entry).OK()
	p.terminate(t)
}

func TestServerWithoutItsDatabaseDoesNotStart(t *testing.T) {
	t.Parallel()
	const url = "postgres://bursar:hunter2@127.0.0.1:1/bursar?sslmode=disable"
	got := command(t, nil, "serve", "--listen", "127.0.0.1:0", "--database-url", url)
	if got.Code != 1 || !strings.Contains(got.Err, "reach PostgreSQL") {
		t.Errorf("exit code %d: %s", got.Code, got.Err)
	}
	if strings.Contains(got.Err, "hunter2") {
		t.Errorf("the password is printed: %s", got.Err)
	}
}
