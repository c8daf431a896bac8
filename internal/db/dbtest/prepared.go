package dbtest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// prepared returns a folder that prepare fills once for the tests of all packages. A new cluster and all migrations each take two seconds
// of CPU time. The folder is rebuilt every day, and if a migration or the program (if one is named) has changed.
func prepared(kind, program string, prepare func(folder string) error) (folder string, err error) {
	parent := filepath.Join(os.TempDir(), fmt.Sprintf("bursar-prepared-%d", os.Getuid()))
	if err := os.Mkdir(parent, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if info, err := os.Lstat(parent); err != nil {
		return "", err
	} else if owner, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(owner.Uid) != os.Getuid() {
		return "", fmt.Errorf("%s is owned by another user", parent)
	}
	version, err := versionOf(program)
	if err != nil {
		return "", err
	}
	// Processes that need the same folder wait for the one that creates it.
	lock, err := os.OpenFile(filepath.Join(parent, kind+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }() // also unlocks it
	err = syscall.EINTR
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	folder = filepath.Join(parent, kind+"-"+version)
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		made := folder + ".new"
		if err := errors.Join(removeUnused(parent, kind+"-"), os.RemoveAll(made)); err != nil {
			return "", err
		}
		if err := prepare(made); err != nil {
			return "", fmt.Errorf("prepare a store for tests: %w", err)
		}
		if err := os.Rename(made, folder); err != nil {
			return "", err
		}
	}
	now := time.Now()
	return folder, errors.Join(os.Chtimes(folder, now, now), os.Chtimes(parent, now, now))
}

// removeUnused removes earlier folders that are no longer used.
func removeUnused(parent, prefix string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if time.Since(info.ModTime()) > time.Hour {
			if err := os.RemoveAll(filepath.Join(parent, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// versionOf returns a hash of the day, the migrations, and the program's path, size and time.
func versionOf(program string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, time.Now().UTC().Format(time.DateOnly)) // old temporary files may be removed by the system
	if program != "" {
		info, err := os.Stat(program)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(hash, program, info.Size(), info.ModTime().UnixNano())
	}
	_, source, _, _ := runtime.Caller(0)
	files, err := filepath.Glob(filepath.Join(filepath.Dir(source), "..", "migrations", "*.sql"))
	if err != nil || len(files) == 0 {
		return "", errors.Join(fmt.Errorf("no migrations beside %s", source), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", filepath.Base(file), len(data), data)
	}
	return fmt.Sprintf("%x", hash.Sum(nil)[:8]), nil
}
