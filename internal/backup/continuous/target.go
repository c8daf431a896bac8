package continuous

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Target is the destination of a backup. Names have slashes between their parts.
type Target interface {
	// Put stores an object atomically and replaces an earlier one.
	Put(ctx context.Context, name string, from io.Reader, size int64) error
	// PutSummed stores an object with the SHA-256 of its bytes, in hexadecimal digits.
	PutSummed(ctx context.Context, name string, from io.Reader, size int64, sum string) error
	// Sum returns the SHA-256 that an object was stored with, or nothing if there is none.
	Sum(ctx context.Context, name string) (string, error)
	// Get returns an error that is fs.ErrNotExist if there is no such object.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// List returns all objects whose names have a prefix.
	List(ctx context.Context, prefix string) ([]Object, error)
	Delete(ctx context.Context, name string) error
	// String returns the name of the target without secrets.
	String() string
}

// Object is an object in a target.
type Object struct {
	Name string
	Size int64
	Time time.Time // when it was stored
}

// Open returns the target with an address: a folder, or s3://bucket/prefix.
func Open(address string, env func(string) (string, bool)) (Target, error) {
	if strings.HasPrefix(address, "s3://") {
		return openBucket(address, env)
	}
	if scheme, _, found := strings.Cut(address, "://"); found {
		return nil, fmt.Errorf("a backup goes to a folder or to s3://bucket/prefix, not to %s://", scheme)
	}
	return folder(address), nil
}

// folder is a Target on a file system.
type folder string

func (f folder) String() string { return string(f) }

func (f folder) path(name string) string { return filepath.Join(string(f), filepath.FromSlash(name)) }

// Put implements Target. It does not create the folder itself, which may be on a disk that is not
// mounted.
func (f folder) Put(_ context.Context, name string, from io.Reader, _ int64) error {
	if _, err := os.Stat(string(f)); err != nil {
		return err
	}
	err := writeFile(f.path(name), func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
	if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(f.path(name)))
}

// sumEnd is the suffix of files with the SHA-256 of another file, in the format of the sha256sum
// command.
const sumEnd = ".sha256"

// PutSummed implements Target. A crash leaves an object without a sum, never one with the sum of an earlier object.
func (f folder) PutSummed(ctx context.Context, name string, from io.Reader, size int64, sum string) error {
	if err := f.remove(name + sumEnd); err != nil {
		return err
	}
	if err := f.Put(ctx, name, from, size); err != nil {
		return err
	}
	line := fmt.Sprintf("%s  %s\n", sum, path.Base(name))
	return writeFile(f.path(name+sumEnd), func(w io.Writer) error {
		_, err := io.WriteString(w, line)
		return err
	})
}

// Sum implements Target.
func (f folder) Sum(_ context.Context, name string) (string, error) {
	line, err := os.ReadFile(f.path(name + sumEnd))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	sum, _, _ := strings.Cut(string(line), " ")
	return sum, nil
}

// Get implements Target.
func (f folder) Get(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(f.path(name))
}

// List implements Target.
func (f folder) List(_ context.Context, prefix string) (list []Object, err error) {
	err = filepath.WalkDir(f.path(filepath.Dir(prefix+"x")), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing has been stored yet, or it was just deleted
		}
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(string(f), path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(relative)
		if !strings.HasPrefix(name, prefix) || strings.HasSuffix(name, unfinished) || strings.HasSuffix(name, sumEnd) {
			return nil
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			list = append(list, Object{name, info.Size(), info.ModTime()})
		}
		return err
	})
	return list, err
}

// Delete implements Target.
func (f folder) Delete(_ context.Context, name string) error {
	return errors.Join(f.remove(name), f.remove(name+sumEnd))
}

func (f folder) remove(name string) error {
	if err := os.Remove(f.path(name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// unfinished is the suffix of files that are being written.
const unfinished = ".unfinished"

// writeFile writes a file that only its owner can read. The file appears when all of it is on disk. A power loss may remove
// its name.
func writeFile(path string, write func(io.Writer) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path+unfinished, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	if err := errors.Join(write(file), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
