package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// openBeside opens a file that the import writes, or makes it, but never through a symbolic
// link: its name can be guessed, so in a folder that others can write to, a link could lead
// to any file of the user. A flag of open would do the same, but not on every system.
func openBeside(name string, flag int) (*os.File, error) {
	file, err := os.OpenFile(name, flag|os.O_CREATE|os.O_EXCL, 0o600)
	if !errors.Is(err, fs.ErrExist) {
		return file, err
	}
	named, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	followed := fmt.Errorf("%s is a symbolic link, which is not followed: remove it", name)
	if named.Mode()&fs.ModeSymlink != 0 {
		return nil, followed
	}
	if file, err = os.OpenFile(name, flag, 0); err != nil {
		return nil, err
	}
	if opened, err := file.Stat(); err != nil || !os.SameFile(opened, named) { // it was exchanged in between
		return nil, errors.Join(followed, err, file.Close())
	}
	return file, nil
}
