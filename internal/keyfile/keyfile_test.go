package keyfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bursar/internal/keyfile"
)

func TestAKeyFileIsForItsOwnerAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := keyfile.Make(path, []byte("secret\n")); err != nil {
		t.Fatal(err)
	}
	if text, err := keyfile.Read(path); err != nil || string(text) != "secret\n" {
		t.Errorf("read %q, %v", text, err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o644} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := keyfile.Read(path); err == nil || !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
	if _, err := keyfile.Read(filepath.Dir(path)); err == nil {
		t.Error("a folder was read as a key")
	}
	if _, err := keyfile.Read(path + "-other"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
}

func TestMakingAKeyFileReplacesNone(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "key")
	var all sync.WaitGroup
	made := make(chan string, 8)
	for _, text := range strings.Split("abcdefgh", "") {
		all.Go(func() {
			switch err := keyfile.Make(path, []byte(text)); {
			case err == nil:
				made <- text
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	all.Wait()
	close(made)
	first := <-made
	if second, more := <-made; more {
		t.Errorf("%s and %s were both made", first, second)
	}
	if text, err := keyfile.Read(path); err != nil || string(text) != first {
		t.Errorf("read %q, %v, want %q", text, err, first)
	}
	if err := keyfile.Replace(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if text, err := keyfile.Read(path); err != nil || string(text) != "new" {
		t.Errorf("read %q, %v after it was replaced", text, err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}
