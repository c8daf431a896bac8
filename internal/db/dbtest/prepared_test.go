package dbtest

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// counted fills a folder with one file and counts how often.
func counted(calls *atomic.Int32) func(folder string) error {
	return func(folder string) error {
		calls.Add(1)
		return errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, "file"), []byte("whole"), 0o600))
	}
}

func TestWhatManyNeedAtOnceIsPreparedOnce(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var calls atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			folder, err := prepared("kind", "", counted(&calls))
			if err != nil {
				t.Error(err)
			} else if data, err := os.ReadFile(filepath.Join(folder, "file")); string(data) != "whole" {
				t.Errorf("got %q, %v", data, err)
			}
		})
	}
	all.Wait()
	if calls.Load() != 1 {
		t.Errorf("prepared %d times", calls.Load())
	}
}

func TestWhatCouldNotBePreparedIsPreparedAgain(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	full := errors.New("the disk is full")
	if _, err := prepared("kind", "", func(folder string) error { return errors.Join(os.Mkdir(folder, 0o700), full) }); !errors.Is(err, full) {
		t.Fatalf("got %v", err)
	}
	var calls atomic.Int32
	if _, err := prepared("kind", "", counted(&calls)); err != nil || calls.Load() != 1 {
		t.Errorf("prepared %d times, %v", calls.Load(), err)
	}
}

func TestAnotherProgramGetsAnotherFolderAndAnOldOneGoes(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	program := filepath.Join(t.TempDir(), "postgres")
	var calls atomic.Int32
	var folders []string
	for _, version := range []string{"15", "16.1"} {
		if err := os.WriteFile(program, []byte(version), 0o700); err != nil {
			t.Fatal(err)
		}
		folder, err := prepared("kind", program, counted(&calls))
		if err != nil {
			t.Fatal(err)
		}
		folders = append(folders, folder)
		yesterday := time.Now().Add(-24 * time.Hour)
		if err := os.Chtimes(folder, yesterday, yesterday); err != nil {
			t.Fatal(err)
		}
	}
	if folders[0] == folders[1] || calls.Load() != 2 {
		t.Errorf("prepared %d times: %s", calls.Load(), folders)
	}
	if _, err := os.Stat(folders[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder that nothing uses is still there: %v", err)
	}
}
