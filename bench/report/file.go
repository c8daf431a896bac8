package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
)

const (
	opening = "<!-- bench -->"
	closing = "<!-- /bench -->"
)

// WriteJSON writes the report to a file.
func (r Report) WriteJSON(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// Insert replaces the text between the lines <!-- bench --> and <!-- /bench --> of a file.
// Tables lose the padding of their columns.
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
	text = regexp.MustCompile(` {2,}`).ReplaceAll(text, []byte(" "))
	text = regexp.MustCompile(`-{4,}`).ReplaceAll(text, []byte("---"))
	page := fmt.Appendf(nil, "%s\n%s\n\n%s\n\n%s\n%s", before, opening, bytes.TrimSpace(text), closing, after)
	if err := os.WriteFile(file, page, 0o644); err != nil {
		return fmt.Errorf("insert the report: %w", err)
	}
	return nil
}
