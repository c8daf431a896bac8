package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"bursar/internal/cli/term"
)

const (
	formatCSV    = "csv"
	formatNDJSON = "ndjson"
)

func fileFormats() []string { return []string{formatCSV, formatNDJSON} }

// importFile is what is imported.
type importFile struct {
	name        string // "-" is standard input
	stdin       io.Reader
	format      string // empty: by the name, or by how it begins
	comma       rune   // 0: by the header
	raw         bool   // nothing in a CSV file is escaped
	mapping     mapping
	defaultType string
}

func (f *importFile) isStdin() bool { return f.name == "-" }

// title is how messages call it.
func (f *importFile) title() string {
	if f.isStdin() {
		return "standard input"
	}
	return f.name
}

// size is that of the file, 0 where nobody knows.
func (f *importFile) size() int64 {
	info, err := os.Stat(f.name)
	if f.isStdin() || err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// open begins to read the file.
func (f *importFile) open(ctx context.Context, workspaceID string) (rowReader, io.Closer, error) {
	var from io.ReadCloser = io.NopCloser(f.stdin)
	if f.isStdin() {
		from = newPatientReader(ctx, f.stdin)
	} else {
		file, err := os.Open(f.name)
		if err != nil {
			return nil, nil, err
		}
		from = file
	}
	rows, err := f.reader(bufio.NewReaderSize(from, 64<<10), workspaceID)
	if err != nil {
		from.Close()
		var usage term.UsageError
		if errors.As(err, &usage) {
			return nil, nil, term.Usagef("%s: %w", f.title(), usage.Unwrap())
		}
		return nil, nil, fmt.Errorf("%s: %w", f.title(), err)
	}
	return rows, from, nil
}

var (
	utf8Mark   = []byte("\xef\xbb\xbf")
	utf16Marks = [][]byte{[]byte("\xff\xfe"), []byte("\xfe\xff")}
)

func (f *importFile) reader(in *bufio.Reader, workspaceID string) (rowReader, error) {
	beginning, err := in.Peek(len(utf8Mark))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for _, mark := range utf16Marks {
		if bytes.HasPrefix(beginning, mark) {
			return nil, errors.New("this is UTF-16: save it as UTF-8")
		}
	}
	if bytes.Equal(beginning, utf8Mark) {
		if _, err := in.Discard(len(utf8Mark)); err != nil {
			return nil, err
		}
	}
	format, comma := f.format, f.comma
	if format == "" {
		format = formatOf(f.name)
	}
	if format == "" && firstCharacter(in) == '{' {
		format = formatNDJSON
	}
	if strings.EqualFold(filepath.Ext(f.name), ".tsv") && comma == 0 {
		comma = '\t'
	}
	if format == formatNDJSON {
		return &ndjsonReader{in: in, mapping: f.mapping, defaultType: f.defaultType, workspaceID: workspaceID}, nil
	}
	return newCSVReader(in, comma, f.raw, f.mapping, f.defaultType)
}

// formatOf knows a format by the name of the file.
func formatOf(name string) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".csv", ".tsv":
		return formatCSV
	case ".ndjson", ".jsonl", ".json":
		return formatNDJSON
	}
	return ""
}

func firstCharacter(in *bufio.Reader) byte {
	for n := 1; n <= in.Size(); n++ {
		text, err := in.Peek(n)
		if err != nil {
			return 0
		}
		if c := text[n-1]; !bytes.ContainsRune([]byte(" \t\r\n"), rune(c)) {
			return c
		}
	}
	return 0
}

func parseDelimiter(text string) (rune, error) {
	switch text {
	case "":
		return 0, nil
	case "tab", `\t`:
		return '\t', nil
	}
	c, n := utf8.DecodeRuneInString(text)
	if n != len(text) || c == '"' || c == '\r' || c == '\n' || c == utf8.RuneError {
		return 0, term.Usagef("--delimiter must be one character, or tab, not %q", text)
	}
	return c, nil
}

// rowsOf yields the rows of a file. An id that was there before makes a row that
// cannot be imported: which of the two would win is a matter of luck. Of ids only
// digests are held, 8 bytes each.
func rowsOf(reader rowReader, title string) iter.Seq2[*importRow, error] {
	return func(yield func(*importRow, error) bool) {
		seed, seen := maphash.MakeSeed(), map[uint64]bool{}
		for {
			row, err := reader.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, fmt.Errorf("read %s: %w", title, err))
				return
			}
			if row.id != "" {
				digest := maphash.String(seed, row.id)
				if seen[digest] && row.problem == "" {
					row.problem = "has the id " + row.id + ", as a line before"
				}
				seen[digest] = true
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// patientReader reads from where there may be nothing for long, and gives up when
// the context is done.
type patientReader struct {
	ctx    context.Context
	pieces chan piece
	rest   []byte
	err    error
}

type piece struct {
	text []byte
	err  error
}

func newPatientReader(ctx context.Context, from io.Reader) *patientReader {
	r := &patientReader{ctx: ctx, pieces: make(chan piece)}
	go func() {
		for {
			buffer := make([]byte, 64<<10)
			n, err := from.Read(buffer)
			select {
			case r.pieces <- piece{buffer[:n], err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return r
}

func (r *patientReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		select {
		case next := <-r.pieces:
			r.rest, r.err = next.text, next.err
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *patientReader) Close() error { return nil }
