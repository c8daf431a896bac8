package db

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3/vfs"
)

// disk is the log on a disk that a test holds up, or breaks.
type disk struct {
	vfs.File
	syncing chan struct{} // told when a sync begins
	answer  chan error    // what it ends with
}

func (d *disk) Sync(flags vfs.SyncFlag) error {
	d.syncing <- struct{}{}
	if err := <-d.answer; err != nil {
		return err
	}
	return d.File.Sync(flags)
}

// heldUp is a store whose disk waits for the test, and where so many writes are
// worth running the next ones meanwhile.
func heldUp(t *testing.T, many int) (*sqlite, *disk) {
	t.Helper()
	s, err := openSQLite(t.Context(), t.TempDir(), new(epoch), 2)
	if err != nil {
		t.Fatal(err)
	}
	d := &disk{syncing: make(chan struct{}, 1), answer: make(chan error, 1)}
	t.Cleanup(func() {
		select {
		case d.answer <- nil: // for closing
		default:
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	must(t, s.write(t.Context(), func(c conn) error {
		return c.(*sqliteConn).script("CREATE TABLE pair (name TEXT PRIMARY KEY, value TEXT)")
	}))
	must(t, s.write(t.Context(), func(c conn) error {
		d.File = s.writer.log.log.File
		s.writer.log.log.File = d
		s.writer.many = many
		return nil
	}))
	return s, d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func insertPair(s *sqlite, name string, run func()) <-chan error {
	done := make(chan error, 1)
	go func() {
		done <- s.write(context.Background(), func(c conn) error {
			run()
			return c.exec("INSERT INTO pair VALUES ($1, '')", []any{name})
		})
	}()
	return done
}

func pairs(ctx context.Context, s *sqlite) (n int, err error) {
	err = s.read(ctx, func(c conn) error {
		_, err := Q{c}.Row("SELECT count(*) FROM pair").Scan(&n)
		return err
	})
	return n, err
}

func answered(done <-chan error) bool { return len(done) > 0 }

func TestNobodyIsAnsweredBeforeTheDisk(t *testing.T) {
	s, disk := heldUp(t, 1)
	first := insertPair(s, "first", func() {})
	<-disk.syncing
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if n, err := pairs(soon, s); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who read what is not on disk was told %d, %v", n, err)
	}
	if answered(first) {
		t.Error("who wrote was answered before it was on disk")
	}
	disk.answer <- nil
	if err := <-first; err != nil {
		t.Error(err)
	}
	if n, err := pairs(t.Context(), s); n != 1 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
}

func TestFewWritesAreNotSeenBeforeTheyAreOnDisk(t *testing.T) {
	s, disk := heldUp(t, 2)
	first := insertPair(s, "first", func() {})
	<-disk.syncing
	if n, err := pairs(t.Context(), s); n != 0 || err != nil {
		t.Errorf("who reads is told %d, %v", n, err)
	}
	if answered(first) {
		t.Error("who wrote was answered before it was on disk")
	}
	disk.answer <- nil
	if err := <-first; err != nil {
		t.Error(err)
	}
	if n, err := pairs(t.Context(), s); n != 1 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
}

func TestNextGroupRunsWhileTheDiskIsBusy(t *testing.T) {
	s, disk := heldUp(t, 1)
	first := insertPair(s, "first", func() {})
	<-disk.syncing
	ran := make(chan struct{}, 2)
	second := insertPair(s, "second", func() { ran <- struct{}{} })
	third := insertPair(s, "third", func() { ran <- struct{}{} })
	<-ran
	<-ran
	if answered(first) || answered(second) || answered(third) {
		t.Error("somebody was answered")
	}
	disk.answer <- nil
	<-disk.syncing // both of the next ones
	if err := <-first; err != nil {
		t.Error(err)
	}
	disk.answer <- nil
	if err := errors.Join(<-second, <-third); err != nil {
		t.Error(err)
	}
	if n, err := pairs(t.Context(), s); n != 3 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
}

func TestRefusalsDoNotWaitForTheDisk(t *testing.T) {
	s, disk := heldUp(t, 1)
	refusal := errors.New("refused")
	for range 3 {
		if err := s.write(t.Context(), func(conn) error { return refusal }); !errors.Is(err, refusal) {
			t.Errorf("got %v", err)
		}
	}
	if len(disk.syncing) > 0 {
		t.Error("the disk was asked for a group that wrote nothing")
	}
}

// What a disk that fails has kept is not known: nobody is told anything about it any
// more, until a new start reads what is there.
func TestStoreIsSilentAfterTheDiskHasFailed(t *testing.T) {
	s, disk := heldUp(t, 1)
	broken := errors.New("broken")
	first := insertPair(s, "first", func() {})
	<-disk.syncing
	second := insertPair(s, "second", func() {})
	disk.answer <- fmt.Errorf("sync: %w", broken)
	for name, done := range map[string]<-chan error{"the group": first, "the next group": second, "a later one": insertPair(s, "third", func() {})} {
		if err := <-done; !errors.Is(err, broken) || !strings.Contains(err.Error(), "until the next start") {
			t.Errorf("%s was told %v", name, err)
		}
	}
	if n, err := pairs(t.Context(), s); !errors.Is(err, broken) {
		t.Errorf("who reads was told %d, %v", n, err)
	}
}

// An answer that was kept in a group that may be lost must not be given again, nor a
// refusal for something that may not be there.
func TestNothingIsConcludedFromWhatMayBeLost(t *testing.T) {
	s, disk := heldUp(t, 1)
	broken, conclusion := errors.New("broken"), errors.New("it is there already")
	first := insertPair(s, "first", func() {})
	<-disk.syncing
	refused := make(chan error, 1)
	go func() { refused <- s.write(context.Background(), func(conn) error { return conclusion }) }()
	disk.answer <- broken
	<-first
	if err := <-refused; !errors.Is(err, broken) || errors.Is(err, conclusion) {
		t.Errorf("who was refused is told %v", err)
	}
	if err := s.read(t.Context(), func(conn) error { return conclusion }); !errors.Is(err, broken) || errors.Is(err, conclusion) {
		t.Errorf("who reads is told %v", err)
	}
}

// The system tells of a failure once: whoever hears of it, the group is lost.
func TestFailureThatACheckpointHeardIsNotForgotten(t *testing.T) {
	s, disk := heldUp(t, 1)
	broken := errors.New("broken")
	disk.answer <- broken
	must(t, s.write(t.Context(), func(conn) error {
		if err := s.writer.log.log.Sync(vfs.SYNC_NORMAL); !errors.Is(err, broken) {
			t.Errorf("the sync ends with %v", err)
		}
		return nil
	}))
	<-disk.syncing
	if err := <-insertPair(s, "first", func() {}); !errors.Is(err, broken) {
		t.Errorf("who writes is told %v", err)
	}
}

// A log that begins anew over an old one must have its head on disk before its
// pages: a sync in between is not put off.
func TestHeadOfALogIsSyncedBeforeItsPages(t *testing.T) {
	synced := 0
	f := &gatheringFile{File: countingFile{synced: &synced}, gathering: true, putOff: true, known: true}
	write := func(at int64) {
		_, err := f.WriteAt([]byte("some"), at)
		must(t, err)
		must(t, f.Sync(vfs.SYNC_NORMAL))
	}
	write(0)
	if synced != 1 || f.owed != 0 {
		t.Errorf("after the head: %d syncs, %d owed", synced, f.owed)
	}
	write(32)
	if synced != 1 || f.owed == 0 {
		t.Errorf("after a page: %d syncs, %d owed", synced, f.owed)
	}
}

type countingFile struct {
	vfs.File
	synced *int
}

func (countingFile) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

func (f countingFile) Sync(vfs.SyncFlag) error {
	*f.synced++
	return nil
}

// powerless keeps the files as they were when the log was last synced, which is what
// a loss of power leaves at the least.
type powerless struct {
	vfs.File
	dir  string
	kept atomic.Pointer[map[string][]byte]
}

func (p *powerless) Sync(flags vfs.SyncFlag) error {
	if err := p.File.Sync(flags); err != nil {
		return err
	}
	files := map[string][]byte{}
	for _, name := range []string{SQLiteFile, SQLiteFile + "-wal"} {
		content, err := os.ReadFile(filepath.Join(p.dir, name))
		if err != nil {
			return err
		}
		files[name] = content
	}
	p.kept.Store(&files)
	return nil
}

func TestWhatIsAnsweredSurvivesALossOfPower(t *testing.T) {
	dir := t.TempDir()
	s, err := openSQLite(t.Context(), dir, new(epoch), 2)
	must(t, err)
	defer func() { must(t, s.close()) }()
	must(t, s.write(t.Context(), func(c conn) error {
		return c.(*sqliteConn).script("CREATE TABLE pair (name TEXT PRIMARY KEY, value TEXT)")
	}))
	files := &powerless{dir: dir}
	must(t, s.write(t.Context(), func(c conn) error {
		files.File, s.writer.log.log.File = s.writer.log.log.File, files
		s.writer.many = 3 // some groups are larger and some are not
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
				if err := <-insertPair(s, name, func() {}); err != nil {
					t.Error(err)
					return
				}
				answers <- answer{name, *files.kept.Load()}
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
		c, err := openSQLiteConn(t.Context(), filepath.Join(left, SQLiteFile), "")
		must(t, err)
		if got := oneText(t, c, "SELECT count(*) FROM pair WHERE name = '"+a.name+"'"); got != "1" {
			t.Errorf("%s was answered and is lost", a.name)
		}
		must(t, c.close())
	}
}
