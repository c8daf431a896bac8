package vault_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/keyfile"
	"bursar/internal/torture"
	"bursar/internal/vault"
)

func seal(t *testing.T, v *vault.Vault, workspace int64, row, text string) []byte {
	t.Helper()
	if err := v.Ready(t.Context(), workspace); err != nil {
		t.Fatal(err)
	}
	sealed, err := v.Seal(workspace, row, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func opens(t *testing.T, v *vault.Vault, workspace int64, row string, sealed []byte, want string) {
	t.Helper()
	if got, err := v.Open(workspace, row, sealed); err != nil || string(got) != want {
		t.Errorf("opened %q, %v, want %q", got, err, want)
	}
}

func TestWhatIsSealedOpensInItsPlaceAlone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		v := store.Vault(d)
		row := vault.Account("rm_1")
		sealed := seal(t, v, 1, row, "PH1234567890")
		opens(t, v, 1, row, sealed, "PH1234567890")
		opens(t, store.Vault(store.Open(t)), 1, row, sealed, "PH1234567890") // another node
		if again := seal(t, v, 1, row, "PH1234567890"); bytes.Equal(again, sealed) {
			t.Error("the same number is sealed to the same bytes, so that rows tell that they are equal")
		}
		if bytes.Contains(sealed, []byte("1234567890")) {
			t.Error("the number is in the sealed bytes")
		}
		for name, place := range map[string]struct {
			workspace int64
			row       string
		}{
			"another row":       {1, vault.Account("rm_2")},
			"another column":    {1, vault.Row("receiving_method", "account_name", "rm_1")},
			"another table":     {1, vault.TOTPSecret("rm_1")},
			"another workspace": {2, row},
			"the store":         {0, row},
		} {
			if got, err := v.Open(place.workspace, place.row, sealed); !errors.Is(err, vault.ErrDamaged) {
				t.Errorf("opened in %s: %q, %v", name, got, err)
			}
		}
	})
}

func TestDamagedBytesAreRefused(t *testing.T) {
	store := dbtest.SQLite(t)
	v := store.Vault(store.Open(t))
	sealed := seal(t, v, 1, "row", "PH1234567890")
	for i := range sealed {
		for bit := range 8 {
			damaged := bytes.Clone(sealed)
			damaged[i] ^= 1 << bit
			if got, err := v.Open(1, "row", damaged); !errors.Is(err, vault.ErrDamaged) {
				t.Fatalf("bit %d of byte %d was changed, and it opened: %q, %v", bit, i, got, err)
			}
		}
		if _, err := v.Open(1, "row", sealed[:i]); !errors.Is(err, vault.ErrDamaged) {
			t.Fatalf("it was cut to %d bytes: %v", i, err)
		}
	}
	if _, err := v.Open(1, "row", append(sealed, 0)); !errors.Is(err, vault.ErrDamaged) {
		t.Errorf("it was made longer: %v", err)
	}
}

func TestEqualNumbersAreFoundInTheirWorkspaceAlone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		v := store.Vault(store.Open(t))
		sealed := seal(t, v, 1, "row", "1")
		index, err := v.Index(sealed, vault.NormalNumber("ph12 3456-7890"))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			workspace int64
			number    string
			want      bool
		}{{1, "PH1234567890", true}, {1, "PH1234567891", false}, {2, "PH1234567890", false}} {
			found, err := v.Lookups(t.Context(), c.workspace, vault.NormalNumber(c.number))
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.ContainsFunc(found, func(b []byte) bool { return bytes.Equal(b, index) }); got != c.want {
				t.Errorf("%s in workspace %d: found %v", c.number, c.workspace, got)
			}
		}
	})
}

