package continuous_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/auditlog/tree"
	"bursar/internal/backup/continuous"
	"bursar/internal/db"
	"bursar/internal/mail"
	"bursar/internal/mail/smtptest"
	"bursar/internal/payout"
	"bursar/internal/server/servertest"
)

// newestEntry returns the id of the newest row of the audit log.
func newestEntry(t *testing.T, d *db.DB) (id string) {
	t.Helper()
	for row, err := range (auditlog.Outside{}).Rows(t.Context(), d) {
		if err != nil {
			t.Fatal(err)
		}
		return row.ID
	}
	t.Fatal("the log is empty")
	return ""
}

// entries returns how many rows the audit log of a restored store has with a text.
func entries(t *testing.T, dir, text string) (n int) {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for row, err := range (auditlog.Outside{}).Rows(t.Context(), d) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(row.Description, text) {
			n++
		}
	}
	return n
}

// passMillisecond waits until times are different.
func passMillisecond() time.Time {
	at := time.Now()
	for !time.Now().After(at.Add(2 * time.Millisecond)) {
	}
	return at.Add(time.Millisecond)
}

func TestEveryMomentThatWasShippedCanBeRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base(t)
	var moments []time.Time
	for range 6 {
		write(t, w.db, "counted")
		w.ship(t)
		moments = append(moments, passMillisecond())
	}
	for i, at := range moments {
		place := restored(t, continuous.Source{Target: w.target}, continuous.Moment{At: at})
		if n := entries(t, place.Config.Dir, "counted"); n != i+1 {
			t.Errorf("at moment %d: %d rows", i, n)
		}
	}
	if _, err := continuous.Unpack(t.Context(), continuous.Source{Target: w.target}, t.TempDir(), continuous.Moment{At: moments[0].Add(-time.Hour)}); err == nil || !strings.Contains(err.Error(), "begins at") {
		t.Errorf("before the first: %v", err)
	}
}

