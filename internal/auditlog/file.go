package auditlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// writeFile makes a file that only its owner can read, so that a crash leaves all of it or
// none. If another file has the name, it is replaced, or the error is fs.ErrExist.
func writeFile(path string, text []byte, replace bool) (err error) {
	dir := filepath.Dir(path)
	draft, err := os.CreateTemp(dir, ".bursar-*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if gone := os.Remove(draft.Name()); err == nil && !errors.Is(gone, fs.ErrNotExist) {
			err = gone
		}
	}()
	_, err = draft.Write(text)
	if err = errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return err
	}
	if !replace {
		err = os.Link(draft.Name(), path)
		replace = err != nil && !errors.Is(err, fs.ErrExist) // not every file system has links
	}
	if replace {
		err = os.Rename(draft.Name(), path)
	}
	if err != nil {
		return err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = folder.Sync() // not every system can do that
	return folder.Close()
}
