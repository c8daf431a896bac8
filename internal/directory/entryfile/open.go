// Package entryfile reads and writes files of directory entries, as CSV and as NDJSON. It can read every file that it writes.
package entryfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// The formats of a file.
const (
	CSV    = "csv"
	NDJSON = "ndjson"
)

// Formats lists the formats of a file.
func Formats() []string { return []string{CSV, NDJSON} }

// MaxRow is the largest row in bytes: a quote that is never closed must not read the whole file
// into memory.
const MaxRow = 1 << 20

// Options are the options for reading a file.
type Options struct {
	Format      string  // empty: detected from its beginning
	Delimiter   string  // of a CSV file: a character, or "tab"; empty: detected from its header
	Raw         bool    // nothing in a CSV file is escaped for spreadsheets
	Mapping     Mapping // from headers to columns
	Type        string  // of lines without one
	IDs         bool    // a line may select the entry that it updates by its id alone
	WorkspaceID string  // the workspace that lines may name
}

// Position is a place between two rows of a file.
type Position struct {
	Offset int64 // in bytes
	Lines  int   // the number of lines that end before it
}

// Reader reads a file row by row.
type Reader interface {
	// Next returns the next row; io.EOF ends the file.
	Next() (*Row, error)
	// Position returns the place after the last row.
	Position() Position
	// Resume continues at a place. in contains the rest of the file.
	Resume(in io.Reader, at Position)
	// Format returns the format of the file.
	Format() string
	// RefusedHead returns the beginning of a file of refused lines. Refused returns one of them: as in the file, with its number and the
	// reason.
	RefusedHead() []byte
	Refused(row *Row, reason string) []byte
}

// signatures are the beginnings of files that are often mistaken for tables.
var signatures = []struct{ mark, says string }{
	{"\xff\xfe", "this is UTF-16: save it as UTF-8"},
	{"\xfe\xff", "this is UTF-16: save it as UTF-8"},
	{"PK\x03\x04", "this is a ZIP file, as workbooks of spreadsheets are: save it as CSV"},
	{"\x1f\x8b", "this is compressed with gzip: unpack it"},
	{"%PDF", "this is a PDF: save it as CSV"},
	{"\xd0\xcf\x11\xe0", "this is an old Excel workbook: save it as CSV"},
}

const utf8Mark = "\xef\xbb\xbf"

// Open begins to read a file. It reads its header, and refuses files that are not tables.
func Open(from io.Reader, o Options) (Reader, error) {
	in, format, start, err := begin(from, o.Format)
	switch {
	case err != nil:
		return nil, err
	case format == NDJSON:
		return &ndjsonReader{in: in, options: o, at: Position{Offset: start}}, nil
	}
	return newCSVReader(in, o, start)
}

// begin refuses files that are not tables. It finds the format of a file and where its text starts.
func begin(from io.Reader, given string) (in *bufio.Reader, format string, start int64, err error) {
	in = bufio.NewReaderSize(from, 64<<10)
	const enough = 512
	beginning, err := in.Peek(enough)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, "", 0, err
	}
	for _, known := range signatures {
		if bytes.HasPrefix(beginning, []byte(known.mark)) {
			return nil, "", 0, errors.New(known.says)
		}
	}
	if bytes.IndexByte(beginning, 0) >= 0 {
		return nil, "", 0, errors.New("this is not a text file: save it as CSV or NDJSON in UTF-8")
	}
	if bytes.HasPrefix(beginning, []byte(utf8Mark)) {
		n, _ := in.Discard(len(utf8Mark)) // they are in the buffer
		start = int64(n)
	}
	format = given
	if format == "" && bytes.HasPrefix(bytes.TrimLeft(beginning[start:], " \t\r\n"), []byte("{")) {
		format = NDJSON
	}
	return in, format, start, nil
}

// ParseDelimiter reads an option for what separates the columns of a CSV file; 0 means detection by the header.
func ParseDelimiter(text string) (rune, error) {
	switch text {
	case "":
		return 0, nil
	case "tab", `\t`:
		return '\t', nil
	}
	c, n := utf8.DecodeRuneInString(text)
	if n != len(text) || strings.ContainsRune("\"\r\n", c) || c == utf8.RuneError {
		return 0, fmt.Errorf("must be one character, or tab, not %q", text)
	}
	return c, nil
}