func TestTheMomentBeforeAnAuditEntryCanBeRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base(t)
	var ids []string
	for range 5 {
		write(t, w.db, "counted")
		ids = append(ids, newestEntry(t, w.db))
		w.ship(t)
	}
	for i, id := range ids {
		place := restored(t, continuous.Source{Target: w.target}, continuous.Moment{Before: id})
		if n := entries(t, place.Config.Dir, "counted"); n != i {
			t.Errorf("before entry %d: %d rows", i, n)
		}
	}
	for id, want := range map[string]string{
		"aud_nothing":                    "no id",
		w.db.NewID("aud"):                "does not have",
		db.FirstID("aud", 1_000_000_000): "does not have",
	} {
		_, err := continuous.Unpack(t.Context(), continuous.Source{Target: w.target}, t.TempDir(), continuous.Moment{Before: id})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestTheMomentBeforeAnEntryOfAWorkspaceCanBeRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := servertest.Start(t, w.store)
	x := n.EventfulTenant(t)
	w.base(t)
	x.Entry("Deleted by mistake")
	id := x.Owner.Get("/v1/audit?limit=1&workspace_id=" + x.WorkspaceID).OK().List()[0]["id"].(string)
	w.ship(t)
	place := restored(t, continuous.Source{Target: w.target}, continuous.Moment{Before: id})
	d, err := db.Open(t.Context(), place.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	err = d.Read(t.Context(), func(q db.Q) error {
		if found, err := q.Row(`SELECT 1 FROM audit_log WHERE id = $1`, db.PackID("aud", id)).Scan(new(int64)); err != nil || found {
			t.Errorf("it is there: %v, %v", found, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestARestoreNamesTheSegmentThatIsMissingOrDamaged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base(t)
	for range 4 {
		w.write(t, 1)
		w.ship(t)
		_ = passMillisecond() // a server cuts once a second
	}
	objects, err := w.target.List(t.Context(), "ltx/0/")
	if err != nil || len(objects) < 4 {
		t.Fatal(objects, err)
	}
	name := objects[len(objects)-2].Name
	file := filepath.Join(w.target.String(), name)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for how, change := range map[string]func() error{
		"missing":   func() error { return os.Remove(file) },
		"cut off":   func() error { return os.WriteFile(file, text[:len(text)-20], 0o600) },
		"empty":     func() error { return os.WriteFile(file, nil, 0o600) },
		"the last":  func() error { c := append([]byte(nil), text...); c[len(c)-1] ^= 1; return os.WriteFile(file, c, 0o600) },
		"the first": func() error { c := append([]byte(nil), text...); c[0] ^= 1; return os.WriteFile(file, c, 0o600) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		for what, m := range map[string]continuous.Moment{"newest": {}, "at": {At: time.Now()}, "before": {Before: newestEntry(t, w.db)}} {
			dir := filepath.Join(t.TempDir(), "restored")
			_, err := continuous.Restore(t.Context(), db.Caller{}, continuous.Source{Target: w.target}, dir, m, nil)
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s, %s: %v", how, what, err)
			}
			if list, err := os.ReadDir(dir); err == nil && len(list) > 1 { // the lock
				t.Errorf("%s, %s: left %v", how, what, list)
			}
			// It reports the last moment that can be restored.
			said := regexp.MustCompile(`after (\S+) cannot be restored`).FindStringSubmatch(fmt.Sprint(err))
			if said == nil {
				t.Errorf("%s, %s: %v", how, what, err)
				continue
			}
			at, err := time.Parse(time.RFC3339, said[1])
			if err != nil {
				t.Fatal(err)
			}
			place := restored(t, continuous.Source{Target: w.target}, continuous.Moment{At: at})
			if n := entries(t, place.Config.Dir, "row"); n != 2 {
				t.Errorf("%s, %s: %d rows", how, what, n)
			}
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.same(t)
}

func TestDamageAfterTheMomentOfARestoreDoesNotMatter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base(t)
	write(t, w.db, "counted")
	w.ship(t)
	at := passMillisecond()
	for range 6 {
		write(t, w.db, "counted")
		w.ship(t)
	}
	objects, err := w.target.List(t.Context(), "ltx/0/")
	if err != nil || len(objects) < 7 {
		t.Fatal(objects, err)
	}
	for _, o := range objects[len(objects)-5:] {
		if err := os.WriteFile(filepath.Join(w.target.String(), o.Name), []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	place := restored(t, continuous.Source{Target: w.target}, continuous.Moment{At: at})
	if n := entries(t, place.Config.Dir, "counted"); n != 1 {
		t.Errorf("%d rows", n)
	}
}

func TestOtherObjectsMakeUpForADamagedOne(t *testing.T) {
	t.Parallel()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for form, keys := range map[string][]age.Recipient{"in clear": nil, "encrypted": {key.Recipient()}} {
		for _, prefix := range []string{"ltx/1/", "ltx/9/"} {
			t.Run(form+" "+prefix, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, keys...)
				w.base(t)
				w.write(t, 1)
				w.ship(t)
				if prefix == "ltx/9/" {
					w.base(t)
				}
				for range 3 {
					w.write(t, 1)
					w.ship(t)
				}
				last := newestEntry(t, w.db)
				if prefix == "ltx/1/" {
					if err := w.Merge(t.Context(), time.Now().Add(2*time.Minute)); err != nil {
						t.Fatal(err)
					}
					w.ship(t)
				}
				name := w.damage(t, prefix)
				from := continuous.Source{Target: w.target}
				if keys != nil {
					from.Identities = []age.Identity{key}
				}
				for _, m := range []continuous.Moment{{}, {At: time.Now()}} {
					w.sameAs(t, restored(t, from, m))
				}
				place := restored(t, from, continuous.Moment{Before: last})
				if n := entries(t, place.Config.Dir, "row"); n != 3 {
					t.Errorf("%d rows before the last entry", n)
				}
				done, err := continuous.Unpack(t.Context(), from, t.TempDir(), continuous.Moment{})
				if err != nil || !slices.Equal(done.Damaged, []string{name}) {
					t.Errorf("%v, %v", done.Damaged, err)
				}
			})
		}
	}
}

func TestARestoreNamesTheOnlyBaseIfItIsDamaged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, 1)
	w.base(t)
	if err := os.RemoveAll(filepath.Join(w.target.String(), "ltx", "0")); err != nil {
		t.Fatal(err)
	}
	name := w.damage(t, "ltx/9/")
	check := func() {
		t.Helper()
		for _, m := range []continuous.Moment{{}, {At: time.Now()}, {Before: newestEntry(t, w.db)}} {
			_, err := continuous.Unpack(t.Context(), continuous.Source{Target: w.target}, t.TempDir(), m)
			if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "base") {
				t.Errorf("%v", err)
			}
		}
	}
	check()
	if err := os.WriteFile(filepath.Join(w.target.String(), name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check()
}

func TestARestoredStoreHasNoSessionsAndSendsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := filepath.Join(t.TempDir(), "audit.key")
	var token string
	n := servertest.Start(t, w.store, servertest.AuditKey(key))
	token = n.EventfulTenant(t).Owner.Token
	n.SequenceAudit(t)
	box := smtptest.Start(t, smtptest.Options{})
	mailer, err := mail.New(mail.Config{URL: box.URL, From: "bursar@example.com"}, n.DB, n.Vault, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), mailer.Queue(tx, mail.Accounts, mail.AccountLink{To: "ada@example.com", Link: "https://bursar.test"}.Message())
	})
	if err != nil {
		t.Fatal(err)
	}
	w.base(t)

	w.store.Config.Dir = filepath.Join(t.TempDir(), "restored")
	done, err := continuous.Restore(t.Context(), db.Caller{}, continuous.Source{Target: w.target}, w.store.Config.Dir, continuous.Moment{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if done.Sessions == 0 {
		t.Error("no session was ended")
	}
	if _, err := continuous.Restore(t.Context(), db.Caller{}, continuous.Source{Target: w.target}, w.store.Config.Dir, continuous.Moment{}, nil); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second restore: %v", err)
	}
	n = servertest.Start(t, w.store, servertest.AuditKey(key))
	c := n.Stranger(t)
	c.Token = token
	if status := c.Get("/v1/auth/me").Status; status != 401 {
		t.Errorf("a session of the old store: %d", status)
	}
	var stopped payout.Stopped
	var letters int
	err = n.DB.Read(t.Context(), func(q db.Q) (err error) {
		if stopped, err = payout.ReadStopped(q); err == nil {
			_, err = q.Row(`SELECT count(*) FROM outgoing_mail`).Scan(&letters)
		}
		return err
	})
	if err != nil || !stopped.Stopped || letters != 0 {
		t.Errorf("the rails: %+v, mail that has arrived long ago: %d, %v", stopped, letters, err)
	}
}

func TestAVerificationReportsWhetherTheBackupIsGood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := servertest.Start(t, w.store, servertest.AuditKey(filepath.Join(t.TempDir(), "audit.key")))
	n.EventfulTenant(t)
	n.SequenceAudit(t)
	w.base(t)
	source := continuous.Source{Target: w.target}
	report, err := continuous.Verify(t.Context(), source, n.Server.AuditSigner().Key(), filepath.Join(t.TempDir(), "a"), nil)
	if err != nil || report.AuditRows == 0 || report.Bytes == 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	seen, err := continuous.Look(t.Context(), w.target)
	if err != nil || seen.Verified == nil || seen.Verified.Error != "" || seen.Bases != 1 || seen.Missing != "" || seen.Safe.IsZero() {
		t.Fatalf("%+v, %v", seen, err)
	}

	// A row is changed by SQL, and the backup has it as it is.
	changeAuditRow(t, w.db)
	w.ship(t)
	if _, err := continuous.Verify(t.Context(), source, n.Server.AuditSigner().Key(), filepath.Join(t.TempDir(), "b"), nil); err == nil || !strings.Contains(err.Error(), "audit log does not verify") {
		t.Errorf("%v", err)
	}
	if seen, err = continuous.Look(t.Context(), w.target); err != nil || seen.Verified.Error == "" {
		t.Errorf("%+v, %v", seen.Verified, err)
	}
}

func TestAVerificationLeavesNoResultIfItsMachineOrKeysAreAtFault(t *testing.T) {
	t.Parallel()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	auditKey := func(w *world) *tree.Key {
		n := servertest.Start(t, w.store, servertest.AuditKey(filepath.Join(t.TempDir(), "audit.key")))
		n.EventfulTenant(t)
		n.SequenceAudit(t)
		return n.Server.AuditSigner().Key()
	}
	w := newWorld(t, key.Recipient())
	signs, other := auditKey(w), auditKey(newWorld(t))
	w.base(t)
	blocked := filepath.Join(t.TempDir(), "blocked")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, fault := range map[string]struct {
		identities []age.Identity
		key        *tree.Key
		scratch    string
	}{
		"no identity":           {nil, signs, t.TempDir()},
		"another identity":      {[]age.Identity{stranger}, signs, t.TempDir()},
		"another audit key":     {[]age.Identity{key}, other, t.TempDir()},
		"no room for the store": {[]age.Identity{key}, signs, blocked},
	} {
		if _, err := continuous.Verify(t.Context(), continuous.Source{Target: w.target, Identities: fault.identities}, fault.key, filepath.Join(fault.scratch, "store"), nil); err == nil {
			t.Errorf("%s: it verifies", name)
		}
		if seen, err := continuous.Look(t.Context(), w.target); err != nil || seen.Verified != nil {
			t.Errorf("%s: it left %+v, %v", name, seen.Verified, err)
		}
	}
	if _, err := continuous.Verify(t.Context(), continuous.Source{Target: w.target, Identities: []age.Identity{key}}, signs, filepath.Join(t.TempDir(), "store"), nil); err != nil {
		t.Error(err)
	}
}

// damage flips a bit of the newest object with a prefix, and returns its name.
func (w *world) damage(t *testing.T, prefix string) string {
	t.Helper()
	objects, err := w.target.List(t.Context(), prefix)
	if err != nil || len(objects) == 0 {
		t.Fatal(objects, err)
	}
	name := objects[len(objects)-1].Name
	file := filepath.Join(w.target.String(), name)
	text, err := os.ReadFile(file)
	if err == nil {
		text[len(text)-1] ^= 1 // of a checksum; other bytes may decompress to the same page
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestDamageThatAVerificationFindsGetsANewBase(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"ltx/0/", "ltx/9/"} {
		t.Run(prefix, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			n := servertest.Start(t, w.store, servertest.AuditKey(filepath.Join(t.TempDir(), "audit.key")))
			n.EventfulTenant(t)
			n.SequenceAudit(t)
			w.base(t)
			w.write(t, 1)
			w.ship(t)
			verify := func() error {
				_, err := continuous.Verify(t.Context(), continuous.Source{Target: w.target}, n.Server.AuditSigner().Key(), filepath.Join(t.TempDir(), "store"), nil)
				return err
			}
			name := w.damage(t, prefix)
			if err := verify(); err == nil || !strings.Contains(err.Error(), name+" is damaged") {
				t.Fatal(err)
			}
			again := func() {
				t.Helper()
				w.Shipper = w.beside(t) // which looks at the result at once
				if err := w.Upload(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			again()
			if !w.Status().Broken {
				t.Error("no new base is made")
			}
			w.ship(t)
			if seen, err := continuous.Look(t.Context(), w.target); err != nil || !seen.Safe.IsZero() {
				t.Errorf("it claims to be complete until %s, %v", seen.Safe, err)
			}
			w.write(t, 1)
			w.base(t)
			again()
			if w.Status().Broken {
				t.Error("there are two new bases for one damage")
			}
			if err := verify(); err != nil {
				t.Error(err)
			}
		})
	}
}

// changeAuditRow changes a row in the file, past the triggers.
func changeAuditRow(t *testing.T, d *db.DB) {
	t.Helper()
	err := d.Exclusive(t.Context(), func(b *db.Bulk) error {
		names, err := db.Collect(b.Q, func(r db.Rows) string { return r.Text(0) }, `SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit_log'`)
		for _, name := range names {
			err = errors.Join(err, b.Exec(`DROP TRIGGER `+name))
		}
		return errors.Join(err, b.Exec(`UPDATE audit_log SET entry = replace(entry, 'success', 'denied') WHERE rowid = (SELECT min(rowid) FROM audit_log)`))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestABackupOfAnEarlierBuildIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.store.LooksEarlier(t, w.db)
	w.base(t)
	from, dir := continuous.Source{Target: w.target}, filepath.Join(t.TempDir(), "restored")
	_, restore := continuous.Restore(t.Context(), db.Caller{}, from, dir, continuous.Moment{}, nil)
	_, verify := continuous.Verify(t.Context(), from, nil, t.TempDir(), nil)
	for _, err := range []error{restore, verify} {
		const want = "the backup was made by a build before 1.0.0-rc.1, which this one cannot open: start with an empty store"
		if err == nil || err.Error() != want {
			t.Errorf("got %v", err)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the restore left something behind: %v", err)
	}
}
