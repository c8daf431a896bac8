package browsertest_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// recorder takes the place of a test that is expected to fail, and records its failures.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

// failures runs a test, including its cleanup functions, and returns the failures that it
// reported.
func failures(t *testing.T, test func(t testing.TB)) string {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, clean := range slices.Backward(r.cleanups) {
				clean()
			}
		}()
		test(r)
	}()
	<-done
	if t.Skipped() {
		t.SkipNow()
	}
	return strings.Join(r.failures, "\n")
}

func (r *recorder) Helper()                  {}
func (r *recorder) Cleanup(f func())         { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Context() context.Context { return r.TB.Context() }

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) TempDir() string {
	dir, err := os.MkdirTemp("", "browsertest")
	if err != nil {
		r.Fatalf("make a folder: %v", err)
	}
	r.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
