package continuous_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"bursar/internal/backup/continuous"
	"bursar/internal/db"
	"bursar/internal/db/sqlite"
	"bursar/internal/wait"
)

// copyStore copies the data folder of an idle store, with the time of the database.
func (w *world) copyStore(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	info, err := os.Stat(filepath.Join(w.store.Config.Dir, sqlite.FileName))
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(w.store.Config.Dir))
	}
	if err == nil {
		err = os.Chtimes(filepath.Join(dir, sqlite.FileName), info.ModTime(), info.ModTime())
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// SQLite would apply the log of the old store to the new one.
func TestARestoreRefusesAFolderWithTheLogOfAnotherStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base(t)
	for _, end := range []string{"-wal", "-shm", "-journal"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, sqlite.FileName+end), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := continuous.Restore(t.Context(), db.Caller{}, continuous.Source{Target: w.target}, dir, continuous.Moment{}, nil)
		if err == nil || !strings.Contains(err.Error(), end) {
			t.Errorf("%s: %v", end, err)
		}
	}
}

func TestARestoreKeepsServersAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base(t)
	dir := t.TempDir()
	lock, err := sqlite.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := continuous.Restore(t.Context(), db.Caller{}, continuous.Source{Target: w.target}, dir, continuous.Moment{}, nil); err == nil {
		t.Error("it restored into the folder of a server")
	}
}

// The target was away while the old copy wrote more than had been lost, so that numbers do not show it.
func TestAnOldCopyOfAStoreDoesNotContinueItsBackupWhateverTheNumbers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base(t)
	w.stop(t)
	old := w.copyStore(t)
	w.start(t)
	w.write(t, 2)
	w.ship(t)
	w.stop(t)
	w.store.Config.Dir = old
	w.start(t)
	for range 6 {
		w.write(t, 2)
		if err := w.Cut(); err != nil {
			t.Fatal(err)
		}
	}
	w.ship(t)
	if w.Status().IsGood(time.Now(), time.Minute) {
		t.Error("it is good before there is a base")
	}
	w.base(t)
	w.same(t)
}

func TestTwoCopiesOfAStoreDoNotWriteToOneBackup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base(t)
	w.stop(t)
	other := *w
	other.store.Config.Dir = w.copyStore(t)
	w.start(t)
	w.write(t, 1)
	w.ship(t)
	other.start(t)
	other.write(t, 1)
	other.base(t)
	w.write(t, 1)
	if err := w.Cut(); err != nil {
		t.Fatal(err)
	}
	if err := w.Upload(t.Context()); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("the first continues: %v", err)
	}
	if err := w.MakeBase(t.Context()); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("the first makes a base: %v", err)
	}
	other.same(t)
}

// Each of two gaps leaves out its own number, though nothing was cut between them.
func TestTwoGapsInARowAreTwoGaps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, 1)
	w.base(t)
	change := func() {
		w.stop(t)
		d, err := db.Open(t.Context(), w.store.Config)
		if err != nil {
			t.Fatal(err)
		}
		write(t, d, "without a server")
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		w.start(t)
	}
	change()
	w.base(t) // of an idle store
	change()
	w.write(t, 1)
	w.ship(t)
	if w.Status().IsGood(time.Now(), time.Minute) {
		t.Error("it is good before there is a base")
	}
	if _, err := continuous.Unpack(t.Context(), continuous.Source{Target: w.target}, t.TempDir(), continuous.Moment{}); err == nil {
		t.Error("a restore goes over the gap")
	}
	w.base(t)
	w.same(t)
}

func TestWhatWasNotCutIsNotSafe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, 1)
	w.base(t)
	clear := obstruct(t, filepath.Join(w.store.Config.Dir, "backup-queue", "ltx", "0"))
	defer clear()
	last := time.Now()
	w.write(t, 1)
	if err := w.Cut(); err == nil {
		t.Fatal("it was cut")
	}
	_ = w.Upload(t.Context())
	if w.Status().Safe.After(last) {
		t.Error("it reports a lost write as safe")
	}
}

func TestABackupThatIsEncryptedFromNowOnCanBeRestored(t *testing.T) {
	t.Parallel()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.write(t, 1)
	w.base(t)
	w.stop(t)
	w.keys = []age.Recipient{key.Recipient()}
	w.start(t)
	w.write(t, 1)
	w.ship(t)
	if w.Status().IsGood(time.Now(), time.Minute) {
		t.Error("it is good before there is an encrypted base")
	}
	w.base(t)
	w.sameAs(t, restored(t, continuous.Source{Target: w.target, Identities: []age.Identity{key}}, continuous.Moment{}))
	restored(t, continuous.Source{Target: w.target}, continuous.Moment{}) // what was in clear is older
	if seen, err := continuous.Look(t.Context(), w.target); err != nil || seen.Missing != "" {
		t.Errorf("%+v, %v", seen, err)
	}
}

// unmount takes the disk of the backup away, until the function is called that it returns. What is left is the
// folder that the disk was mounted on, with what was written into it before.
func (w *world) unmount(t *testing.T) (mount func()) {
	t.Helper()
	place := w.target.String()
	under := place + ".under"
	if err := errors.Join(os.Rename(place, place+".disk"), os.MkdirAll(under, 0o700), os.Rename(under, place)); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := errors.Join(os.MkdirAll(place, 0o700), os.Rename(place, under), os.Rename(place+".disk", place)); err != nil {
			t.Fatal(err)
		}
	}
}

// isEmpty reports whether a folder has nothing, or is not there.
func isEmpty(dir string) bool {
	list, _ := os.ReadDir(dir)
	return len(list) == 0
}

