// Package keyfile reads and makes files that hold a key. Nobody but their owner may read
// them, and making one never replaces another: a key that is lost cannot be made again.
// What was written is on disk when a function returns.
package keyfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
)

// largest is more than any key file has.
const largest = 1 << 20

// Read returns what is in a key file. It refuses one that others can read or write. The
// error is fs.ErrNotExist if there is none.
func Read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if mode := about.Mode(); !mode.IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	} else if mode.Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s is not for its owner alone, its mode is %04o: run 'chmod 600 %s'", path, mode.Perm(), path)
	}
	text, err := io.ReadAll(io.LimitReader(file, largest))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return text, nil
}

// Lock keeps other processes from changing the key files of a folder until unlock is called,
// or this process ends. It locks the folder, since a file is replaced by another.
func Lock(path string) (unlock func() error, err error) {
	lock := flock.New(filepath.Dir(path), flock.SetFlag(os.O_RDONLY))
	if err := lock.Lock(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock.Close, nil
}

// Make makes a key file. The error is fs.ErrExist if there is one already, which stays as
// it is.
func Make(path string, text []byte) error {
	return write(path, text, func(draft string) error {
		err := os.Link(draft, path)
		if err != nil && !errors.Is(err, fs.ErrExist) { // not every file system has links
			err = os.Rename(draft, path)
		}
		return err
	})
}

// Replace puts a text in the place of an old one, or of none, so that a reader finds one of
// them and a power loss leaves one of them.
func Replace(path string, text []byte) error {
	return write(path, text, func(draft string) error { return os.Rename(draft, path) })
}

// write completes a file under another name before it gets its own.
func write(path string, text []byte, place func(draft string) error) (err error) {
	folder := filepath.Dir(path)
	draft, err := os.CreateTemp(folder, "."+filepath.Base(path)+"-*") // for its owner alone
	if err != nil {
		return err
	}
	defer func() {
		if removed := os.Remove(draft.Name()); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}()
	_, err = draft.Write(text)
	if err == nil {
		err = draft.Sync()
	}
	if err = errors.Join(err, draft.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := place(draft.Name()); err != nil {
		return err
	}
	return sync(folder) // else a power loss could remove the name
}

// Sync has a file on disk that somebody else wrote: a process that was killed before it
// could, or an operator who copied it.
func Sync(path string) error {
	return errors.Join(sync(path), sync(filepath.Dir(path)))
}

func sync(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	// Not every file system can sync a folder.
	if err := file.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}
