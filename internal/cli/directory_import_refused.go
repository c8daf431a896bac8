package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// refusalWriter writes lines in the form in which they were read, with the number
// and the reason added.
type refusalWriter interface {
	extension() string
	begin(to io.Writer) error
	write(row *importRow, reason string) error
	flush() error
}

// refusedFile takes the lines that could not be imported. It is made with the first
// of them.
type refusedFile struct {
	name string // empty where there is no place for it
	form refusalWriter
	file *os.File
}

func (f *refusedFile) add(row *importRow, reason string) error {
	if f.name == "" {
		return nil
	}
	if f.file == nil {
		if err := f.create(); err != nil {
			return fmt.Errorf("write the refused lines: %w", err)
		}
	}
	if err := f.form.write(row, reason); err != nil {
		return fmt.Errorf("write the refused lines to %s: %w", f.name, err)
	}
	return nil
}

// create keeps what an earlier run wrote: somebody may have mended it.
func (f *refusedFile) create() (err error) {
	if err := f.putAway(); err != nil {
		return err
	}
	if f.file, err = openBeside(f.name, os.O_WRONLY); err != nil {
		return err
	}
	return f.form.begin(f.file)
}

// putAway moves an older file aside, and the journal of its own import with it: the
// next one has other lines. What is no plain file, such as /dev/null, stays.
func (f *refusedFile) putAway() error {
	for _, name := range []string{f.name, f.name + journalSuffix} {
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err == nil {
			err = os.Rename(name, name+"~")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// close writes the rest. Where a whole run refused nothing, the file of an earlier
// one is put away: it would only mislead.
func (f *refusedFile) close(complete bool) error {
	switch {
	case f.file != nil:
		if err := errors.Join(f.form.flush(), f.file.Sync(), f.file.Close()); err != nil {
			return fmt.Errorf("write the refused lines to %s: %w", f.name, err)
		}
	case complete && f.name != "":
		return f.putAway()
	}
	return nil
}
