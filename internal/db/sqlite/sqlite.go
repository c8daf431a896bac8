package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/gofrs/flock"
	"github.com/ncruces/go-sqlite3"

	"bursar/internal/db/engine"
)

// FileName is the name of the database file in the data folder.
const FileName = "bursar.db"

// lockName is the name of the file that a server locks. It is not the database itself,
// whose locks belong to SQLite. It is not removed.
const lockName = "bursar.lock"

// Engine has many connections that read and one that writes.
type Engine struct {
	path    string
	readers chan *conn // nil for a connection that is opened when it is needed
	writer  *writer
	lock    *flock.Flock // nil for a process that is not a server
}

// Open opens the database in a folder, and creates both if they do not exist. Of the
// processes that open it as a server or alone, the first keeps it until it ends.
func Open(ctx context.Context, dir string, use engine.Use, epoch *engine.Epoch) (e *Engine, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	var lock *flock.Flock
	if use != engine.Shared {
		if lock, err = lockFolder(dir); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, lock.Close())
			}
		}()
	}
	e = &Engine{path: filepath.Join(dir, FileName), lock: lock, readers: make(chan *conn, 2*max(2, runtime.GOMAXPROCS(0)))}
	for range cap(e.readers) {
		e.readers <- nil
	}
	file, err := os.OpenFile(e.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the data file: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("open the data file: %w", err)
	}
	if e.writer, err = openWriter(ctx, e.path, epoch); err != nil {
		return nil, err
	}
	return e, nil
}

// Lock creates a folder and keeps servers away from it until it is closed. Close removes what Lock created, unless
// there is a store.
func Lock(dir string) (io.Closer, error) {
	l := &folderLock{dir: dir}
	for _, path := range []string{filepath.Join(dir, lockName), dir} {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			l.made = append(l.made, path)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	var err error
	l.lock, err = lockFolder(dir)
	return l, err
}

type folderLock struct {
	dir  string
	made []string
	lock *flock.Flock
}

// Close implements io.Closer.
func (l *folderLock) Close() error {
	if _, err := os.Lstat(filepath.Join(l.dir, FileName)); errors.Is(err, fs.ErrNotExist) {
		for _, path := range l.made {
			_ = os.Remove(path) // a folder that is not empty stays
		}
	}
	return l.lock.Close()
}

// lockFolder keeps a second server away. It would see changes of cached access data later
// than the first, and count logins and requests separately. The lock belongs to the open
// file, so the kernel removes it when the process ends, however it ends.
func lockFolder(dir string) (*flock.Flock, error) {
	lock := flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	if locked {
		err = os.Chmod(lock.Path(), 0o600) // read access to the file is enough to lock it
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the data folder: %w", err), lock.Close())
	}
	if locked {
		// The previous holder of the lock may have removed the file after it was opened here, and others lock a new
		// one.
		held, err := lock.Stat()
		named, err2 := os.Stat(lock.Path())
		if err != nil || err2 != nil || !os.SameFile(held, named) {
			return nil, errors.Join(fmt.Errorf("%w: another process has just used the data folder %s: try again", engine.ErrInUse, dir), lock.Close())
		}
	}
	if !locked {
		return nil, fmt.Errorf("%w: a server runs on the data folder %s: stop it first; several servers need PostgreSQL", engine.ErrInUse, dir)
	}
	return lock, nil
}

func openWriter(ctx context.Context, path string, epoch *engine.Epoch) (*writer, error) {
	failed := new(syncFailure)
	vfs, err := newWALVFS(failed)
	if err != nil {
		return nil, err
	}
	// Deleted data is overwritten with zeros, so that erased data is not left in free space.
	c, err := openConn(ctx, vfs.uri(path), "PRAGMA wal_autocheckpoint = 0; PRAGMA secure_delete = ON;")
	if err != nil {
		vfs.close()
		return nil, err
	}
	// The first read creates the WAL and its index, which stay while this connection is open.
	_, err = c.queryInt("PRAGMA schema_version")
	if err == nil {
		// A process that was killed during a commit may have left pages in the WAL that
		// are not on disk. Readers see them from this point on.
		err = errors.Join(makePrivate(path), syncFile(path+"-wal"))
	}
	if err != nil {
		defer vfs.close()
		return nil, errors.Join(err, c.close())
	}
	return startWriter(c, vfs, startCheckpointer(path, failed), epoch), nil
}

// makePrivate removes the access of other users to the files before anything is written
// to them. The folder may already have existed with access for others, and SQLite creates
// its extra files with the umask.
func makePrivate(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Chmod(path+suffix, 0o600); err != nil {
			return fmt.Errorf("make the data files private: %w", err)
		}
	}
	return nil
}

