package db_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/vault"
)

// plantedNumber is what must not be found; i tells methods apart.
func plantedNumber(i int) string { return fmt.Sprintf("PLANTED-%06d-NUMBER", i) }

// fillInClear makes a store as the last program left it that sealed nothing.
func fillInClear(tx *db.Tx, methods int) error {
	for _, statement := range []string{
		`INSERT INTO organization (id, name, slug, created_at) VALUES ('org_1', '', 'org', 0)`,
		`INSERT INTO workspace (id, number, organization_id, name, slug, member_version, created_at)
			VALUES ('ws_1', 1, 'org_1', '', 'one', 0, 0), ('ws_2', 2, 'org_1', '', 'two', 0, 0)`,
		`INSERT INTO account (id, kind, email, name, status, created_at, email_proof) VALUES ('usr_1', 'person', 'ada@example.com', '', 'active', 0, '*')`,
		`INSERT INTO totp (account_id, secret, last_step, created_at) VALUES ('usr_1', 'PLANTED-TOTP-SECRET', 0, 0)`,
		`INSERT INTO signing_key (id, seed, created_at) VALUES ('sig_1', 'PLANTED-SIGNING-SEED', 0)`,
		`INSERT INTO setting (name, value) VALUES ('cursor_key', 'PLANTED-CURSOR-KEY')`,
	} {
		if err := tx.Exec(statement); err != nil {
			return err
		}
	}
	for i := range methods {
		entry := db.PackID("entry", oldEntry(i))
		if err := tx.Exec(`INSERT INTO directory_entry (id, workspace_number, type, label, label_sent, name, status, fields, words, created_at, updated_at)
			VALUES ($1, $2, 'person', 'Ada', FALSE, '', 'active', '{}', '', 0, 0)`, entry, 1+i%2); err != nil {
			return err
		}
		if err := tx.Exec(`INSERT INTO receiving_method (id, entry_id, provider, account_name, account_id, is_default, created_at)
			VALUES ($1, $2, 'bank', 'Ada', $3, TRUE, 0)`, fmt.Sprintf("rm_%06d", i), entry, plantedNumber(i)); err != nil {
			return err
		}
	}
	return nil
}

func TestWhatWasStoredInClearIsSealedAndGone(t *testing.T) {
	const methods = 1200 // more than two batches
	dbtest.EachEmpty(t, func(t *testing.T, store dbtest.Store) {
		fillBefore(t, store, "0031", func(tx *db.Tx) error { return fillInClear(tx, methods) })
		if store.Engine == "sqlite" && len(planted(t, store)) == 0 {
			t.Fatal("the search finds nothing in a store in clear")
		}
		// Two nodes start at once, and each of them may do a part.
		var nodes sync.WaitGroup
		for range 2 {
			v := store.Vault(store.Open(t))
			nodes.Go(func() {
				if err := v.Start(t.Context()); err != nil && !strings.Contains(err.Error(), "locked") && !strings.Contains(err.Error(), "uses the database") {
					t.Error(err)
				}
			})
		}
		nodes.Wait()
		d := store.Open(t)
		v := store.Vault(d)
		if err := v.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if found := planted(t, store); len(found) > 0 {
			t.Errorf("what was in clear is still in the files: %v", found)
		}
		checkSealed(t, d, v, methods)
		if left := count(t, d, `SELECT count(*) FROM vault_unsealed`) + count(t, d, `SELECT count(*) FROM setting WHERE name = 'vault_vacuum'`); left != 0 {
			t.Errorf("%d rows wait", left)
		}
	})
}

// checkSealed opens everything that fillInClear made.
func checkSealed(t *testing.T, d *db.DB, v *vault.Vault, methods int) {
	t.Helper()
	opened := func(workspace int64, context string, sealed []byte, want string) {
		t.Helper()
		if got, err := v.Open(workspace, context, sealed); err != nil || string(got) != want {
			t.Errorf("%s: opened %q, %v, want %q", context, got, err, want)
		}
	}
	type row struct {
		sealed, key []byte
		by          int64
	}
	var rows []row
	var secret, seed, cursor []byte
	err := d.Read(t.Context(), func(q db.Q) (err error) {
		rows, err = db.Collect(q, func(r db.Rows) row { return row{bytes.Clone(r.Raw(0)), bytes.Clone(r.Raw(1)), r.Int(2)} },
			`SELECT account_sealed, account_key, sealed_by FROM receiving_method ORDER BY id`)
		_, e1 := q.Row(`SELECT secret_sealed FROM totp`).Scan(&secret)
		_, e2 := q.Row(`SELECT seed_sealed FROM signing_key`).Scan(&seed)
		_, e3 := q.Row(`SELECT sealed FROM vault_secret WHERE name = 'cursor_key'`).Scan(&cursor)
		return errors.Join(err, e1, e2, e3)
	})
	if err != nil || len(rows) != methods {
		t.Fatalf("%d methods, %v", len(rows), err)
	}
	for i, row := range rows {
		opened(int64(1+i%2), vault.Account(fmt.Sprintf("rm_%06d", i)), row.sealed, plantedNumber(i))
		if index, err := v.Index(row.sealed, vault.NormalNumber(plantedNumber(i))); err != nil || !bytes.Equal(index, row.key) || row.by != vault.KeyOf(row.sealed) {
			t.Fatalf("method %d has the index %x and the key %d, %v", i, row.key, row.by, err)
		}
	}
	opened(0, vault.TOTPSecret("usr_1"), secret, "PLANTED-TOTP-SECRET")
	opened(0, vault.SigningSeed("sig_1"), seed, "PLANTED-SIGNING-SEED")
	opened(0, vault.StoreSecret("cursor_key"), cursor, "PLANTED-CURSOR-KEY")
}

// planted searches the files of SQLite, or every row of PostgreSQL, for what was planted.
func planted(t *testing.T, store dbtest.Store) (found []string) {
	t.Helper()
	const mark = "PLANTED"
	if store.Engine == "postgres" {
		for _, row := range dump(t, store.Open(t)) {
			if strings.Contains(row, mark) {
				found = append(found, row)
			}
		}
		return found
	}
	files, err := filepath.Glob(filepath.Join(store.Config.Dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the store has %d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte(mark)); n > 0 {
			found = append(found, fmt.Sprintf("%s: %d times", filepath.Base(file), n))
		}
	}
	return found
}

// dump reads every row of every table of a schema of PostgreSQL, as pg_dump would.
func dump(t *testing.T, d *db.DB) (rows []string) {
	t.Helper()
	err := d.Read(t.Context(), func(q db.Q) error {
		text := func(r db.Rows) string { return r.Text(0) }
		tables, err := db.Collect(q, text, `SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()`)
		for _, table := range tables {
			if err == nil {
				var some []string
				some, err = db.Collect(q, text, `SELECT '`+table+` ' || t::text FROM "`+table+`" t`)
				rows = append(rows, some...)
			}
		}
		return err
	})
	if err != nil || len(rows) == 0 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	return rows
}
