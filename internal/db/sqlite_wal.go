package db

import (
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/ncruces/go-sqlite3/vfs"
)

// gatheringVFS is the operating system's, but for the write-ahead log: SQLite
// writes a page there in two pieces, each a call of the system. What follows on
// one another is gathered and written at once, before it is synced and before
// anything else is done to the file: nothing is committed that is not on disk.
type gatheringVFS struct{ vfs.VFSFilename }

const gathering = "bursar-gathering"

// gatheringPath is the address of a database whose log is written so.
func gatheringPath(path string) (string, error) {
	system, ok := vfs.Find("os").(vfs.VFSFilename)
	if !ok {
		return "", fmt.Errorf("the files of the system cannot be opened by name")
	}
	vfs.Register(gathering, gatheringVFS{system})
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() + "?vfs=" + gathering, nil
}

func (g gatheringVFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := g.VFSFilename.OpenFilename(name, flags)
	if err == nil && flags&vfs.OPEN_WAL != 0 {
		file = &gatheringFile{File: file}
	}
	return file, flags, err
}

// maxGathered bounds the memory that a large transaction takes.
const maxGathered = 1 << 20

// gatheringFile is the log. SQLite uses it from one connection alone; others read
// a file of their own, and learn of new pages only after they were synced.
type gatheringFile struct {
	vfs.File
	waiting []byte
	at      int64 // where in the file waiting belongs
}

func (f *gatheringFile) WriteAt(p []byte, at int64) (int, error) {
	if at != f.at+int64(len(f.waiting)) || len(f.waiting)+len(p) > maxGathered {
		if err := f.flush(); err != nil {
			return 0, err
		}
		f.at = at
	}
	f.waiting = append(f.waiting, p...)
	return len(p), nil
}

// flush writes what is waiting. What could not be written is forgotten, as SQLite
// is told and writes it again, or gives up the transaction.
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
	return f.File.Sync(flags)
}

func (f *gatheringFile) Size() (int64, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.File.Size()
}

func (f *gatheringFile) Close() error {
	if err := f.flush(); err != nil {
		_ = f.File.Close() // the file is of no use any more
		return err
	}
	return f.File.Close()
}
