package pgcluster

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestFindPrefersTheChosenFolder(t *testing.T) {
	chosen := fakeServer(t, "99.1")
	t.Setenv("BURSAR_PG_BIN", chosen)
	if got, err := Find(); err != nil || got != chosen {
		t.Errorf("Find() = %q, %v, want %q", got, err, chosen)
	}
}

func TestFindFollowsLinksInPath(t *testing.T) {
	real, links := fakeServer(t, "99.1"), t.TempDir()
	if err := os.Symlink(filepath.Join(real, "postgres"), filepath.Join(links, "postgres")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BURSAR_PG_BIN", "")
	t.Setenv("PATH", links)
	if got, err := Find(); err != nil || got != real {
		t.Errorf("Find() = %q, %v, want %q", got, err, real)
	}
}

func TestFindRefusesOldVersions(t *testing.T) {
	old := fakeServer(t, "14.9")
	t.Setenv("BURSAR_PG_BIN", old)
	t.Setenv("PATH", "")
	got, err := Find() // may find a newer one in the usual places
	if got == old || (err != nil && !errors.Is(err, ErrNotInstalled)) {
		t.Errorf("Find() = %q, %v", got, err)
	}
}

func TestParseVersion(t *testing.T) {
	for line, want := range map[string]int{
		"postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n": 15,
		"postgres (PostgreSQL) 19devel\n":                        19,
		"postgres (PostgreSQL) 18beta1\n":                        18,
	} {
		if got, err := parseVersion(line); err != nil || got != want {
			t.Errorf("parseVersion(%q) = %d, %v, want %d", line, got, err, want)
		}
	}
	if got, err := parseVersion("something else"); err == nil {
		t.Errorf("parseVersion of something else = %d", got)
	}
}

// fakeServer returns a folder with programs that can only print their version.
func fakeServer(t *testing.T, version string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + "'\n"
	for _, name := range []string{"initdb", "postgres"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