func TestManyNodesMakeOneKey(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		var all sync.WaitGroup
		sealed := make([][]byte, 6)
		for i := range sealed {
			v := store.Vault(store.Open(t))
			all.Go(func() {
				if err := v.Ready(context.Background(), 7); err != nil {
					t.Error(err)
					return
				}
				var err error
				if sealed[i], err = v.Seal(7, "row", []byte("number")); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		v := store.Vault(store.Open(t))
		for _, s := range sealed {
			opens(t, v, 7, "row", s, "number")
			if vault.KeyOf(s) != vault.KeyOf(sealed[0]) {
				t.Errorf("two data keys seal for a workspace: %d and %d", vault.KeyOf(s), vault.KeyOf(sealed[0]))
			}
		}
	})
}

// refused starts a vault with another key file and checks that it says one line.
func refused(t *testing.T, d *db.DB, c vault.Config, want ...string) {
	t.Helper()
	err := vault.New(d, c).Start(t.Context())
	if err == nil {
		t.Fatalf("a vault with %v has started", c.KeyFile)
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the refusal has several lines: %q", err)
	}
}

func TestAnotherKeyIsRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		v := store.Vault(d)
		refused(t, d, vault.Config{KeyFile: store.VaultKey}, "no vault key yet", "bursar admin vault init")
		sealed := seal(t, v, 1, "row", "number")
		status, err := v.Status(t.Context())
		if err != nil || status.Problem != "" || status.Version != 1 {
			t.Fatalf("status %+v, %v", status, err)
		}
		folder := t.TempDir()
		other := filepath.Join(folder, "other.key")
		refused(t, d, vault.Config{KeyFile: other, Make: true}, "there is no file "+other, status.Fingerprint, "--lost")
		if _, err := os.Stat(other); err == nil {
			t.Error("a key was made for a store that has another")
		}
		line := "bursar-vault-key-1 " + base64.StdEncoding.EncodeToString(make([]byte, 32))
		if err := keyfile.Make(other, []byte(line)); err != nil {
			t.Fatal(err)
		}
		refused(t, d, vault.Config{KeyFile: other, Make: true}, "not the one of this store", status.Fingerprint)
		if err := os.Chmod(other, 0o640); err != nil {
			t.Fatal(err)
		}
		refused(t, d, vault.Config{KeyFile: other, Make: true}, "chmod 600")
		for name, text := range map[string]string{"empty": "", "cut": line[:40], "of another kind": "PRIVATE KEY"} {
			file := filepath.Join(folder, strings.Fields(name)[0])
			if err := keyfile.Make(file, []byte(text)); err != nil {
				t.Fatal(err)
			}
			refused(t, d, vault.Config{KeyFile: file, Make: true}, file)
		}
		opens(t, v, 1, "row", sealed, "number")
	})
}

func TestALostKeyCostsWhatItSealedAndNothingElse(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		sealed := seal(t, store.Vault(d), 1, "row", "number")
		if _, err := store.Vault(d).Replace(t.Context(), db.Caller{}); err == nil || !strings.Contains(err.Error(), "not lost") {
			t.Errorf("a key that is here was replaced: %v", err)
		}
		away := store.VaultKey + "-away"
		if err := os.Rename(store.VaultKey, away); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Vault(d).Replace(t.Context(), db.Caller{}); err != nil {
			t.Fatal(err)
		}
		v := store.Vault(d)
		if got, err := v.Open(1, "row", sealed); !errors.Is(err, vault.ErrLost) {
			t.Errorf("opened %q, %v", got, err)
		}
		again := seal(t, v, 1, "row", "another")
		opens(t, v, 1, "row", again, "another")

		// The key turns up: its line goes into the file, and all is there again.
		old, err := keyfile.Read(away)
		if err != nil {
			t.Fatal(err)
		}
		new, err := keyfile.Read(store.VaultKey)
		if err != nil {
			t.Fatal(err)
		}
		if err := keyfile.Replace(store.VaultKey, append(old, new...)); err != nil {
			t.Fatal(err)
		}
		v = store.Vault(d)
		opens(t, v, 1, "row", sealed, "number")
		opens(t, v, 1, "row", again, "another")
	})
}