func TestABackupWhoseDiskIsNotMountedFailsUntilItIsBack(t *testing.T) {
	t.Parallel()
	for name, isThere := range map[string]bool{"an empty folder": true, "no folder": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.base(t)
			mount := w.unmount(t)
			if !isThere {
				if err := os.Remove(w.target.String()); err != nil {
					t.Fatal(err)
				}
			}
			w.write(t, 1)
			if err := w.Cut(); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if err := w.Upload(t.Context()); err == nil || !strings.Contains(err.Error(), "mount its disk again") {
					t.Errorf("%v", err)
				}
				if err := w.MakeBase(t.Context()); err == nil || !strings.Contains(err.Error(), "mount its disk again") {
					t.Errorf("a base: %v", err)
				}
			}
			if !isEmpty(w.target.String()) {
				t.Error("something was written beside the disk")
			}
			mount()
			w.ship(t)
			if !w.Status().IsGood(time.Now(), time.Minute) {
				t.Errorf("a new base is needed: %+v", w.Status())
			}
			w.same(t)
		})
	}
}

// The store is on the disk that has the missing folder then.
func TestAServerDoesNotMakeTheFolderAgainThatItHasWrittenTo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base(t)
	w.stop(t)
	if err := os.RemoveAll(w.target.String()); err != nil {
		t.Fatal(err)
	}
	w.start(t)
	for range 2 {
		if err := w.Upload(t.Context()); err == nil || !strings.Contains(err.Error(), "mount its disk again") {
			t.Errorf("%v", err)
		}
	}
	if _, err := os.Stat(w.target.String()); err == nil {
		t.Error("the folder was made")
	}
	// After a deletion on purpose, the operator makes the folder.
	if err := os.Mkdir(w.target.String(), 0o700); err != nil {
		t.Fatal(err)
	}
	w.base(t)
	w.same(t)
}

func TestATargetThatWasEmptiedGetsEverythingAgainAfterARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, 1)
	w.base(t)
	w.stop(t)
	mount := w.unmount(t)
	w.start(t)
	w.write(t, 1)
	w.base(t)
	if !strings.Contains(w.log.String(), "is its disk mounted?") {
		t.Errorf("it does not warn: %s", w.log)
	}
	w.same(t)

	// If it was not mounted by mistake, the earlier backup continues.
	mount()
	w.write(t, 1)
	stop := w.run(t)
	defer stop()
	last := time.Now()
	wait.Until(t, "the earlier backup continues", func() bool {
		return w.Status().Safe.After(last) && w.Status().Failure == "" && w.Status().IsGood(time.Now(), time.Minute)
	})
	stop()
	w.same(t)

	// What was begun in its place is not gone on with.
	w.unmount(t)
	if err := w.Upload(t.Context()); err == nil {
		t.Error("it continues without the disk")
	}
}

func TestABaseStaysThatLeadsOverAGap(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 31, 12, 0, 0, 0, time.UTC)
	object := func(name string, month time.Month, day int) continuous.Object {
		return continuous.Object{Name: "ltx/" + name + ".ltx", Time: time.Date(2026, month, day, 0, 0, 0, 0, time.UTC)}
	}
	all := []continuous.Object{
		object("3/0000000000000033-0000000000000095", 9, 3),
		object("3/0000000000000097-00000000000003e8", 9, 20), // number 96 is missing
		object("9/0000000000000001-0000000000000032", 9, 2),
		object("9/0000000000000001-00000000000000a0", 9, 4),
		object("9/0000000000000001-0000000000000384", 9, 11),
		object("9/0000000000000001-00000000000003e8", 12, 30),
	}
	if got := continuous.Outdated(all, now); !slices.Equal(got, []string{all[4].Name}) {
		t.Errorf("deleted: %v", got)
	}
}

func TestForeignObjectsInATargetDoNoHarm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base(t)
	for _, name := range []string{"ltx/12/0000000000000002-0000000000000003.ltx", "ltx/-1/0000000000000002-0000000000000003.ltx", "ltx/0/notes.txt", "ltx/9/../../x.ltx"} {
		if err := w.target.Put(t.Context(), name, strings.NewReader("x"), 1); err != nil {
			t.Fatal(err)
		}
	}
	w.stop(t)
	w.start(t)
	w.write(t, 1)
	w.ship(t)
	w.same(t)
}

func TestWhatAKilledServerLeavesInItsQueueIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, 1)
	w.base(t)
	w.stop(t)
	queue := filepath.Join(w.store.Config.Dir, "backup-queue")
	left := []string{filepath.Join(queue, "sealed-1.unfinished"), filepath.Join(queue, "ltx", "9", "0000000000000001-0000000000000009.ltx")}
	for _, file := range left {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("large"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.start(t)
	for _, file := range left {
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s is still there", file)
		}
	}
}

func TestTheMomentBeforeAnEntryIsFoundBehindAGap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base(t)
	write(t, w.db, "counted")
	w.ship(t)
	before := newestEntry(t, w.db)
	write(t, w.db, "counted")
	w.emptyLog(t) // which loses it
	between := newestEntry(t, w.db)
	w.base(t)
	write(t, w.db, "counted")
	after := newestEntry(t, w.db)
	w.ship(t)
	for id, want := range map[string]int{before: 0, between: 1, after: 2} {
		place := restored(t, continuous.Source{Target: w.target}, continuous.Moment{Before: id})
		if n := entries(t, place.Config.Dir, "counted"); n != want {
			t.Errorf("%d rows, want %d", n, want)
		}
	}
}

func TestTheAddressOfABackupIsNotRepeatedWithItsSecrets(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"s3://KEY:abc/defSECRET@bucket/prefix", "s3://KEY:SECRET@bucket", "s3://", "ftp://user:SECRET@host"} {
		_, err := continuous.Open(address, os.LookupEnv)
		if err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
