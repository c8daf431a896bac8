package pgcluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const helperVariable = "PGCLUSTER_TEST_PARENT"

func TestDiesWithItsParent(t *testing.T) {
	t.Parallel()
	requirePostgres(t)
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), helperVariable+"=1", "TMPDIR="+sharedTempDir(t))
	parent.Stderr = os.Stderr
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, readErr := bufio.NewReader(stdout).ReadString('\n')
	pid, numberErr := strconv.Atoi(strings.TrimSpace(line))
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // was killed
	if readErr != nil || numberErr != nil {
		t.Fatalf("the helper wrote %q: %v, %v", line, readErr, numberErr)
	}
	if err := awaitGone([]int{pid}); err != nil {
		t.Error(err)
	}
}

// TestMain also runs in the process that TestDiesWithItsParent starts and kills.
func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) == "" {
		os.Exit(m.Run())
	}
	if err := beParent(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func beParent() error {
	c, err := Start(context.Background(), "", Options{})
	if err != nil {
		return err
	}
	if _, err := os.Stdout.WriteString(strconv.Itoa(c.server.process.Pid) + "\n"); err != nil {
		return err
	}
	<-c.server.exited
	return fmt.Errorf("the server ended before its parent: %s", c.server.status)
}

func TestOutlivesTheThreadThatStartedIt(t *testing.T) {
	t.Parallel()
	requirePostgres(t)
	var c *Cluster
	var err error
	thread := onDyingThread(func() { c, err = Start(t.Context(), "", Options{}) })
	if err != nil {
		t.Fatal(err)
	}
	stopAfter(t, c)
	err = poll("the thread to end", func() (bool, error) {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread))
		return errors.Is(err, os.ErrNotExist), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if got := query[int](t, connect(t, c.URL("postgres", "")), "SELECT 1"); got != 1 {
			t.Fatal(got)
		}
	}
}

// onDyingThread calls f on a thread that ends afterwards, and returns its id.
func onDyingThread(f func()) (thread int) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // it is never unlocked, so that the thread ends with the goroutine
		if thread = syscall.Gettid(); thread == os.Getpid() {
			thread = onDyingThread(f) // the main thread never ends, but is taken now
			return
		}
		f()
	}()
	<-done
	return thread
}
