package continuous_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/ncruces/go-sqlite3"

	"bursar/internal/audit"
	"bursar/internal/backup"
	"bursar/internal/backup/continuous"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/db/sqlite"
	"bursar/internal/torture"
	"bursar/internal/wait"
)

// world is a store whose changes go to a target.
type world struct {
	*continuous.Shipper
	store  dbtest.Store
	db     *db.DB
	target continuous.Target
	log    *strings.Builder
	keys   []age.Recipient
}

func open(t testing.TB, address string) continuous.Target {
	t.Helper()
	target, err := continuous.Open(address, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func newWorld(t testing.TB, keys ...age.Recipient) *world {
	t.Helper()
	return newWorldAt(t, filepath.Join(t.TempDir(), "backup"), keys...)
}

func newWorldAt(t testing.TB, address string, keys ...age.Recipient) *world {
	t.Helper()
	w := &world{store: dbtest.SQLite(t), target: open(t, address), keys: keys}
	w.store.CopySchema(t)
	w.start(t)
	return w
}

// start opens the store without shipping in the background.
func (w *world) start(t testing.TB) {
	t.Helper()
	d, err := db.Open(t.Context(), w.store.Config)
	if err != nil {
		t.Fatal(err)
	}
	w.db = d
	t.Cleanup(func() {
		if w.db == d {
			_ = d.Close()
		}
	})
	w.Shipper = w.beside(t)
}

// beside starts to ship a store that is open.
func (w *world) beside(t testing.TB) *continuous.Shipper {
	t.Helper()
	w.log = &strings.Builder{}
	ship, err := continuous.Start(continuous.Config{Store: w.db.Embedded(), Dir: w.store.Config.Dir, Target: w.target, Recipients: w.keys,
		Log: slog.New(slog.NewTextHandler(w.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return ship
}

// stop closes the store as a server does.
func (w *world) stop(t *testing.T) {
	t.Helper()
	d := w.db
	w.db = nil
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// emptyLog copies the log into the database and empties it, as another program can do.
func (w *world) emptyLog(t *testing.T) {
	t.Helper()
	c, err := sqlite3.Open(filepath.Join(w.store.Config.Dir, sqlite.FileName))
	if err == nil {
		err = errors.Join(c.Exec(`VACUUM`), c.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`), c.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// write commits a text, and a row of the audit log.
func write(t testing.TB, d *db.DB, text string) {
	t.Helper()
	_, err := db.Write(t.Context(), d, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		err := tx.Exec(`INSERT INTO setting (name, value) VALUES ($1, $2)`, tx.NewID("text"), text)
		return struct{}{}, audit.Event{Action: audit.StoreArchived, Description: text[:min(len(text), 100)]}, err
	})
	if err != nil {
		t.Error(err) // also in goroutines
	}
}

func (w *world) write(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		write(t, w.db, fmt.Sprint("row ", i))
	}
}

// ship sends everything that was committed.
func (w *world) ship(t testing.TB) {
	t.Helper()
	if err := w.Cut(); err != nil {
		t.Fatal(err)
	}
	if err := w.Upload(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (w *world) base(t testing.TB) {
	t.Helper()
	w.ship(t)
	if err := w.MakeBase(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.ship(t)
}

func TestABaseServesAllRequestsMadeMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if !w.NeedsBase() {
		t.Error("a new backup requests no base")
	}
	w.base(t)
	if w.NeedsBase() {
		t.Error("it requests another one")
	}
}

// restored is the store as the backup has it.
func restored(t *testing.T, from continuous.Source, m continuous.Moment) backup.Place {
	t.Helper()
	dir := t.TempDir()
	if _, err := continuous.Unpack(t.Context(), from, dir, m); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.Check(t.Context(), filepath.Join(dir, sqlite.FileName)); err != nil {
		t.Fatal(err)
	}
	return backup.Place{Config: db.Config{Dir: dir}, Name: "restored"}
}

// same fails unless the backup has what the store has.
func (w *world) same(t *testing.T) {
	t.Helper()
	w.sameAs(t, restored(t, continuous.Source{Target: w.target}, continuous.Moment{}))
}

func (w *world) sameAs(t *testing.T, other backup.Place) {
	t.Helper()
	list, err := backup.Compare(t.Context(), backup.Place{Config: w.store.Config, Name: "store"}, other, nil)
	if err != nil || len(list) > 0 {
		t.Fatalf("the backup differs: %v, %v", list, err)
	}
}

func TestARestoreHasEverythingThatWasShipped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, 20)
	w.base(t)
	w.same(t)
	for range 5 {
		w.write(t, 3)
		w.ship(t)
	}
	w.same(t)
}

func TestABaseIsCopiedBesideWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, 200)
	w.ship(t)
	for range 3 {
		ctx, stop := context.WithCancel(t.Context())
		var writers sync.WaitGroup
		for range 4 {
			writers.Go(func() {
				// A store that grows as fast as it is copied has no base for a long time.
				for n := 0; n < 200 && ctx.Err() == nil; n++ {
					write(t, w.db, strings.Repeat("while the base is copied ", 100))
				}
			})
		}
		w.base(t)
		stop()
		writers.Wait()
	}
	w.ship(t)
	w.same(t)
}

// The WAL is reset when it has some thousand pages and all of them are in the database.
func TestNoPageIsLostWhenTheWALIsReset(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base(t)
	salt := func() string {
		log, err := os.Open(filepath.Join(w.store.Config.Dir, sqlite.FileName+"-wal"))
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		text := make([]byte, 8)
		if _, err := log.ReadAt(text, 16); err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	text := strings.Repeat("x", 60_000)
	var salts []string
	for len(salts) < torture.Rounds(2, 4) {
		var writers sync.WaitGroup
		for range 8 {
			writers.Go(func() {
				for range 20 {
					write(t, w.db, text)
				}
			})
		}
		writers.Wait()
		if now := salt(); !slices.Contains(salts, now) {
			salts = append(salts, now)
		}
	}
	w.ship(t)
	if n := w.Status().Gaps; n != 0 {
		t.Errorf("%d gaps: %s", n, w.log)
	}
	w.same(t)
}

// What was erased is taken out of the log at once.
func TestNoPageIsLostWhenTheLogIsEmptied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base(t)
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for ctx.Err() == nil {
				write(t, w.db, "while the log is emptied")
			}
		})
	}
	for range 20 {
		if err := w.db.Shred(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	writers.Wait()
	w.ship(t)
	if n := w.Status().Gaps; n != 0 {
		t.Errorf("%d gaps: %s", n, w.log)
	}
	w.same(t)
}

func TestAServerThatIsKilledContinuesWithoutANewBase(t *testing.T) {
	t.Parallel()
	// What the log had before is gone, so it does not show that nothing is missing.
	empty := func(t *testing.T, w *world) {
		if err := w.db.Shred(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	restart := func(t *testing.T, w *world) {
		w.stop(t)
		w.start(t)
	}
	for name, before := range map[string]func(t *testing.T, w *world){
		"after a cut":                  func(t *testing.T, w *world) { w.write(t, 3) },
		"after the log was emptied":    func(t *testing.T, w *world) { empty(t, w); w.write(t, 3) },
		"after the empty log was cut":  func(t *testing.T, w *world) { empty(t, w); w.ship(t); w.write(t, 3) },
		"before the first cut":         func(t *testing.T, w *world) { restart(t, w); w.write(t, 3) },
		"before it has done something": restart,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.base(t)
			w.write(t, 3)
			w.ship(t)
			before(t, w)
			w.store.Config.Dir = w.copyStore(t) // as it is on disk when the server is killed
			w.start(t)
			w.write(t, 1)
			w.ship(t)
			if n := w.Status().Gaps; n != 0 {
				t.Errorf("%d gaps: %s", n, w.log)
			}
			w.same(t)
		})
	}
}

func TestWritesOfAnotherProcessAreShipped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base(t)
	other, err := db.Open(t.Context(), w.store.Config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, other, "past the server")
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	w.ship(t)
	if w.Status().Gaps != 0 {
		t.Error("a new base was needed")
	}
	w.same(t)
}

// Another process can copy and reset the WAL at any time.
func TestANewBaseIsTakenWhenChangesWereMissed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, 5)
	w.base(t)
	before := time.Now()
	write(t, w.db, "not shipped when the log is emptied")
	w.emptyLog(t)
	w.write(t, 5)
	w.ship(t)
	if w.Status().Gaps != 1 {
		t.Fatalf("%d gaps", w.Status().Gaps)
	}
	_, err := continuous.Unpack(t.Context(), continuous.Source{Target: w.target}, t.TempDir(), continuous.Moment{})
	if err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("what comes after the gap was restored without a base: %v", err)
	}
	restored(t, continuous.Source{Target: w.target}, continuous.Moment{At: before})
	w.base(t)
	w.same(t)
}

func TestAServerThatStoppedContinuesWithoutANewBase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, 5)
	w.base(t)
	write(t, w.db, "shipped when the store is closed")
	w.stop(t)
	w.same(t)
	w.start(t)
	w.write(t, 5)
	w.ship(t)
	if w.Status().Gaps != 0 {
		t.Error("a new base was needed")
	}
	w.same(t)
}

func TestAStoreThatWasChangedWhileNoServerRanGetsANewBase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base(t)
	w.stop(t)
	other, err := db.Open(t.Context(), w.store.Config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, other, "without a server")
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	w.start(t)
	w.write(t, 1)
	w.ship(t)
	if w.Status().Gaps != 1 {
		t.Error("the change was not noticed")
	}
	w.base(t)
	w.same(t)
}

// An operator may put an old copy of the data folder back.
func TestAStoreThatIsOlderThanItsBackupDoesNotContinueIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base(t)
	w.stop(t)
	old := t.TempDir()
	if err := os.CopyFS(filepath.Join(old, "copy"), os.DirFS(w.store.Config.Dir)); err != nil {
		t.Fatal(err)
	}
	w.start(t)
	w.write(t, 3)
	w.ship(t)
	w.stop(t)
	w.store.Config.Dir = filepath.Join(old, "copy")
	w.start(t)
	write(t, w.db, "another history")
	w.ship(t)
	w.base(t)
	w.same(t)
}

func TestATargetThatMissedSegmentsGetsANewBase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base(t)
	w.stop(t)
	first := w.target
	w.target = open(t, filepath.Join(t.TempDir(), "another"))
	w.start(t)
	for range 3 {
		w.write(t, 1)
		w.ship(t)
	}
	w.base(t)
	if err := w.Merge(t.Context(), time.Now().Add(48*time.Hour)); err != nil {
		t.Fatal(err)
	}
	w.ship(t)
	w.stop(t)
	for _, level := range []string{"1", "2", "3"} { // which the other target has
		if err := os.RemoveAll(filepath.Join(w.store.Config.Dir, "backup-queue", "ltx", level)); err != nil {
			t.Fatal(err)
		}
	}
	w.target = first
	w.start(t)
	stop := w.run(t)
	defer stop()
	last := time.Now()
	wait.Until(t, "there is a new base", func() bool { return w.Status().Base.After(last) })
	stop()
	w.same(t)
}

func TestTheBackupOfAnotherStoreIsNotTouched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base(t)
	other := newWorldAt(t, w.target.String())
	other.write(t, 1)
	if err := other.Cut(); err != nil {
		t.Fatal(err)
	}
	if err := other.Upload(t.Context()); err == nil || !strings.Contains(err.Error(), "another store") {
		t.Errorf("%v", err)
	}
	if err := other.MakeBase(t.Context()); err == nil || !strings.Contains(err.Error(), "another store") {
		t.Errorf("%v", err)
	}
	w.same(t)
}

func TestMergedSegmentsHaveTheSamePages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base(t)
	for range 4 {
		w.write(t, 2)
		w.ship(t)
	}
	if err := w.Merge(t.Context(), time.Now().Add(48*time.Hour)); err != nil {
		t.Fatal(err)
	}
	w.ship(t)
	objects, err := w.target.List(t.Context(), "ltx/")
	if err != nil {
		t.Fatal(err)
	}
	levels := map[string]int{}
	for _, o := range objects {
		level := strings.Split(o.Name, "/")[1]
		levels[level]++
		if level == "0" { // so that the restore needs the others
			if err := w.target.Delete(t.Context(), o.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if levels["1"] == 0 || levels["2"] == 0 || levels["3"] == 0 {
		t.Fatalf("levels: %v", levels)
	}
	w.same(t)
	w.write(t, 1)
	w.ship(t)
	w.same(t)
}

func TestAnEncryptedBackupIsReadWithItsKeyAlone(t *testing.T) {
	t.Parallel()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, key.Recipient())
	write(t, w.db, "a secret")
	w.base(t)
	objects, err := w.target.List(t.Context(), "ltx/")
	if err != nil || len(objects) == 0 {
		t.Fatal(objects, err)
	}
	for _, o := range objects {
		if !strings.HasSuffix(o.Name, ".ltx.age") {
			t.Errorf("%s is not encrypted", o.Name)
		}
	}
	w.sameAs(t, restored(t, continuous.Source{Target: w.target, Identities: []age.Identity{key}}, continuous.Moment{}))
	if _, err := continuous.Unpack(t.Context(), continuous.Source{Target: w.target}, t.TempDir(), continuous.Moment{}); err == nil {
		t.Error("it was read without a key")
	}
	stranger, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := continuous.Unpack(t.Context(), continuous.Source{Target: w.target, Identities: []age.Identity{stranger}}, t.TempDir(), continuous.Moment{}); err == nil {
		t.Error("it was read with another key")
	}
}

func TestAPlainSegmentIsRefusedWhereAKeyIsGiven(t *testing.T) {
	t.Parallel()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.base(t)
	_, err = continuous.Unpack(t.Context(), continuous.Source{Target: w.target, Identities: []age.Identity{key}}, t.TempDir(), continuous.Moment{})
	if err == nil || !strings.Contains(err.Error(), "not encrypted") {
		t.Errorf("%v", err)
	}
}

func TestWhatIsKeptGetsCoarserWithTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 31, 12, 0, 0, 0, time.UTC)
	object := func(level int, from, to uint64, age time.Duration) continuous.Object {
		return continuous.Object{Name: fmt.Sprintf("ltx/%d/%016x-%016x.ltx", level, from, to), Time: now.Add(-age)}
	}
	const day = 24 * time.Hour
	all := []continuous.Object{
		object(0, 5, 5, 2*day),          // useless: the oldest base has it
		object(0, 20, 20, 25*time.Hour), // in a minute
		object(0, 21, 21, 25*time.Hour), // in no minute
		object(0, 30, 30, time.Hour),
		object(1, 16, 18, 8*day), // in an hour
		object(1, 19, 20, 6*day),
		object(2, 11, 18, 8*day),
		object(3, 11, 18, 8*day),
		object(9, 1, 4, 400*day),
		object(9, 1, 10, 100*day),
		object(9, 1, 12, 99*day), // the second of its month
		object(9, 1, 19, 8*day),
	}
	got := continuous.Outdated(all, now)
	slices.Sort(got)
	want := []string{all[0].Name, all[1].Name, all[4].Name, all[8].Name, all[10].Name}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	if kept := continuous.Outdated([]continuous.Object{object(9, 1, 4, 400*day)}, now); len(kept) > 0 {
		t.Error("the only base was deleted")
	}
}
