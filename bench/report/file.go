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

// WriteJSON leaves either the old file or the whole new one.
func (r Report) WriteJSON(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	return replace(path, append(text, '\n'))
}

// ReadJSON reads what WriteJSON wrote.
func ReadJSON(path string) (Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Report{}, fmt.Errorf("reading the report: %w", err)
	}
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return Report{}, fmt.Errorf("reading the report %s: %w", path, err)
	}
	return r, nil
}

// Insert puts text between the lines <!-- bench --> and <!-- /bench --> of
// file, in place of what was there, and keeps the rest as it is.
func Insert(file string, text []byte) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("inserting the report: %w", err)
	}
	_, start := findLine(old, opening, 0)
	if start < 0 {
		return fmt.Errorf("inserting the report: %s has no line %s", file, opening)
	}
	end, _ := findLine(old, closing, start)
	if end < 0 {
		return fmt.Errorf("inserting the report: %s has no line %s after %s", file, closing, opening)
	}
	between := "\n\n" + string(bytes.TrimSpace(text)) + "\n\n"
	head := bytes.TrimRight(old[:start], "\r\n")
	return replace(file, bytes.Join([][]byte{head, []byte(between), old[end:]}, nil))
}

// findLine finds the first line at or after from that is wanted and nothing
// else, so that a sentence may speak of the line.
func findLine(text []byte, wanted string, from int) (start, end int) {
	for start = from; start < len(text); start = end {
		end = len(text)
		if next := bytes.IndexByte(text[start:], '\n'); next >= 0 {
			end = start + next + 1
		}
		if string(bytes.TrimSpace(text[start:end])) == wanted {
			return start, end
		}
	}
	return -1, -1
}

// replace writes beside path and renames, with the permissions that path had.
func replace(path string, text []byte) (err error) {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing %s: %w", path, errors.Join(err, os.Remove(temp.Name())))
		}
	}()
	_, err = temp.Write(text)
	if err = errors.Join(err, temp.Chmod(mode), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
