package backup_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"

	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/backup"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// place is a store of a test.
func place(s dbtest.Store) backup.Place {
	return backup.Place{Config: s.Config, Name: s.Engine + s.Config.Dir + s.Config.URL}
}

// both runs a test with a store of each engine, and an empty one of the other.
func both(t *testing.T, run func(t *testing.T, from, to dbtest.Store)) {
	t.Helper()
	t.Run("from sqlite", func(t *testing.T) { run(t, dbtest.SQLite(t), dbtest.EmptyPostgres(t)) })
	t.Run("from postgres", func(t *testing.T) { run(t, dbtest.EmptyPostgres(t), dbtest.SQLite(t)) })
}

// fill puts something into a store. The rows of the audit log that come last have no place yet.
func fill(t *testing.T, s dbtest.Store) {
	t.Helper()
	t.Run("fill", func(t *testing.T) {
		n := servertest.Start(t, s)
		n.EventfulTenant(t)
		n.SequenceAudit(t)
		n.EventfulTenant(t).Entry("Ñandú")
	})
}

func move(t *testing.T, from, to dbtest.Store) {
	t.Helper()
	if _, err := backup.Move(t.Context(), place(from), place(to), nil); err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, from, to dbtest.Store) {
	t.Helper()
	list, err := backup.Compare(t.Context(), place(from), place(to), nil)
	if err != nil || len(list) > 0 {
		t.Fatalf("they differ: %v, %v", list, err)
	}
}

func TestThereAndBackHasTheSameRows(t *testing.T) {
	first, second, third := dbtest.SQLite(t), dbtest.EmptyPostgres(t), dbtest.SQLite(t)
	fill(t, first)
	move(t, first, second)
	move(t, second, third)
	same(t, first, second)
	same(t, first, third)
}

