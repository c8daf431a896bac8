package continuous_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bursar/internal/backup"
	"bursar/internal/backup/continuous"
	"bursar/internal/db"
	"bursar/internal/db/sqlite"
	"bursar/internal/wait"
)

// tool finds a program that scripts/install-test-tools installs. CI has it.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	gopath, err := exec.Command("go", "env", "GOPATH").Output()
	if err == nil {
		path, err = exec.LookPath(filepath.Join(strings.TrimSpace(string(gopath)), "bin", name))
	}
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is not installed: %v", name, err)
	}
	t.Skipf("%s is not installed", name)
	return ""
}

// objectStore is a server that speaks S3, over a folder.
type objectStore struct {
	dir, address string
	process      *exec.Cmd
}

func newObjectStore(t *testing.T) *objectStore {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &objectStore{dir: t.TempDir(), address: listener.Addr().String()}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(s.dir, "buckets", "backups"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "tester")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-tester")
	s.start(t)
	t.Cleanup(s.stop)
	return s
}

func (s *objectStore) start(t *testing.T) {
	t.Helper()
	s.process = exec.Command(tool(t, "versitygw"), "--port", s.address, "--access", "tester", "--secret", "secret-of-the-tester", "--region", "us-east-1",
		"--quiet", "posix", "--sidecar", filepath.Join(s.dir, "sidecar"), filepath.Join(s.dir, "buckets"))
	if err := os.MkdirAll(filepath.Join(s.dir, "sidecar"), 0o700); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	s.process.Stdout, s.process.Stderr = &log, &log
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(wait.Limit()); ; time.Sleep(20 * time.Millisecond) {
		if answer, err := http.Get("http://" + s.address); err == nil {
			_ = answer.Body.Close()
			return
		}
		if time.Now().After(deadline) {
			s.stop()
			t.Fatalf("the object store does not start: %s", log.String())
		}
	}
}

func (s *objectStore) stop() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

func TestABackupGoesToAnObjectStore(t *testing.T) {
	s := newObjectStore(t)
	w := newWorldAt(t, fmt.Sprintf("s3://backups/bursar/production?endpoint=http://%s&region=us-east-1", s.address))
	w.write(t, 10)
	w.base(t)
	w.write(t, 3)
	w.ship(t)
	w.same(t)

	// While it is away, segments wait.
	s.stop()
	w.write(t, 3)
	if err := w.Cut(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := w.Upload(ctx); err == nil {
		t.Error("it was stored nowhere")
	}
	s.start(t)
	w.ship(t)
	w.same(t)

	seen, err := continuous.Look(t.Context(), w.target)
	if err != nil || seen.Bases != 1 || seen.Segments < 3 || seen.Missing != "" {
		t.Errorf("%+v, %v", seen, err)
	}
	empty := open(t, fmt.Sprintf("s3://backups/nothing?endpoint=http://%s&region=us-east-1", s.address))
	if _, err := continuous.Unpack(t.Context(), continuous.Source{Target: empty}, t.TempDir(), continuous.Moment{}); err == nil || !strings.Contains(err.Error(), "no backup") {
		t.Errorf("%v", err)
	}
}

// Litestream has nothing of this program.
func TestLitestreamRestoresABackup(t *testing.T) {
	t.Parallel()
	litestream := tool(t, "litestream")
	w := newWorld(t)
	w.write(t, 50)
	w.base(t)
	for range 5 {
		w.write(t, 5)
		w.ship(t)
	}
	if err := w.Merge(t.Context(), time.Now().Add(48*time.Hour)); err != nil {
		t.Fatal(err)
	}
	w.write(t, 5)
	w.ship(t)
	dir := t.TempDir()
	file := filepath.Join(dir, sqlite.FileName)
	out, err := exec.Command(litestream, "restore", "-o", file, "file://"+w.target.String()).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := sqlite.Check(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	w.sameAs(t, backup.Place{Config: db.Config{Dir: dir}, Name: "restored by Litestream"})
}
