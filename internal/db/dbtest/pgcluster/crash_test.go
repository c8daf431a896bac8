package pgcluster

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestKillAndRestartKeepCommittedRows(t *testing.T) {
	t.Parallel()
	c := start(t, Options{TCP: true, Durable: true})
	url, err := c.NewSchema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	execute(t, connect(t, url), "CREATE TABLE things (id int)")
	const rounds = 3
	for round := range rounds {
		conn, busy := connect(t, url), connect(t, url)
		execute(t, conn, "INSERT INTO things VALUES (1)")
		execute(t, conn, "BEGIN")
		execute(t, conn, "INSERT INTO things VALUES (2)")
		busyPID := query[int](t, busy, "SELECT pg_backend_pid()")
		ended := make(chan error, 1)
		go func() {
			_, err := busy.Exec(context.Background(), "DO 'BEGIN LOOP END LOOP; END'") // the loop keeps the process so busy that it does not notice the end of the server
			ended <- err
		}()
		awaitBusy(t, connect(t, url), busyPID)

		segment := sharedMemory(t, c)
		if err := c.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err == nil {
			t.Error("a statement ended well on a killed server")
		}
		if err := awaitGone([]int{busyPID}); err != nil {
			t.Error(err)
		}
		if sharedMemoryExists(t, segment) {
			t.Errorf("shared memory segment %s is still there", segment)
		}
		if err := c.Kill(); err != nil {
			t.Errorf("killing the dead server: %v", err)
		}
		if err := c.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := query[int](t, connect(t, url), "SELECT sum(id) FROM things"); got != round+1 {
			t.Fatalf("sum after round %d = %d, want the committed %d", round, got, round+1)
		}
	}
	if err := c.Restart(t.Context()); err == nil {
		t.Error("a running server was restarted")
	}
}

func awaitBusy(t *testing.T, watcher *pgx.Conn, pid int) {
	t.Helper()
	err := poll("the statement to run", func() (busy bool, err error) {
		err = watcher.QueryRow(t.Context(), "SELECT state = 'active' FROM pg_stat_activity WHERE pid = $1", pid).Scan(&busy)
		return busy, err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// sharedMemory returns the id of the server's System V segment.
func sharedMemory(t *testing.T, c *Cluster) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(c.dataDir(), "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(strings.Split(string(content), "\n")[6])[1]
}

func sharedMemoryExists(t *testing.T, id string) bool {
	t.Helper()
	segments, err := os.ReadFile("/proc/sysvipc/shm")
	if os.IsNotExist(err) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(segments)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == id {
			return true
		}
	}
	return false
}