// A table or a column that one engine has and the other has not would be lost, and so would one
// whose type has no place in an archive.
func TestBothEnginesHaveTheSameTables(t *testing.T) {
	dbtest.NeedsPostgres(t)
	tables := map[string][]db.Table{}
	dbtest.EachEmpty(t, func(t *testing.T, s dbtest.Store) {
		d := s.Open(t)
		err := d.Read(t.Context(), func(q db.Q) (err error) {
			tables[s.Engine], err = q.Tables(d)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	if diff := cmp.Diff(tables["sqlite"], tables["postgres"]); diff != "" || len(tables["sqlite"]) < 50 {
		t.Errorf("%d tables, and SQLite and PostgreSQL differ: %s", len(tables["sqlite"]), diff)
	}
}

func TestAMoveKeepsTheIndexesAndConstraints(t *testing.T) {
	from, to := dbtest.SQLite(t), dbtest.EmptyPostgres(t)
	fill(t, from)
	schema := func() (list []string) {
		config := to.Config
		config.AllowMarked = true
		d, err := db.Open(t.Context(), config)
		if err == nil {
			err = errors.Join(d.Read(t.Context(), func(q db.Q) (err error) {
				list, err = db.Collect(q, func(r db.Rows) string { return r.Text(0) }, `SELECT pg_get_indexdef(i.indexrelid) || i.indisreplident::text AS line FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relnamespace = current_schema()::regnamespace
					UNION ALL SELECT conrelid::regclass::text || conname || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = current_schema()::regnamespace
					UNION ALL SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'S' ORDER BY line`)
				return err
			}), d.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	before := schema()
	move(t, from, to)
	if diff := cmp.Diff(before, schema()); diff != "" {
		t.Error(diff)
	}
}

func TestClientsGoOnAfterAMove(t *testing.T) {
	both(t, func(t *testing.T, from, to dbtest.Store) {
		to.VaultKey = from.VaultKey
		key := filepath.Join(t.TempDir(), "audit.key")
		var apiKey, token, cursor, path string
		body := servertest.Body{"name": "Once", "applies_to": "all"}
		var answer []byte
		t.Run("before", func(t *testing.T) {
			n := servertest.Start(t, from, servertest.AuditKey(key))
			x := n.EventfulTenant(t)
			apiKey = n.First.APIKey
			token = x.Owner.Token
			body["workspace_id"] = x.WorkspaceID
			answer = x.Owner.Do("POST", "/v1/directory/tags", body, "Idempotency-Key", "once").OK().Body
			path = "/v1/directory?limit=1&workspace_id=" + x.WorkspaceID
			cursor, _ = x.Owner.Get(path).OK().Page()
			n.SequenceAudit(t)
			x.Entry("without a place in the log")
		})
		move(t, from, to)

		n := servertest.Start(t, to, servertest.AuditKey(key))
		n.First.APIKey = apiKey
		c := n.Stranger(t)
		c.Token = token
		if again := c.Do("POST", "/v1/directory/tags", body, "Idempotency-Key", "once").OK().Body; !bytes.Equal(again, answer) {
			t.Errorf("the request that was repeated got %s, and before %s", again, answer)
		}
		if got := len(c.Get(path + "&cursor=" + cursor).OK().List()); got != 1 {
			t.Errorf("the cursor leads to %d entries", got)
		}
		n.Login(t, apiKey)
		n.SequenceAudit(t)
		signer, err := auditlog.ReadKey(key)
		if err != nil {
			t.Fatal(err)
		}
		report, err := auditlog.VerifyStore(t.Context(), n.DB, signer, nil)
		if err != nil || len(report.Failures) > 0 || report.Rows == 0 {
			t.Errorf("the log after the move: %+v, %v", report, err)
		}
	})
}

func TestTheSourceOfAMoveRefusesToServe(t *testing.T) {
	both(t, func(t *testing.T, from, to dbtest.Store) {
		fill(t, from)
		move(t, from, to)
		if _, err := db.Open(t.Context(), from.Config); !errors.Is(err, db.ErrMarked) || !strings.Contains(err.Error(), to.Engine) {
			t.Errorf("the source: %v", err)
		}
		to.Open(t)
		if _, err := backup.Move(t.Context(), place(from), place(dbtest.SQLite(t)), nil); !errors.Is(err, db.ErrMarked) {
			t.Errorf("a second move: %v", err)
		}
	})
}

func TestAProcessThatHasTheSourceOfAMoveOpenChangesNothingAfterwards(t *testing.T) {
	both(t, func(t *testing.T, from, to dbtest.Store) {
		fill(t, from)
		late, err := db.Open(t.Context(), from.Config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = late.Close() })
		move(t, from, to)
		_, err = db.Write(t.Context(), late, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			return struct{}{}, audit.Event{Action: audit.SigningKeyRotated}, tx.Exec(`INSERT INTO setting (name, value) VALUES ('late', '')`)
		})
		if err == nil || !strings.Contains(err.Error(), "the store was moved") {
			t.Errorf("a change after the move ends with %v", err)
		}
		same(t, from, to)
	})
}

func TestAnInterruptedMoveLeavesTheSourceAsItWas(t *testing.T) {
	both(t, func(t *testing.T, from, to dbtest.Store) {
		fill(t, from)
		many(t, from)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if _, err := backup.Move(ctx, place(from), place(to), func(int64) { cancel() }); !errors.Is(err, context.Canceled) {
			t.Fatalf("the move was not interrupted: %v", err)
		}
		d, err := db.Open(t.Context(), from.Config)
		if err != nil {
			t.Fatalf("the source: %v", err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Open(t.Context(), to.Config); !errors.Is(err, db.ErrMarked) {
			t.Errorf("the target: %v", err)
		}
		move(t, from, to)
		same(t, from, to)
		to.Open(t)
	})
}

// many adds more rows than a copy counts at a time.
func many(t *testing.T, s dbtest.Store) {
	t.Helper()
	d, err := db.Open(t.Context(), s.Config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Write(t.Context(), d, db.Caller{}, func(tx *db.Tx) (any, audit.Event, error) {
		var rows [][]any
		for range 3000 {
			rows = append(rows, []any{tx.NewID("bud"), tx.Now()})
		}
		return nil, audit.None("a test"), tx.InsertRows(`INSERT INTO budget (id, full_at) VALUES `, `($1, $2)`, rows)
	})
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestAMoveThatWasInterruptedAtTheEndContinues(t *testing.T) {
	both(t, func(t *testing.T, from, to dbtest.Store) {
		fill(t, from)
		move(t, from, to)
		// As if the process had died before it took the mark from the target.
		mark(t, to, func(b *db.Bulk) error { return b.SetMark(db.Incomplete, "a test") })
		move(t, from, to)
		to.Open(t)
		// As if it had died before it marked the source.
		mark(t, from, (*db.Bulk).ClearMark)
		mark(t, to, func(b *db.Bulk) error { return b.SetMark(db.Incomplete, "a test") })
		many(t, from)
		if _, err := backup.Move(t.Context(), place(from), place(to), nil); err == nil || !strings.Contains(err.Error(), "the source has changed since") {
			t.Errorf("a source that has changed: %v", err)
		}
	})
}

func mark(t *testing.T, s dbtest.Store, set func(b *db.Bulk) error) {
	t.Helper()
	config := s.Config
	config.AllowMarked = true
	d, err := db.Open(t.Context(), config)
	if err == nil {
		err = errors.Join(d.Exclusive(t.Context(), set), d.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAMoveWantsTheStoreForItself(t *testing.T) {
	both(t, func(t *testing.T, from, to dbtest.Store) {
		config := from.Config
		config.Server = true
		d, err := db.Open(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := backup.Move(t.Context(), place(from), place(to), nil); err == nil || !strings.Contains(err.Error(), "in use") {
			t.Errorf("beside a server: %v", err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		config.Server, config.Exclusive = false, true
		if d, err = db.Open(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		config.Server, config.Exclusive = true, false
		if _, err := db.Open(t.Context(), config); err == nil {
			t.Error("a server started during a move")
		}
	})
}

// older makes a store as the program before the next version has left it.
func older(t *testing.T, s dbtest.Store) {
	t.Helper()
	config := s.Config
	config.Migrations = nil
	d, err := db.Open(t.Context(), config)
	if err == nil {
		err = d.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

const noStore, olderStore, sameStore = "no store", "older", "of this program"

// schemaOf describes the tables at the place of a store.
func schemaOf(t *testing.T, s dbtest.Store) string {
	t.Helper()
	config := s.Config
	config.NoMigrate, config.AllowMarked = true, true
	d, err := db.Open(t.Context(), config)
	switch {
	case errors.Is(err, db.ErrNoStore):
		if files, _ := filepath.Glob(filepath.Join(s.Config.Dir, "*")); s.Engine == "sqlite" && len(files) > 0 {
			return files[0]
		}
		return noStore
	case err == nil:
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		return sameStore
	case strings.Contains(err.Error(), "the store lacks migration 9999_next"):
		return olderStore
	}
	return err.Error()
}

func TestComparingChangesNeither(t *testing.T) {
	both(t, func(t *testing.T, from, to dbtest.Store) {
		from.Config.Migrations, to.Config.Migrations = dbtest.NextVersion(), dbtest.NextVersion()
		from.Open(t)
		compare := func(a, b dbtest.Store, want string) {
			t.Helper()
			if _, err := backup.Compare(t.Context(), place(a), place(b), nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q in it", err, want)
			}
		}
		compare(from, to, "there is no store")
		compare(to, from, "there is no store")
		if got := schemaOf(t, to); got != noStore {
			t.Errorf("the empty place has %s", got)
		}
		older(t, to)
		compare(from, to, "the store lacks migration 9999_next")
		compare(to, from, "the store lacks migration 9999_next")
		if got := schemaOf(t, to); got != olderStore {
			t.Errorf("the store of an older program is %s", got)
		}
	})
}

func TestARefusedMoveLeavesBothStoresAsTheyWere(t *testing.T) {
	both(t, func(t *testing.T, from, to dbtest.Store) {
		from.Config.Migrations, to.Config.Migrations = dbtest.NextVersion(), dbtest.NextVersion()
		refused := func(from, to dbtest.Store, want, source, target string) {
			t.Helper()
			if _, err := backup.Move(t.Context(), place(from), place(to), nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q in it", err, want)
			}
			if got := schemaOf(t, from); got != source {
				t.Errorf("the source is %s, and was %s", got, source)
			}
			if got := schemaOf(t, to); got != target {
				t.Errorf("the target is %s, and was %s", got, target)
			}
		}
		older(t, from)
		refused(from, to, "the store lacks migration 9999_next", olderStore, noStore)
		from.Open(t)
		for name, marked := range map[string]string{"elsewhere": "is marked as moved", place(to).Name: "there is no store"} {
			mark(t, from, func(b *db.Bulk) error { return b.SetMark(db.Moved, name) })
			refused(from, to, marked, sameStore, noStore)
		}
		mark(t, from, (*db.Bulk).ClearMark)
		older(t, to)
		refused(from, to, "the store lacks migration 9999_next", sameStore, olderStore)
		to.Open(t)
		mark(t, from, func(b *db.Bulk) error { return b.SetMark(db.Moved, place(to).Name) })
		refused(from, to, "the target is empty", sameStore, sameStore)
		to.Open(t) // which refuses a store with a mark
	})
}

// recipient is the public key of identity. A passphrase would take a second of CPU time at each use; the script backup.txtar has one.
const (
	recipient = "age1p7gnw060ycw00jaznfsar00a9y783e844rdq4pzwtmx0m63qafts3et6cq"
	identity  = "AGE-SECRET-KEY-1RXUPZXFGECJKZ947MUGX6AA7M58PLN2TNSC9RU4LP02YQKKR703QM369FW"
)

func TestAnArchiveIsRestoredOnEitherEngine(t *testing.T) {
	both(t, func(t *testing.T, from, to dbtest.Store) {
		to.VaultKey = from.VaultKey
		file := filepath.Join(t.TempDir(), "store.bursar")
		keys := func() backup.Keys { return backup.Keys{Identities: strings.NewReader(identity)} }
		var apiKey, token string
		var written backup.Manifest
		t.Run("before", func(t *testing.T) {
			many(t, from)
			n := servertest.Start(t, from, servertest.AuditKey(filepath.Join(t.TempDir(), "audit.key")))
			x := n.EventfulTenant(t)
			apiKey, token = n.First.APIKey, x.Owner.Token
			n.SequenceAudit(t)
			var err error
			if written, err = backup.WriteFile(t.Context(), n.DB, db.Caller{}, file, backup.Keys{Recipients: []string{recipient}}, nil); err != nil {
				t.Fatal(err)
			}
		})
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("Acme")) || !bytes.HasPrefix(text, []byte("age-encryption.org")) {
			t.Error("the archive is not encrypted")
		}
		other, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := backup.CheckFile(bytes.NewReader(text), backup.Keys{Identities: strings.NewReader(other.String())}, nil); err == nil {
			t.Error("another key opens it")
		}
		if _, err := backup.Restore(t.Context(), db.Caller{}, bytes.NewReader(text[:len(text)-100]), keys(), place(to), nil); err == nil {
			t.Fatal("an archive that was cut off was restored")
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if _, err := backup.Restore(ctx, db.Caller{}, bytes.NewReader(text), keys(), place(to), func(int64) { cancel() }); !errors.Is(err, context.Canceled) {
			t.Fatalf("the restore was not interrupted: %v", err)
		}
		if _, err := db.Open(t.Context(), to.Config); !errors.Is(err, db.ErrMarked) {
			t.Errorf("the target is used, though it is incomplete: %v", err)
		}
		done, err := backup.Restore(t.Context(), db.Caller{}, bytes.NewReader(text), keys(), place(to), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(written, done.Manifest); diff != "" || done.Sessions == 0 || done.Checkpoint == nil {
			t.Errorf("%d sessions, checkpoint %v: %s", done.Sessions, done.Checkpoint, diff)
		}

		n := servertest.Start(t, to)
		c := n.Stranger(t)
		c.Token = token
		c.Get("/v1/auth/me").Fails(401, "UNAUTHORIZED")
		n.Login(t, apiKey)
		n.SequenceAudit(t)
	})
}

func TestAnArchiveForAKeyTakesThatKey(t *testing.T) {
	s := dbtest.SQLite(t)
	d := s.Open(t)
	file := filepath.Join(t.TempDir(), "store.bursar")
	if _, err := backup.WriteFile(t.Context(), d, db.Caller{}, file, backup.Keys{Recipients: []string{recipient}}, nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.CheckFile(bytes.NewReader(text), backup.Keys{}, nil); !errors.Is(err, backup.ErrSealed) {
		t.Errorf("without a key: %v", err)
	}
	if _, err := backup.CheckFile(bytes.NewReader(text), backup.Keys{Identities: strings.NewReader(identity)}, nil); err != nil {
		t.Errorf("with the key: %v", err)
	}
}

func TestAPlainArchiveIsRefusedInPlaceOfAnEncryptedOne(t *testing.T) {
	from := dbtest.SQLite(t)
	fill(t, from)
	d, err := db.Open(t.Context(), from.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	path := filepath.Join(t.TempDir(), "plain")
	if _, err := backup.WriteFile(t.Context(), d, db.Caller{}, path, backup.Keys{Plain: true}, nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.CheckFile(bytes.NewReader(text), backup.Keys{Passphrase: "secret"}, nil); err == nil || !strings.Contains(err.Error(), "not encrypted") {
		t.Errorf("it was read: %v", err)
	}
	if _, err := backup.CheckFile(bytes.NewReader(text), backup.Keys{}, nil); err != nil {
		t.Errorf("without a key: %v", err)
	}
}

// archive writes an archive of a store without encryption.
func archive(t *testing.T, config db.Config) (file string) {
	t.Helper()
	d, err := db.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "store.bursar")
	_, err = backup.WriteFile(t.Context(), d, db.Caller{}, file, backup.Keys{Plain: true}, nil)
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
	return file
}

func restore(t *testing.T, file string, to dbtest.Store) error {
	t.Helper()
	from, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	_, err = backup.Restore(t.Context(), db.Caller{}, from, backup.Keys{}, place(to), nil)
	return err
}

func TestAnArchiveOfAnOlderProgramIsBroughtUpToDate(t *testing.T) {
	file := archive(t, db.Config{Dir: t.TempDir()})
	dbtest.EachEmpty(t, func(t *testing.T, to dbtest.Store) {
		to.Config.Migrations = dbtest.NextVersion()
		if err := restore(t, file, to); err != nil {
			t.Fatal(err)
		}
		var got string
		err := to.Open(t).Read(t.Context(), func(q db.Q) (err error) {
			got, err = q.Schema()
			return err
		})
		if err != nil || got != "9999_next" {
			t.Errorf("the restored store has migration %s, %v", got, err)
		}
	})
}

func TestAnArchiveOfANewerProgramOrAnEarlierBuildIsRefused(t *testing.T) {
	newer := archive(t, db.Config{Dir: t.TempDir(), Migrations: dbtest.NextVersion()})
	earlier := filepath.Join(t.TempDir(), "earlier.bursar")
	var packed bytes.Buffer
	begin := gzip.NewWriter(&packed)
	_, err := begin.Write([]byte("bursar archive 1\n\x02{}"))
	if err := errors.Join(err, begin.Close(), os.WriteFile(earlier, packed.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	dbtest.EachEmpty(t, func(t *testing.T, to dbtest.Store) {
		for file, want := range map[string]string{
			newer:   "the archive has migration 9999_next, which this program does not know: use a newer bursar",
			earlier: "the archive was made by a build before 1.0.0-rc.1, which this one cannot open: start with an empty store",
		} {
			if err := restore(t, file, to); err == nil || err.Error() != want {
				t.Errorf("got %v", err)
			}
		}
		if got := schemaOf(t, to); got != noStore {
			t.Errorf("the target has %s", got)
		}
	})
}

func TestAChangedArchiveIsRefused(t *testing.T) {
	s := dbtest.SQLite(t)
	d := s.Open(t)
	file := filepath.Join(t.TempDir(), "store.bursar")
	if _, err := backup.WriteFile(t.Context(), d, db.Caller{}, file, backup.Keys{Plain: true}, nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, changed := range [][]byte{nil, text[:20], text[:len(text)/2], text[:len(text)-1], []byte("something else")} {
		if _, err := backup.CheckFile(bytes.NewReader(changed), backup.Keys{}, nil); err == nil || errors.Is(err, backup.ErrSealed) {
			t.Errorf("%d of %d bytes were taken for an archive: %v", len(changed), len(text), err)
		}
	}
	if _, err := backup.WriteFile(t.Context(), d, db.Caller{}, file, backup.Keys{Plain: true}, nil); err == nil {
		t.Error("an archive was replaced")
	}
}
