package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// payees makes entries with receiving methods and returns the number of each entry's method.
func payees(admin *servertest.Client, entries, methods int) map[string][]string {
	made := map[string][]string{}
	for i := range entries {
		entry := admin.Entry(nil)
		for j := range methods {
			number := fmt.Sprintf("PLANTED%04d%04d", i, j)
			admin.AddMethod(entry, servertest.Account(number))
			made[entry] = append(made[entry], number)
		}
	}
	return made
}

// numbers are the account numbers of an entry, in the order of the methods.
func numbers(c *servertest.Client, entry string) (list []string) {
	for _, method := range c.Get("/v1/directory/" + entry).OK().Object()["receiving_methods"].([]any) {
		list = append(list, method.(map[string]any)["account_id"].(string))
	}
	return list
}

func sameNumbers(t *testing.T, c *servertest.Client, want map[string][]string) {
	t.Helper()
	for entry, list := range want {
		if got := numbers(c, entry); fmt.Sprint(got) != fmt.Sprint(list) {
			t.Errorf("entry %s has the numbers %v, want %v", entry, got, list)
		}
	}
}

// A reseal is killed in the middle, again and again, while a server answers. The last one
// completes it, and every number is what it was.
func TestAKilledResealGoesOn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		made := initialise(t, store)
		p := start(t, store)
		admin := servertest.Remote(t, p.URL, made).Admin(t)
		want := payees(admin, 30, 20)
		d, err := db.Open(t.Context(), store.Config)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		waiting := func() (n int64) { // numbers under a retired key
			err := d.Read(t.Context(), func(q db.Q) error {
				_, err := q.Row(`SELECT count(*) FROM receiving_method m JOIN vault_key k ON k.id = m.sealed_by WHERE k.retired_at IS NOT NULL`).Scan(&n)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		killed := 0
		for range 5 {
			cmd := exec.Command(program, append([]string{"admin", "vault", "reseal"}, at(store)...)...)
			cmd.Env, cmd.Dir = environment(nil), t.TempDir()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			for done := false; !done; {
				select {
				case <-ended:
					done = true
				default:
					if n := waiting(); n > 0 {
						_ = cmd.Process.Kill() // it may have ended
						if err := <-ended; err != nil {
							killed++
						}
						done = true
					}
				}
			}
			sameNumbers(t, admin, want)
		}
		if killed == 0 {
			t.Error("no reseal was killed in the middle")
		}
		succeed(t, append([]string{"admin", "vault", "reseal"}, at(store)...)...)
		if n := waiting(); n != 0 {
			t.Errorf("%d numbers are left under retired keys", n)
		}
		status := succeed(t, append([]string{"admin", "vault", "status"}, at(store)...)...)
		if strings.Contains(status, "Left") || !strings.Contains(status, "600 in receiving_method") {
			t.Errorf("the status is\n%s", status)
		}
		sameNumbers(t, admin, want)
	})
}

func TestALostVaultKeyIsReportedInOneLineAndNothingElseIsLost(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		key := filepath.Join(t.TempDir(), "vault.key")
		env := []string{"BURSAR_VAULT_KEY=" + key}
		flags := append(at(store), "--listen", "127.0.0.1:0", "--rate-limit", "off")
		if store.Engine == "postgres" {
			refused := command(t, env, append([]string{"serve"}, flags...)...)
			if refused.Code == 0 || !strings.Contains(refused.Err, "bursar admin vault init") {
				t.Errorf("a server without a key ended with %d: %s", refused.Code, refused.Err)
			}
			if got := command(t, env, append([]string{"admin", "vault", "init"}, at(store)...)...); got.Code != 0 {
				t.Fatal(got.Err)
			}
		}
		made := initialiseWith(t, env, store)
		if about, err := os.Stat(key); err != nil || about.Mode().Perm() != 0o600 {
			t.Fatalf("the key file: %v, %v", about, err)
		}
		p := spawn(t, env, flags...)
		want := payees(servertest.Remote(t, p.URL, made).Admin(t), 1, 1)
		p.kill()
		if err := os.Rename(key, key+"-away"); err != nil {
			t.Fatal(err)
		}
		refused := command(t, env, append([]string{"serve"}, flags...)...)
		said := strings.Split(strings.TrimSpace(refused.Err), "\n") // nothing else is logged
		if refused.Code == 0 || len(said) != 1 || !strings.Contains(said[0], "there is no file "+key) {
			t.Errorf("a server whose key is missing ended with %d: %s", refused.Code, refused.Err)
		}
		if _, err := os.Stat(key); err == nil {
			t.Error("another key was made in its place")
		}
		// Whatever needs no secret works.
		if got := command(t, env, append([]string{"admin", "user", "list"}, at(store)...)...); got.Code != 0 {
			t.Errorf("the users cannot be listed: %s", got.Err)
		}
		if got := command(t, env, append([]string{"admin", "vault", "init", "--lost"}, at(store)...)...); got.Code == 0 {
			t.Error("the old key was given up without --yes")
		}
		if got := command(t, env, append([]string{"admin", "vault", "init", "--lost", "--yes"}, at(store)...)...); got.Code != 0 {
			t.Fatal(got.Err)
		}
		p = spawn(t, env, flags...)
		admin := servertest.Remote(t, p.URL, made).Admin(t) // the API key is good
		for entry := range want {
			if got := numbers(admin, entry); fmt.Sprint(got) != "[•••• (lost)]" {
				t.Errorf("the lost number is shown as %v", got)
			}
			admin.AddMethod(entry, servertest.Account("PH1234567890"))
			if got := numbers(admin, entry); fmt.Sprint(got) != "[•••• (lost) PH1234567890]" {
				t.Errorf("with a new number the entry has %v", got)
			}
		}
	})
}

func TestTheFirstStartCreatesAVaultKeyAndAdvisesToKeepItApart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	p := spawn(t, []string{"BURSAR_VAULT_KEY="}, "--data", folder, "--listen", "127.0.0.1:0")
	key := filepath.Join(folder, "vault.key")
	if about, err := os.Stat(key); err != nil || about.Mode().Perm() != 0o600 {
		t.Fatalf("the key file: %v, %v", about, err)
	}
	if said := p.Out.String(); !strings.Contains(said, key) || !strings.Contains(said, "keep a copy apart from the database") {
		t.Errorf("the output does not tell of the key:\n%s", said)
	}
}

// All files of a PostgreSQL server, its write-ahead log included, tell no number.
func TestTheFilesOfPostgreSQLRevealNoAccountNumber(t *testing.T) {
	t.Parallel()
	store, cluster := ownPostgres(t)
	made := initialise(t, store)
	p := start(t, store)
	admin := servertest.Remote(t, p.URL, made).Admin(t)
	admin.Entry(servertest.Body{"fields": servertest.Body{"email": "witness-in-clear@example.com"}})
	payees(admin, 3, 3)
	p.kill()
	witnesses := 0
	err := filepath.WalkDir(cluster.Dir(), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the server has just deleted it
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if bytes.Contains(text, []byte("PLANTED")) {
			t.Errorf("%s has a number", path)
		}
		witnesses += bytes.Count(text, []byte("witness-in-clear@example.com"))
		return err
	})
	if err != nil || witnesses == 0 {
		t.Errorf("the search found what is in clear %d times, %v", witnesses, err)
	}
}
