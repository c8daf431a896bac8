package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bursar/internal/config"
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

func TestABackupThatCannotBeIsRefusedBeforeThereIsAStore(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := filepath.Join(t.TempDir(), "store")
	ended, end := context.WithCancel(t.Context())
	end() // so that a server that starts nevertheless does not run
	for want, flags := range map[string][]string{
		"no public key of age": {"--backup", t.TempDir(), "--backup-recipient", "nonsense"},
		"in the data folder":   {"--backup", filepath.Join(dir, "backup")},
		"with two slashes":     {"--backup", "s3:/bucket/prefix"},
	} {
		terminal, _, errs := pipes()
		if code := Run(ended, append([]string{"serve", "--data", dir}, flags...), terminal); code != exitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("exit code %d, and no %q in:\n%s", code, want, errs)
		}
		for _, made := range []string{dir, "s3:"} {
			if _, err := os.Lstat(made); err == nil {
				t.Errorf("%v made %s", flags, made)
			}
		}
	}
	for _, line := range []string{"backup status", "restore"} {
		terminal, _, errs := pipes()
		if code := Run(t.Context(), append(strings.Fields(line), "--from", "s3:/bucket/prefix"), terminal); code != exitUsage || !strings.Contains(errs.String(), "with two slashes") {
			t.Errorf("%s: exit code %d:\n%s", line, code, errs)
		}
	}
}

func TestAPassphraseIsRefusedForABackup(t *testing.T) {
	for _, more := range []string{"", " --identity key"} {
		terminal, _, errs := pipes()
		args := append([]string{"restore", "--from", t.TempDir(), "--to", filepath.Join(t.TempDir(), "store")}, strings.Fields("--passphrase-file passphrase"+more)...)
		if code := Run(t.Context(), args, terminal); code != exitUsage || !strings.Contains(errs.String(), "pass --identity alone") {
			t.Errorf("exit code %d:\n%s", code, errs)
		}
	}
}

func TestARefusedRestoreLeavesNothingBehind(t *testing.T) {
	existing := t.TempDir()
	fresh := filepath.Join(existing, "store")
	for _, dir := range []string{fresh, existing} {
		terminal, _, errs := pipes()
		if code := Run(t.Context(), []string{"restore", "--from", t.TempDir(), "--to", dir}, terminal); code != exitFailed || !strings.Contains(errs.String(), "has no backup") {
			t.Errorf("exit code %d:\n%s", code, errs)
		}
		if left, err := os.ReadDir(existing); err != nil || len(left) > 0 {
			t.Errorf("it left %v, %v", left, err)
		}
	}
}

func TestTheStepsAfterARestoreAreThoseOfTheManual(t *testing.T) {
	manual, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, recipe, _ := strings.Cut(string(manual), "\n### Restore at night\n")
	recipe, _, _ = strings.Cut(recipe, "\n### ")
	said := afterRestore(config.Store{Data: "./restored"})
	for line := range strings.Lines(said) {
		if _, command, found := strings.Cut(strings.TrimSpace(line), ". bursar "); found && !strings.Contains(recipe, "   bursar "+command) {
			t.Errorf("the manual does not have 'bursar %s'", command)
		}
	}
	for _, text := range []string{"vault.key", "audit.key", "audit.checkpoint", "empty place", "bursar admin ledger verify", "bursar audit restart", "bursar admin rails resume"} {
		if said := strings.Join(strings.Fields(said), " "); !strings.Contains(said, text) || !strings.Contains(recipe, text) {
			t.Errorf("a restore or the manual does not name %q", text)
		}
	}
}
