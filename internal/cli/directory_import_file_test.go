package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// link makes a symbolic link in the place of a file.
func link(t *testing.T, target, name string) {
	t.Helper()
	err := os.Symlink(target, name)
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip("this system makes no symbolic links:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Somebody who can write to the folder of an input must not choose which file of the user is
// overwritten.
func TestFilesBesideAnInputFollowNoLink(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	const content = "of the user\n"
	for suffix, c := range map[string]struct {
		code int
		says string
	}{
		".bursar-import":              {exitFailed, ".bursar-import is a symbolic link, which is not followed"},
		".refused.csv":                {exitFailed, ".refused.csv is a symbolic link, which is not followed"},
		".refused.csv~":               {exitFailed, "1 line was refused"}, // an older file is moved there
		".refused.csv.bursar-import":  {exitFailed, "1 line was refused"},
		".refused.csv.bursar-import~": {exitFailed, "1 line was refused"},
	} {
		t.Run(suffix, func(t *testing.T) {
			for name, exists := range map[string]bool{"a file": true, "nothing": false} {
				t.Run(name, func(t *testing.T) {
					file := people(t, "Ada", "") // the second line says too little
					target := filepath.Join(t.TempDir(), "target")
					if exists {
						write(t, target, content)
					}
					for _, older := range []string{".refused.csv", ".refused.csv.bursar-import"} {
						if suffix != older {
							write(t, file+older, "older\n")
						}
					}
					link(t, target, file+suffix)
					wants(t, n, c.code, c.says, "directory", "import", file)
					text, err := os.ReadFile(target)
					if exists && (err != nil || string(text) != content) || !exists && !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("the target of the link has %q: %v", text, err)
					}
				})
			}
		})
	}
}

func TestAnExportFollowsNoLink(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	folder := t.TempDir()
	target, name := filepath.Join(folder, "target"), filepath.Join(folder, "people.csv")
	write(t, target, "of the user\n")
	link(t, target, name)
	wants(t, n, exitUsage, "is not a regular file", "directory", "export", name)
	wants(t, n, exitOK, "Exported", "audit", "export", name) // takes the place of the link
	if text, err := os.ReadFile(target); err != nil || string(text) != "of the user\n" {
		t.Errorf("the target of the link has %q: %v", text, err)
	}
}
