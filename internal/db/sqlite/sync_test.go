package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"bursar/internal/db/engine"
	"bursar/internal/wait"
)

// disk is a WAL whose syncs wait for the test, which decides how they end.
type disk struct {
	vfs.File
	syncing chan struct{} // receives a value when a sync begins
	answer  chan error    // how the sync ends
}

func (d *disk) Sync(flags vfs.SyncFlag) error {
	d.syncing <- struct{}{}
	if err := <-d.answer; err != nil {
		return err
	}
	return d.File.Sync(flags)
}

// openOnSlowDisk opens a database in dir whose syncs wait for the test.
func openOnSlowDisk(t *testing.T, dir string) (*Engine, *disk) {
	t.Helper()
	e := openEngine(t, dir)
	d := &disk{syncing: make(chan struct{}, 1), answer: make(chan error, 1)}
	t.Cleanup(func() {
		select {
		case d.answer <- nil: // the sync of the checkpoint at the end
		default:
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	must(t, e.Write(t.Context(), func(engine.Conn) error {
		d.File, e.writer.vfs.wal.File = e.writer.vfs.wal.File, d
		return nil
	}))
	return e, d
}

func TestAWriteIsNeitherSeenNorAnsweredBeforeItIsOnDisk(t *testing.T) {
	e, disk := openOnSlowDisk(t, t.TempDir())
	first := startInsert(e, "first")
	<-disk.syncing
	if n := countPairs(t, e); n != 0 {
		t.Errorf("a reader sees %d rows that are not on disk", n)
	}
	if len(first) > 0 {
		t.Error("the writer was answered before the row was on disk")
	}
	disk.answer <- nil
	must(t, <-first)
	if n := countPairs(t, e); n != 1 {
		t.Errorf("a reader sees %d rows after the commit, want 1", n)
	}
}

func TestWritesQueuedDuringASyncShareTheNextOne(t *testing.T) {
	e, disk := openOnSlowDisk(t, t.TempDir())
	first := startInsert(e, "first")
	<-disk.syncing
	second, third := startInsert(e, "second"), startInsert(e, "third")
	wait.Until(t, "both writes are queued", func() bool { return len(e.writer.queue) == 2 })
	disk.answer <- nil
	must(t, <-first)
	<-disk.syncing
	disk.answer <- nil
	must(t, errors.Join(<-second, <-third))
	if n := countPairs(t, e); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}

func TestAGroupThatWroteNothingIsNotSynced(t *testing.T) {
	e, disk := openOnSlowDisk(t, t.TempDir())
	refusal := errors.New("refused")
	for range 3 {
		if err := e.Write(t.Context(), func(engine.Conn) error { return refusal }); !errors.Is(err, refusal) {
			t.Errorf("got %v", err)
		}
	}
	if len(disk.syncing) > 0 {
		t.Error("the WAL was synced for a group that wrote nothing")
	}
}

var errBroken = errors.New("the disk is broken")

// The kernel reports a failed write once and forgets the data, so the success of a
// later sync would prove nothing.
func TestNothingIsWrittenAfterAFailedSync(t *testing.T) {
	dir := t.TempDir()
	t.Run("before the restart", func(t *testing.T) {
		e, disk := openOnSlowDisk(t, dir)
		first := startInsert(e, "first")
		<-disk.syncing
		disk.answer <- errBroken
		for name, done := range map[string]<-chan error{"the write": first, "a later write": startInsert(e, "second")} {
			if err := <-done; !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "until the program is restarted") {
				t.Errorf("%s ended with %v", name, err)
			}
		}
		if len(disk.syncing) > 0 {
			t.Error("the WAL was synced again")
		}
		if n := countPairs(t, e); n != 0 {
			t.Errorf("a reader sees %d rows of a failed commit", n)
		}
	})
	// The failed commit is still complete in the page cache.
	t.Run("after the restart", func(t *testing.T) {
		e := openEngine(t, dir)
		defer func() { must(t, e.Close()) }()
		if n := countPairs(t, e); n != 0 {
			t.Errorf("the restart brought back %d rows of a failed commit", n)
		}
		must(t, <-startInsert(e, "third"))
		if n := countPairs(t, e); n != 1 {
			t.Errorf("%d rows, want 1", n)
		}
	})
}

// A job may be refused because of a row of its own group. If the group fails,
// that row does not exist and the refusal would be wrong.
func TestARefusalIsNotReturnedIfItsGroupFails(t *testing.T) {
	e, disk := openOnSlowDisk(t, t.TempDir())
	first := startInsert(e, "first")
	<-disk.syncing
	second := startInsert(e, "second")
	wait.Until(t, "the write is queued", func() bool { return len(e.writer.queue) == 1 })
	refusal := errors.New("it exists already")
	refused := startWrite(e, func(engine.Conn) error { return refusal })
	wait.Until(t, "the refused write is queued", func() bool { return len(e.writer.queue) == 2 })
	disk.answer <- nil
	must(t, <-first)
	<-disk.syncing
	disk.answer <- errBroken
	if err := <-second; !errors.Is(err, errBroken) {
		t.Errorf("the write ended with %v", err)
	}
	if err := <-refused; !errors.Is(err, errBroken) || errors.Is(err, refusal) {
		t.Errorf("the refused write ended with %v", err)
	}
}

func TestNothingIsWrittenAfterACheckpointFailedToSyncTheWAL(t *testing.T) {
	e, disk := openOnSlowDisk(t, t.TempDir())
	disk.answer <- errBroken
	must(t, e.Write(t.Context(), func(engine.Conn) error {
		if err := e.writer.vfs.wal.Sync(vfs.SYNC_NORMAL); !errors.Is(err, errBroken) {
			t.Errorf("the sync ended with %v", err)
		}
		return nil
	}))
	<-disk.syncing
	if err := <-startInsert(e, "first"); !errors.Is(err, errBroken) {
		t.Errorf("a later write ended with %v", err)
	}
}

// brokenVFS opens databases that cannot be synced.
type brokenVFS struct{ vfs.VFSFilename }

func (v brokenVFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := v.VFSFilename.OpenFilename(name, flags)
	if err == nil && flags&vfs.OPEN_MAIN_DB != 0 {
		file = brokenFile{file, file.(vfs.FileSharedMemory)}
	}
	return file, flags, err
}

type brokenFile struct {
	vfs.File
	shared vfs.FileSharedMemory
}

func (f brokenFile) SharedMemory() vfs.SharedMemory { return f.shared.SharedMemory() }
func (f brokenFile) Sync(vfs.SyncFlag) error        { return errBroken }

// A checkpoint that a reader holds up copies pages without a sync, and SQLite does
// not copy them a second time. If the sync of the next checkpoint fails, they may
// be lost. So the WAL must stay as it is for the next start.
func TestTheWALIsKeptAfterACheckpointFailedToSyncTheDatabase(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	must(t, <-startInsert(e, "first"))
	vfs.Register("broken", brokenVFS{vfs.Find("os").(vfs.VFSFilename)})
	defer vfs.Unregister("broken")
	broken, err := openConn(t.Context(), "file:"+e.path+"?vfs=broken", "")
	must(t, err)
	if _, err := e.writer.checkpointer.checkpoint(broken.db, sqlite3.CHECKPOINT_PASSIVE); !errors.Is(err, sqlite3.IOERR_FSYNC) {
		t.Errorf("the checkpoint ended with %v", err)
	}
	must(t, broken.close())
	if err := <-startInsert(e, "second"); !errors.Is(err, sqlite3.IOERR_FSYNC) {
		t.Errorf("a later write ended with %v", err)
	}
	must(t, e.Close())
	if wal, err := os.Stat(e.path + "-wal"); err != nil || wal.Size() == 0 {
		t.Errorf("the WAL is gone: %v", err)
	}
	e = openEngine(t, dir)
	if n := countPairs(t, e); n != 1 {
		t.Errorf("%d rows after the restart, want 1", n)
	}
	must(t, e.Close())
}

// snapshotOnSync keeps a copy of the files as they were at the last sync of the WAL,
// which is the least that a power loss leaves.
type snapshotOnSync struct {
	vfs.File
	dir   string
	files atomic.Pointer[map[string][]byte]
}

func (s *snapshotOnSync) Sync(flags vfs.SyncFlag) error {
	if err := s.File.Sync(flags); err != nil {
		return err
	}
	files := map[string][]byte{}
	for _, name := range []string{FileName, FileName + "-wal"} {
		content, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			return err
		}
		files[name] = content
	}
	s.files.Store(&files)
	return nil
}

func TestWhatIsAnsweredSurvivesAPowerLoss(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	defer func() { must(t, e.Close()) }()
	files := &snapshotOnSync{dir: dir}
	must(t, e.Write(t.Context(), func(c engine.Conn) error {
		files.File, e.writer.vfs.wal.File = e.writer.vfs.wal.File, files
		return nil
	}))
	type answer struct {
		name string
		left map[string][]byte
	}
	answers := make(chan answer, 1000)
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range 10 {
				name := fmt.Sprint(w, "-", i)
				if err := <-startInsert(e, name); err != nil {
					t.Error(err)
					return
				}
				answers <- answer{name, *files.files.Load()}
			}
		})
	}
	writers.Wait()
	close(answers)
	for a := range answers {
		left := t.TempDir()
		for name, content := range a.left {
			must(t, os.WriteFile(filepath.Join(left, name), content, 0o600))
		}
		c, err := openConn(t.Context(), filepath.Join(left, FileName), "")
		must(t, err)
		if got := text(t, c, "SELECT count(*) FROM pair WHERE name = '"+a.name+"'"); got != "1" {
			t.Errorf("%s was answered and is lost", a.name)
		}
		must(t, c.close())
	}
}
