package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"bursar/api"
	"bursar/internal/cli/term"
)

// exportFile is standard output, or a file that appears when it is complete.
type exportFile struct {
	io.Writer
	name string
	temp *os.File
}

func newExportFile(name string, stdout io.Writer) (*exportFile, error) {
	if name == "-" {
		return &exportFile{Writer: stdout, name: name}, nil
	}
	if err := plainTarget(name); err != nil {
		return nil, err
	}
	temp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return &exportFile{temp, name, temp}, nil
}

// plainTarget makes sure that the export does not replace a device or a link.
func plainTarget(name string) error {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return term.Usagef("%s is not a regular file: write to standard output with - instead", name)
	}
	return nil
}

func (f *exportFile) title() string {
	if f.temp == nil {
		return "standard output"
	}
	return f.name
}

func (f *exportFile) folder() string {
	if f.temp == nil {
		return ""
	}
	return filepath.Dir(f.name)
}

func (f *exportFile) keep() error {
	if f.temp == nil {
		return nil
	}
	if err := errors.Join(f.temp.Sync(), f.temp.Close()); err != nil {
		return err
	}
	return os.Rename(f.temp.Name(), f.name)
}

// abandon deletes the temporary file, unless it was kept.
func (f *exportFile) abandon() {
	if f.temp != nil {
		_ = f.temp.Close()
		_ = os.Remove(f.temp.Name()) // fails if the file was kept, because it was renamed
	}
}

// spool stores entries until the columns are known.
type spool struct {
	file *os.File
	out  *bufio.Writer
}

func newSpool(folder string) (*spool, error) {
	file, err := os.CreateTemp(folder, ".bursar-export-*")
	if err != nil {
		return nil, fmt.Errorf("store the entries temporarily: %w", err)
	}
	return &spool{file, bufio.NewWriter(file)}, nil
}

func (s *spool) close() {
	_ = s.file.Close()
	_ = os.Remove(s.file.Name())
}

func (s *spool) add(e *api.Entry) error {
	_, err := s.out.Write(append(exportedJSON(e), '\n'))
	return err
}

// each reads the entries back.
func (s *spool) each(fn func(e *api.Entry) error) error {
	if err := s.out.Flush(); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in := json.NewDecoder(bufio.NewReader(s.file))
	for {
		var line api.Entry
		if err := in.Decode(&line); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := fn(&line); err != nil {
			return err
		}
	}
}
