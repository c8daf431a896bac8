package db

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3/vfs"
)

// gatherer opens files as the operating system does, but for the write-ahead log of
// the connection that writes. SQLite writes a page there in two pieces, each by a
// call of the system; while a commit is under way they are gathered, and written at
// once before the log is synced and before anything else is done to it. Outside of
// a commit nothing waits: whoever else may write the log then finds it as it is.
//
// The sync that ends a commit can be put off: the caller does it while the next
// transaction is under way. Until it is done, the commit may be lost with the power,
// though never in part.
//
// It belongs to one connection and is used by one goroutine at a time, but for sync.
type gatherer struct {
	vfs.VFSFilename
	name string
	log  *gatheringFile
}

func newGatherer() (*gatherer, error) {
	system, ok := vfs.Find("os").(vfs.VFSFilename)
	if !ok {
		return nil, errors.New("files of the system cannot be opened by name")
	}
	g := &gatherer{VFSFilename: system}
	g.name = fmt.Sprintf("bursar-%p", g)
	vfs.Register(g.name, g)
	return g, nil
}

func (g *gatherer) close() { vfs.Unregister(g.name) }

// address is that of a database whose log is written so.
func (g *gatherer) address(path string) string {
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() + "?vfs=" + g.name
}

func (g *gatherer) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := g.VFSFilename.OpenFilename(name, flags)
	if err == nil && flags&vfs.OPEN_WAL != 0 {
		g.log = &gatheringFile{File: file}
		file = g.log
	}
	return file, flags, err
}

// during gathers what commit writes to the log. What a commit that failed has left
// is forgotten, as SQLite has given it up. Where the sync at its end was put off, it
// is owed.
func (g *gatherer) during(putOff bool, commit func() error) (owed bool, err error) {
	if g.log == nil {
		return false, commit()
	}
	g.log.gathering, g.log.putOff, g.log.owed = true, putOff, 0
	err = commit()
	g.log.gathering = false
	if len(g.log.waiting) > 0 && err == nil {
		err = errors.New("the log was not synced")
	}
	g.log.waiting = g.log.waiting[:0]
	return g.log.owed != 0 && err == nil, err
}

// sync does what is owed. Another transaction may be under way meanwhile, but no
// commit.
func (g *gatherer) sync() error { return g.log.syncNow(g.log.owed) }

// failure is why the log could not be synced, if it ever could not.
func (g *gatherer) failure() error {
	if g.log == nil {
		return nil
	}
	return g.log.failure()
}

// maxGathered bounds the memory that a large transaction takes.
const maxGathered = 1 << 20

// gatheringFile is the log.
type gatheringFile struct {
	vfs.File
	gathering bool
	putOff    bool // the sync that ends a commit
	waiting   []byte
	at        int64 // where in the file waiting belongs
	owed      vfs.SyncFlag
	begun     bool // the log, and its first page is yet to be synced
	known     bool // to the disk: it has been synced before

	mu     sync.Mutex // of syncs: a checkpoint of the writer may sync while a group is on its way
	failed atomic.Pointer[error]
}

func (f *gatheringFile) WriteAt(p []byte, at int64) (int, error) {
	if !f.gathering {
		return f.File.WriteAt(p, at)
	}
	f.begun = f.begun || at == 0
	if at != f.at+int64(len(f.waiting)) || len(f.waiting)+len(p) > maxGathered {
		if err := f.flush(); err != nil {
			return 0, err
		}
		f.at = at
	}
	f.waiting = append(f.waiting, p...)
	return len(p), nil
}

// flush writes what is waiting. What could not be written is forgotten: SQLite is
// told, and gives up the transaction.
func (f *gatheringFile) flush() error {
	if len(f.waiting) == 0 {
		return nil
	}
	_, err := f.File.WriteAt(f.waiting, f.at)
	f.at += int64(len(f.waiting))
	f.waiting = f.waiting[:0]
	return err
}

func (f *gatheringFile) ReadAt(p []byte, at int64) (int, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, at)
}

func (f *gatheringFile) Truncate(size int64) error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *gatheringFile) Sync(flags vfs.SyncFlag) error {
	if err := f.flush(); err != nil {
		return err
	}
	// The head of a log has to be on disk before its first page is written; and the
	// first sync of all changes the file that does it.
	if f.gathering && f.putOff && !f.begun && f.known {
		f.owed = flags
		return nil
	}
	f.begun, f.known = false, true
	return f.syncNow(flags)
}

// syncNow remembers a failure: the system tells each open file once of what it could
// not write, and the next sync would say that all is well.
func (f *gatheringFile) syncNow(flags vfs.SyncFlag) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.failure(); err != nil {
		return err
	}
	err := f.File.Sync(flags)
	if err != nil {
		f.failed.Store(&err)
	}
	return err
}

func (f *gatheringFile) failure() error {
	if err := f.failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (f *gatheringFile) Size() (int64, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.File.Size()
}