// Read implements engine.Engine.
func (e *Engine) Read(ctx context.Context, fn func(engine.Conn) error) error {
	var c *conn
	select {
	case c = <-e.readers:
	case <-ctx.Done():
		return fmt.Errorf("wait for a connection: %w", ctx.Err())
	}
	defer func() { e.readers <- c }()
	if c == nil {
		opened, err := openConn(ctx, e.path, "PRAGMA query_only = ON;")
		if err != nil {
			return err
		}
		c = opened
	}
	c.db.SetInterrupt(ctx)
	defer c.endRead()
	err := fn(c)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

// List implements engine.Engine. There is no replica.
func (e *Engine) List(ctx context.Context, fn func(engine.Conn) error) error { return e.Read(ctx, fn) }

// Write implements engine.Engine.
func (e *Engine) Write(ctx context.Context, fn func(engine.Conn) error) error {
	return e.writer.do(ctx, fn)
}

// Migrate implements engine.Engine.
func (e *Engine) Migrate(ctx context.Context, all []engine.Migration, now int64) error {
	err := e.Write(ctx, func(c engine.Conn) error {
		return engine.ApplyMigrations(c.(*conn), all, now)
	})
	if err != nil {
		return err
	}
	return syncFile(filepath.Dir(e.path)) // otherwise a power loss could remove the names of new files
}

// Shred implements engine.Engine. The database has no deleted data, because the writer
// overwrites it. The WAL still has earlier versions of pages, which are gone once all of it was
// copied and the file was truncated to zero. Shred waits for readers of old pages and for other
// checkpoints to do that.
func (e *Engine) Shred(ctx context.Context) (err error) {
	own, err := openConn(ctx, e.path, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.close()) }()
	if err := untilFree(ctx, func() error {
		return e.writer.pause(ctx, func() error {
			e.writer.checkpointer.keeper.Load().beforeEnd() // a reader of the log must have read all of it
			_, err := e.writer.checkpointer.checkpoint(own.db, sqlite3.CHECKPOINT_TRUNCATE)
			return err
		})
	}); err != nil {
		return fmt.Errorf("empty the write-ahead log: %w", err)
	}
	return nil
}

func (e *Engine) pageSize() (size int64, err error) {
	err = e.Read(context.Background(), func(c engine.Conn) (err error) {
		size, err = c.(*conn).queryInt("PRAGMA page_size")
		return err
	})
	return size, err
}

// CopyLog copies the write-ahead log to the database, except pages that readers still need.
func (e *Engine) CopyLog(ctx context.Context) (err error) {
	own, err := openConn(ctx, e.path, "PRAGMA cache_size = -64;")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.close()) }()
	err = untilFree(ctx, func() error { // the checkpointer may be copying it
		_, err := e.writer.checkpointer.checkpoint(own.db, sqlite3.CHECKPOINT_PASSIVE)
		return err
	})
	if err != nil {
		return fmt.Errorf("copy the write-ahead log: %w", err)
	}
	return nil
}

// syncFile syncs a file or a folder to disk, if it exists.
func syncFile(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s to sync it: %w", filepath.Base(path), err)
	}
	defer file.Close()
	if err := file.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("sync %s: %w", filepath.Base(path), err)
	}
	return nil
}

// Close implements engine.Engine. The writer is closed last, because the last
// connection copies the WAL to the database.
func (e *Engine) Close() error {
	var errs []error
	for range cap(e.readers) {
		if c := <-e.readers; c != nil {
			errs = append(errs, c.close())
		}
	}
	errs = append(errs, e.writer.stop())
	if e.lock != nil {
		errs = append(errs, e.lock.Close())
	}
	return errors.Join(errs...)
}

// IsUnique reports whether a write failed because a value is taken.
func IsUnique(err error) bool {
	return errors.Is(err, sqlite3.CONSTRAINT_UNIQUE) || errors.Is(err, sqlite3.CONSTRAINT_PRIMARYKEY)
}

// IsForeignKey reports whether a write failed because of a row that it refers to,
// or that refers to it.
func IsForeignKey(err error) bool { return errors.Is(err, sqlite3.CONSTRAINT_FOREIGNKEY) }
