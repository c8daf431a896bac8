package continuous_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bursar/internal/wait"
)

// obstruct makes a folder unusable, as a full disk does, until the function is called that it returns.
func obstruct(t *testing.T, dir string) (clear func()) {
	t.Helper()
	if err := os.Rename(dir, dir+".aside"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(dir+".aside", dir); err != nil {
			t.Fatal(err)
		}
	}
}

// run ships in the background until the test ends.
func (w *world) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

func TestServingContinuesWhileTheBackupFails(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]func(w *world) string{
		"queue":  func(w *world) string { return filepath.Join(w.store.Config.Dir, "backup-queue", "ltx", "0") },
		"target": func(w *world) string { return filepath.Join(w.target.String(), "ltx", "0") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(t, 1)
			w.base(t)
			clear := obstruct(t, dir(w))
			stop := w.run(t)
			defer stop()
			w.write(t, 5)
			wait.Until(t, "the failure is reported", func() bool { return w.Status().Failure != "" })
			w.write(t, 5)
			clear()
			wait.Until(t, "the backup continues", func() bool { return w.Status().Failure == "" && time.Since(w.Status().Safe) < time.Second })
			if name == "target" && w.Status().Gaps != 0 {
				t.Error("a new base was needed")
			}
			stop()
			w.base(t) // without a queue the WAL may have been reset
			w.same(t)
		})
	}
}

func TestAQueueThatGrowsTooLargeIsDroppedForANewBase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, 1)
	w.base(t)
	clear := obstruct(t, filepath.Join(w.target.String(), "ltx", "0"))
	w.write(t, 5)
	if err := w.Cut(); err != nil {
		t.Fatal(err)
	}
	w.LimitQueue(t.Context(), 1<<30)
	if w.Status().Gaps != 0 || w.Status().Queue != 1 {
		t.Errorf("%+v", w.Status())
	}
	w.LimitQueue(t.Context(), 100)
	if w.Status().Gaps != 1 {
		t.Errorf("%+v", w.Status())
	}
	clear()
	w.write(t, 5)
	w.base(t)
	w.same(t)
}

// A server makes its first base, and everything else, in the background.
func TestABackupRunsUnattended(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.run(t)
	defer stop()
	w.write(t, 20)
	wait.Until(t, "there is a base", func() bool { return w.Status().IsGood(time.Now(), time.Minute) })
	w.write(t, 20)
	last := time.Now()
	wait.Until(t, "the last write is safe", func() bool { return w.Status().Safe.After(last) })
	stop()
	w.same(t)
}
