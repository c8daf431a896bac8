package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	opening = "<!-- bench -->"
	closing = "<!-- /bench -->"
)

// WriteJSON writes the report to a file.
func (r Report) WriteJSON(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	return replace(path, append(text, '\n'))
}

// ReadJSON reads a file of WriteJSON.
func ReadJSON(path string) (Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Report{}, fmt.Errorf("read the report: %w", err)
	}
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return Report{}, fmt.Errorf("read the report %s: %w", path, err)
	}
	return r, nil
}

// Insert replaces the text between the lines <!-- bench --> and <!-- /bench --> of a file.
func Insert(file string, text []byte) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("insert the report: %w", err)
	}
	before, rest, found := bytes.Cut(old, []byte("\n"+opening+"\n"))
	_, after, closed := bytes.Cut(rest, []byte("\n"+closing+"\n"))
	if !found || !closed {
		return fmt.Errorf("insert the report: %s has no lines %s and %s", file, opening, closing)
	}
	return replace(file, fmt.Appendf(nil, "%s\n%s\n\n%s\n\n%s\n%s", before, opening, bytes.TrimSpace(text), closing, after))
}

// replace writes a new file and renames it, so that a failure leaves the old one whole.
func replace(path string, text []byte) (err error) {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(temp.Name())))
		}
	}()
	_, err = temp.Write(text)
	if err = errors.Join(err, temp.Chmod(mode), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