func TestRotationKeepsEverythingReadable(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		v := store.Vault(d)
		node := store.Vault(store.Open(t)) // which runs on while the key is rotated
		sealed := map[int64][]byte{}
		for workspace := range int64(3) {
			sealed[workspace] = seal(t, v, workspace, "row", fmt.Sprint("number ", workspace))
		}
		opens(t, node, 0, "row", sealed[0], "number 0")
		prepared, err := v.Prepare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if again, err := v.Prepare(t.Context()); err != nil || again != prepared {
			t.Errorf("prepared %s and then %s, %v", prepared, again, err)
		}
		done, err := v.Rotate(t.Context(), db.Caller{})
		if err != nil || done.Fingerprint != prepared || done.Version != 2 || done.Rewrapped != 3 {
			t.Fatalf("rotated %+v, %v, want the prepared key %s", done, err, prepared)
		}
		for workspace, bytes := range sealed {
			opens(t, node, workspace, "row", bytes, fmt.Sprint("number ", workspace))
			opens(t, store.Vault(d), workspace, "row", bytes, fmt.Sprint("number ", workspace))
		}
		opens(t, store.Vault(d), 5, "row", seal(t, node, 5, "row", "new"), "new")
		if status, err := v.Status(t.Context()); err != nil || status.OldMaster != 0 || status.Version != 2 {
			t.Errorf("status %+v, %v", status, err)
		}
	})
}

func TestAKeyOfTheStoreSurvivesRotationAndReseal(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		v := store.Vault(d)
		if err := v.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		key := func() string {
			t.Helper()
			key, err := store.Vault(d).StoreKey(t.Context(), vault.ExternalIDKey)
			if err != nil || len(key) != 32 {
				t.Fatalf("the key is %x, %v", key, err)
			}
			return string(key)
		}
		first := key()
		if _, err := v.Rotate(t.Context(), db.Caller{}); err != nil {
			t.Fatal(err)
		}
		if _, err := v.Reseal(t.Context(), db.Caller{}, func(int64, int64) {}); err != nil {
			t.Fatal(err)
		}
		if key() != first {
			t.Error("the key has changed")
		}
		other, err := v.StoreKey(t.Context(), "another")
		if err != nil || string(other) == first {
			t.Errorf("a key of another name is the same, %v", err)
		}
	})
}

// program is a wrapping service of its own: it keeps the key that it is given in a file.
const program = `#!/bin/sh
case "$2" in
wrap) read line; printf '%s' "$line" > "$1"; printf 'd3JhcHBlZA==\n';;
unwrap) read line; [ "$line" = "d3JhcHBlZA==" ] || { echo "not mine" >&2; exit 1; }; cat "$1";;
esac
`

func TestAProgramKeepsTheMasterKey(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		folder := t.TempDir()
		script, held := filepath.Join(folder, "kms"), filepath.Join(folder, "held")
		if err := os.WriteFile(script, []byte(program), 0o700); err != nil {
			t.Fatal(err)
		}
		d := store.Open(t)
		config := vault.Config{Command: script + " " + held, Make: true}
		v := vault.New(d, config)
		sealed := seal(t, v, 1, "row", "number")
		opens(t, vault.New(store.Open(t), config), 1, "row", sealed, "number")
		refused(t, d, vault.Config{KeyFile: store.VaultKey, Make: true}, "--vault-command")
		if err := os.WriteFile(held, []byte(base64.StdEncoding.EncodeToString(make([]byte, 32))), 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, d, config, "another key")
		if err := os.Remove(held); err != nil {
			t.Fatal(err)
		}
		refused(t, d, config, script, "unwrap")
		opens(t, v, 1, "row", sealed, "number") // a node that runs does not ask again
	})
}

// A program that cannot give back what it was given would cost everything that is sealed.
func TestAProgramThatForgetsSealsNothing(t *testing.T) {
	store := dbtest.SQLite(t)
	d := store.Open(t)
	script := filepath.Join(t.TempDir(), "kms")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho d3JhcHBlZA==\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := vault.Config{Command: script, Make: true}
	refused(t, d, config, "does not unwrap what it has wrapped")
	if status, err := vault.New(d, config).Status(t.Context()); err != nil || status.Version != 0 || status.Keys != 0 {
		t.Errorf("status %+v, %v", status, err)
	}
}

