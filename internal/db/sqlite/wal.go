package sqlite

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3/vfs"
)

// walVFS opens files like the operating system's VFS. After a failed fsync of the write-ahead log (WAL)
// every later fsync fails too. See syncFailure. A walVFS belongs to the one connection that
// writes, and is used by one goroutine.
type walVFS struct {
	vfs.VFSFilename
	name   string
	failed *syncFailure
	wal    *walFile // nil until SQLite opens the WAL
}

func newWALVFS(failed *syncFailure) (*walVFS, error) {
	system, ok := vfs.Find("os").(vfs.VFSFilename)
	if !ok {
		return nil, errors.New("the SQLite driver has no VFS that opens files by name")
	}
	v := &walVFS{VFSFilename: system, failed: failed}
	v.name = fmt.Sprintf("bursar-%p", v)
	vfs.Register(v.name, v)
	return v, nil
}

func (v *walVFS) close() { vfs.Unregister(v.name) }

// uri is the name under which SQLite opens the database through this VFS.
func (v *walVFS) uri(path string) string {
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() + "?vfs=" + v.name
}

func (v *walVFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := v.VFSFilename.OpenFilename(name, flags)
	if err == nil && flags&vfs.OPEN_WAL != 0 {
		v.wal = &walFile{File: file, failed: v.failed}
		file = v.wal
	}
	return file, flags, err
}

// commit notes where the commit that run makes is in the WAL.
func (v *walVFS) commit(run func() error) error {
	if v.wal == nil {
		return run()
	}
	v.wal.committing, v.wal.start = true, -1
	defer func() { v.wal.committing = false }()
	return run()
}

type walFile struct {
	vfs.File
	failed     *syncFailure
	committing bool
	start      int64 // offset of the first write of the commit, -1 before it
}

func (f *walFile) WriteAt(p []byte, at int64) (int, error) {
	if f.committing && f.start < 0 {
		f.start = at
	}
	return f.File.WriteAt(p, at)
}

func (f *walFile) Sync(flags vfs.SyncFlag) error {
	if err := f.failed.get(); err != nil {
		return err
	}
	err := f.File.Sync(flags)
	if err != nil {
		f.failed.set(err)
		f.invalidate()
	}
	return err
}

// invalidate makes the commit that could not be synced unreadable. Otherwise the next
// start would find it in the page cache and treat it as committed. The disk may not have
// it, and no later fsync would put it there. The write lock is still held, so no one else
// has written here. If this write fails as well, the caller of the commit still gets the error.
func (f *walFile) invalidate() {
	const header = 32 // of the file; that of a page is smaller
	if f.committing && f.start >= 0 {
		_, _ = f.File.WriteAt(make([]byte, header), f.start)
	}
}

// syncFailure remembers the first fsync that failed. Linux reports a failed
// write to each open file once, drops the data and lets the next fsync succeed,
// so a success after a failure proves nothing. No group is committed and no page
// is copied to the database after it. The next start reads what the files hold.
type syncFailure struct{ first atomic.Pointer[error] }

func (s *syncFailure) set(err error) {
	err = fmt.Errorf("nothing can be written until the program is restarted, because an fsync has failed: %w", err)
	s.first.CompareAndSwap(nil, &err)
}

func (s *syncFailure) get() error {
	if err := s.first.Load(); err != nil {
		return *err
	}
	return nil
}
