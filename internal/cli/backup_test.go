package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"bursar/internal/db"
)

// storeIn makes an empty store in a new folder.
func storeIn(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	d, err := db.Open(t.Context(), db.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestARecoveredStoreIsTheOneThatToNames(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := storeIn(t)
	say(t, "restore", "--recovered", "--to", dir)
	if got := say(t, "admin", "rails", "status", "--data", dir); !strings.Contains(got, "stopped: restored from a backup of the database") {
		t.Errorf("its rails are:\n%s", got)
	}
}

func TestABackupIsReadFromWhereTheVariableOfTheServerSays(t *testing.T) {
	for _, command := range []string{"status", "verify"} {
		terminal, out, errs := pipes("BURSAR_BACKUP", t.TempDir())
		Run(t.Context(), []string{"backup", command}, terminal)
		if strings.Contains(errs.String(), "--from is required") {
			t.Errorf("backup %s says:\n%s%s", command, out, errs)
		}
		terminal, out, errs = pipes("BURSAR_BACKUP", t.TempDir())
		Run(t.Context(), []string{"backup", command, "--from", "ftp://elsewhere"}, terminal)
		if !strings.Contains(errs.String(), "not to ftp://") {
			t.Errorf("backup %s with --from says:\n%s%s", command, out, errs)
		}
	}
}
