package e2e_test

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

// open makes a data folder that others may read, as one made by hand is.
func open(t *testing.T) dbtest.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dbtest.Store{Engine: "sqlite", Config: db.Config{Dir: dir}}
}

// private demands that no one else can read a file of the folder, and returns their names.
func private(t *testing.T, dir string) (names string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %s", entry.Name(), info.Mode())
		}
		names += entry.Name() + " "
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestEveryFileOfTheStoreIsPrivate(t *testing.T) {
	t.Parallel()
	store := open(t)
	p := start(t, store)
	names, ofStore := private(t, store.Config.Dir), []string{"bursar.db", "bursar.db-wal", "bursar.db-shm", "bursar.lock"}
	for _, want := range ofStore {
		if !strings.Contains(names, want+" ") {
			t.Errorf("the folder has %s, but not %s", names, want)
		}
	}
	t.Run("also after a crash, and a copy that others can read", func(t *testing.T) {
		p.kill()
		for _, name := range ofStore { // the key of the audit log is refused if others can read it
			if err := os.Chmod(filepath.Join(store.Config.Dir, name), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		start(t, store)
		private(t, store.Config.Dir)
	})
}

func TestASecondServerOnTheSameFolderIsRefused(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	p := start(t, store)
	second := command(t, nil, append([]string{"serve", "--listen", "127.0.0.1:0"}, at(store)...)...)
	if second.Code == 0 || !strings.Contains(second.Err, "a server runs on the data folder "+store.Config.Dir) {
		t.Errorf("the second server ended with %d:\n%s", second.Code, second.Err)
	}
	succeed(t, append([]string{"admin", "user", "list"}, at(store)...)...)
	if status := statusAt(t, http.DefaultClient, p.URL+"/readyz"); status != http.StatusOK {
		t.Errorf("the first server answers %d", status)
	}
	t.Run("the lock ends with its process", func(t *testing.T) {
		p.kill()
		start(t, store).terminate(t)
		start(t, store)
	})
}
