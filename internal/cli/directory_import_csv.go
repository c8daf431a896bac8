package cli

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"bursar/api"
	"bursar/internal/spreadsheet"
)

// maxRow is the largest row in bytes: the API accepts no more, and a quote that is never
// closed must not read the whole file into memory.
const maxRow = 1 << 20

var errLongRow = errors.New("a line is larger than 1 MiB: perhaps a quote is not closed")

// recordingReader keeps what was read since the last call of cut, so that a line can
// be shown as it stands in the file.
type recordingReader struct {
	from  io.Reader
	text  []byte
	start int64
}

func (t *recordingReader) Read(p []byte) (int, error) {
	if len(t.text) > maxRow {
		return 0, errLongRow
	}
	n, err := t.from.Read(p)
	t.text = append(t.text, p[:n]...)
	return n, err
}

// cut returns what was read up to a position and drops it.
func (t *recordingReader) cut(to int64) string {
	n := int(to - t.start)
	text := string(t.text[:n])
	t.text, t.start = append(t.text[:0], t.text[n:]...), to
	return text
}

// csvReader reads a CSV file.
type csvReader struct {
	recorded    *recordingReader
	csv         *csv.Reader
	columns     []column
	defaultType string
	raw         bool // nothing in the file is escaped
	number      int
}

func newCSVReader(in *bufio.Reader, comma rune, raw bool, m mapping, defaultType string) (*csvReader, error) {
	if comma == 0 {
		var err error
		if comma, err = findDelimiter(in); err != nil {
			return nil, err
		}
	}
	t := &recordingReader{from: in}
	r := &csvReader{recorded: t, csv: csv.NewReader(t), raw: raw, defaultType: defaultType}
	r.csv.Comma, r.csv.FieldsPerRecord = comma, -1
	header, err := r.read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file is empty: its first line must name the columns")
	case err != nil:
		return nil, fmt.Errorf("read the header: %w", err)
	}
	t.cut(r.csv.InputOffset())
	for _, name := range header {
		if !utf8.ValidString(name) {
			return nil, errors.New("the header is not UTF-8: save the file as UTF-8")
		}
	}
	r.columns, err = columnsOf(header, m, defaultType)
	return r, err
}

// findDelimiter reads no more than the first line, because a pipe may deliver the rest
// much later.
func findDelimiter(in *bufio.Reader) (rune, error) {
	for n := 1; ; n = min(in.Buffered()+1, in.Size()) {
		_, err := in.Peek(n)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		text, _ := in.Peek(in.Buffered())
		if comma, whole := delimiterOf(text); whole || err != nil || len(text) == in.Size() {
			return comma, nil
		}
	}
}

// delimiterOf finds what separates the columns of the first line. whole says whether the
// text has the whole line.
func delimiterOf(text []byte) (comma rune, whole bool) {
	counts, quotes, begun := map[byte]int{}, false, false
	for _, c := range text {
		switch {
		case c == '\n' && begun && !quotes:
			return mostOf(counts), true
		case c == '"':
			quotes, begun = !quotes, true
		case quotes || c == '\r' || c == '\n':
		case c == ',' || c == ';' || c == '\t':
			counts[c]++
			begun = true
		default:
			begun = true
		}
	}
	return mostOf(counts), false
}

func mostOf(counts map[byte]int) rune {
	best := byte(',')
	for _, c := range []byte{';', '\t'} {
		if counts[c] > counts[best] {
			best = c
		}
	}
	return rune(best)
}

// read reads a line, without what the export adds for spreadsheets.
func (r *csvReader) read() ([]string, error) {
	cells, err := r.csv.Read()
	for i, cell := range cells {
		if !r.raw {
			cells[i] = spreadsheet.Unescape(cell)
		}
	}
	return cells, err
}

func (r *csvReader) next() (*importRow, error) {
	cells, err := r.read()
	var malformed *csv.ParseError
	if err != nil && !errors.As(err, &malformed) {
		return nil, err
	}
	end := r.csv.InputOffset()
	text := r.recorded.cut(end)
	r.number++
	row := &importRow{number: r.number, end: end, cells: cells}
	if malformed != nil {
		row.line, row.text, row.cells = malformed.StartLine, strings.TrimRight(text, "\r\n"), nil
		row.problem = "is not CSV: " + malformed.Err.Error()
		return row, nil
	}
	row.line, _ = r.csv.FieldPos(0)
	if len(cells) != len(r.columns) {
		row.problem = fmt.Sprintf("has %d columns, and the header has %d", len(cells), len(r.columns))
		return row, nil
	}
	for i, cell := range cells {
		if problem := row.put(r.columns[i], cell); problem != "" && row.problem == "" {
			row.problem = problem
		}
	}
	if row.kind == "" && row.id == "" {
		row.kind = r.defaultType
	}
	return row, nil
}

// put stores a cell. An empty cell changes nothing.
func (row *importRow) put(to column, cell string) (problem string) {
	if cell == "" {
		return ""
	}
	if !utf8.ValidString(cell) {
		return "is not UTF-8: save the file as UTF-8"
	}
	switch to.to {
	case toID:
		row.id = strings.TrimSpace(cell)
	case toType:
		row.kind = strings.TrimSpace(cell)
	case toTags:
		row.Tags = splitTags(cell)
	case toTextField:
		row.Fields.Set(api.TextField(to.key, cell))
	case toJSONField:
		if !json.Valid([]byte(cell)) {
			return to.header + " must be JSON"
		}
		row.Fields.Set(api.Field{Key: to.key, Value: json.RawMessage(cell)})
	case toNowhere:
		if strings.TrimSpace(cell) != "" {
			return fmt.Sprintf("has %q in a column without a header", cell)
		}
	default:
		if p, ok := propertyNamed(string(to.to)); ok {
			if p.values != nil {
				cell = strings.TrimSpace(cell)
			}
			*p.update(&row.EntryUpdate) = &cell
		}
	}
	return ""
}

func (r *csvReader) refusals() refusalWriter {
	return &csvRefusals{comma: r.csv.Comma, raw: r.raw, columns: r.columns}
}

// csvRefusals writes refused lines with their columns, so that they can be corrected and
// imported.
type csvRefusals struct {
	comma   rune
	raw     bool
	columns []column
	out     *spreadsheet.Writer
}

func (w *csvRefusals) extension() string { return ".csv" }

// kept leaves out the columns that an earlier import added to refused lines.
func (w *csvRefusals) kept(cells func(i int) string) (out []string) {
	for i, c := range w.columns {
		if c.header != refusedLine && c.header != refusedReason {
			out = append(out, cells(i))
		}
	}
	return out
}

func (w *csvRefusals) begin(to io.Writer) error {
	w.out = spreadsheet.NewWriter(to, w.comma, w.raw)
	header := w.kept(func(i int) string { return w.columns[i].header })
	return w.out.Write(append(header, refusedLine, refusedReason)...)
}

func (w *csvRefusals) write(row *importRow, reason string) error {
	cells := w.kept(func(i int) string {
		switch {
		case i < len(row.cells):
			return row.cells[i]
		case i == 0:
			return row.text
		}
		return ""
	})
	cells = append(cells, fmt.Sprint(row.line), reason)
	if len(row.cells) > len(w.columns) {
		cells = append(cells, row.cells[len(w.columns):]...) // keep cells that have no header
	}
	return w.out.Write(cells...)
}

func (w *csvRefusals) flush() error { return w.out.Flush() }
