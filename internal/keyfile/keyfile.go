// Package keyfile reads and writes files that contain a key. Only their owner may read
// them, and creating one never replaces another, because a lost key cannot be recovered.
// The data is on disk when a function returns.
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

// largest exceeds the size of any key file.
const largest = 1 << 20

// Read returns the content of a key file. It refuses a file that others can read or
// write. The error is fs.ErrNotExist if there is no file.
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

// Lock keeps other processes from changing the key files of a folder until unlock is called
// or this process ends. It locks the folder, because Replace substitutes the file itself.
func Lock(path string) (unlock func() error, err error) {
	lock := flock.New(filepath.Dir(path), flock.SetFlag(os.O_RDONLY))
	if err := lock.Lock(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock.Close, nil
}

// Make creates a key file. The error is fs.ErrExist if the file already exists, which
// stays unchanged.
func Make(path string, text []byte) error {
	return write(path, text, func(draft string) error {
		err := os.Link(draft, path)
		if err != nil && !errors.Is(err, fs.ErrExist) { // not every file system has links
			err = os.Rename(draft, path)
		}
		return err
	})
}

// Replace replaces or creates a file atomically: a reader, or a power loss, finds the old
// content or the new.
func Replace(path string, text []byte) error {
	return write(path, text, func(draft string) error { return os.Rename(draft, path) })
}

// write completes a file under a temporary name before it gets its own.
func write(path string, text []byte, place func(draft string) error) (err error) {
	folder := filepath.Dir(path)
	draft, err := os.CreateTemp(folder, "."+filepath.Base(path)+"-*") // only its owner can read it
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
	return sync(folder) // otherwise a power loss could remove the name
}

// Sync syncs a file to disk that was written elsewhere: by a process that was killed
// before it could, or by an operator who copied it.
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