// Several operators rotate at once, with one file. Whichever key the store has then is in it.
func TestRotationsAtOnceLoseNoKey(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		sealed := seal(t, store.Vault(d), 1, "row", "number")
		for range torture.Rounds(5, 100) {
			var all sync.WaitGroup
			for range 4 {
				v := store.Vault(d)
				all.Go(func() {
					if _, err := v.Rotate(t.Context(), db.Caller{}); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			v := store.Vault(d)
			if status, err := v.Status(t.Context()); err != nil || status.Problem != "" {
				t.Fatalf("status %+v, %v", status, err)
			}
			opens(t, v, 1, "row", sealed, "number")
			opens(t, v, 2, "row", seal(t, v, 2, "row", "other"), "other")
		}
	})
}

// A node whose copy of the file does not have the new key goes on with the data keys that it
// knows, does not start again, and needs no restart once it has the file.
func TestANodeWithoutTheNewKeyGoesOn(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		sealed := seal(t, store.Vault(d), 1, "row", "number")
		old, err := keyfile.Read(store.VaultKey)
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(t.TempDir(), "copy.key")
		if err := keyfile.Make(copied, old); err != nil {
			t.Fatal(err)
		}
		config := vault.Config{KeyFile: copied}
		nodeStore := store.Open(t)
		node := vault.New(nodeStore, config)
		opens(t, node, 1, "row", sealed, "number")
		done, err := store.Vault(d).Rotate(t.Context(), db.Caller{})
		if err != nil {
			t.Fatal(err)
		}
		moveEpoch(t, nodeStore) // so that the node reads its keys again
		opens(t, node, 1, "row", seal(t, node, 1, "row", "later"), "later")
		if err := node.Ready(t.Context(), 2); !errors.Is(err, vault.ErrLost) || !strings.Contains(err.Error(), done.Fingerprint) {
			t.Errorf("a data key was made without the key that wraps it: %v", err)
		}
		refused(t, d, config, "not the one of this store", done.Fingerprint)
		new, err := keyfile.Read(store.VaultKey)
		if err != nil {
			t.Fatal(err)
		}
		if err := keyfile.Replace(copied, new); err != nil {
			t.Fatal(err)
		}
		opens(t, node, 2, "row", seal(t, node, 2, "row", "other"), "other")
	})
}

// moveEpoch makes a node believe that access has changed.
func moveEpoch(t *testing.T, d *db.DB) {
	t.Helper()
	_, err := db.Write(t.Context(), d, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.Event{Action: audit.SigningKeyRotated, Description: "a test"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Two nodes with different files begin with the same store at once: one of them starts.
func TestNodesWithDifferentKeysDoNotBothStart(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		errs := make([]error, 4)
		var all sync.WaitGroup
		for i := range errs {
			v := vault.New(store.Open(t), vault.Config{KeyFile: filepath.Join(t.TempDir(), "vault.key"), Make: true})
			all.Go(func() { errs[i] = v.Start(t.Context()) })
		}
		all.Wait()
		started := 0
		for _, err := range errs {
			if err == nil {
				started++
			} else if !errors.Is(err, vault.ErrLost) {
				t.Error(err)
			}
		}
		if started != 1 {
			t.Errorf("%d nodes have started: %v", started, errs)
		}
	})
}

// A key that cannot be written seals nothing.
func TestAKeyIsOnDiskBeforeTheStoreKnowsIt(t *testing.T) {
	store := dbtest.SQLite(t)
	d := store.Open(t)
	config := vault.Config{KeyFile: filepath.Join(t.TempDir(), "not mounted", "vault.key"), Make: true}
	refused(t, d, config, "make the vault key", "not mounted")
	if status, err := vault.New(d, config).Status(t.Context()); err != nil || status.Version != 0 || status.Keys != 0 {
		t.Errorf("status %+v, %v", status, err)
	}
}
