package entryfile

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"bursar/api"
	"bursar/internal/spreadsheet"
)

var errLongRow = errors.New("a line is larger than 1 MiB: perhaps a quote is not closed")

// recordingReader keeps what was read since the last call of cut, so that a line can be shown as it is in the file.
type recordingReader struct {
	from  io.Reader
	text  []byte
	start int64
}

func (t *recordingReader) Read(p []byte) (int, error) {
	if len(t.text) > MaxRow {
		return 0, errLongRow
	}
	n, err := t.from.Read(p)
	t.text = append(t.text, p[:n]...)
	return n, err
}

// cut returns the text read up to a position and drops it.
func (t *recordingReader) cut(to int64) string {
	n := int(to - t.start)
	text := string(t.text[:n])
	t.text, t.start = append(t.text[:0], t.text[n:]...), to
	return text
}

// csvReader reads a CSV file.
type csvReader struct {
	recorded *recordingReader
	csv      *csv.Reader
	columns  []column
	options  Options
	base     Position // where csv began to read
	at       Position
}

func newCSVReader(in *bufio.Reader, o Options, start int64) (*csvReader, error) {
	r, header, err := readHeader(in, o, start)
	if err != nil {
		return nil, err
	}
	r.columns, err = columnsOf(header, o)
	return r, err
}

// readHeader reads the first line of a CSV file, whatever its columns mean.
func readHeader(in *bufio.Reader, o Options, start int64) (r *csvReader, header []string, err error) {
	comma, err := ParseDelimiter(o.Delimiter)
	if err == nil && comma == 0 {
		comma, err = findDelimiter(in)
	}
	if err != nil {
		return nil, nil, err
	}
	r = &csvReader{options: o, base: Position{Offset: start}}
	r.begin(in, comma)
	header, err = r.read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil, errors.New("the file is empty: its first line must name the columns")
	case err != nil:
		return nil, nil, fmt.Errorf("read the header: %w", err)
	case len(header) > maxColumns:
		return nil, nil, fmt.Errorf("the header names %d columns, and %d is the most", len(header), maxColumns)
	}
	r.advance()
	for _, name := range header {
		if !utf8.ValidString(name) {
			return nil, nil, errors.New("the header is not UTF-8: save the file as UTF-8")
		}
	}
	return r, header, nil
}

func (r *csvReader) begin(in io.Reader, comma rune) {
	r.recorded = &recordingReader{from: in}
	r.csv = csv.NewReader(r.recorded)
	r.csv.Comma, r.csv.FieldsPerRecord = comma, -1
	r.at = r.base
}

// advance moves the position after the text that was read, and returns that text.
func (r *csvReader) advance() (text string) {
	end := r.csv.InputOffset()
	text = r.recorded.cut(end)
	r.at = Position{r.base.Offset + end, r.at.Lines + strings.Count(text, "\n")}
	return text
}

func (r *csvReader) Position() Position { return r.at }

func (r *csvReader) Resume(in io.Reader, at Position) {
	r.base = at
	r.begin(in, r.csv.Comma)
}

func (r *csvReader) Format() string { return CSV }

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

// delimiterOf finds what separates the columns of the first line. whole reports whether the text has the whole line.
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

// read reads a line, without the escapes that the export adds for spreadsheets.
func (r *csvReader) read() ([]string, error) {
	cells, err := r.csv.Read()
	for i, cell := range cells {
		if !r.options.Raw {
			cells[i] = spreadsheet.Unescape(cell)
		}
	}
	return cells, err
}

func (r *csvReader) Next() (*Row, error) {
	cells, err := r.read()
	var malformed *csv.ParseError
	if err != nil && !errors.As(err, &malformed) {
		return nil, err
	}
	row := &Row{cells: cells}
	if malformed != nil {
		row.Line, row.cells = r.base.Lines+malformed.StartLine, nil
		row.text, row.Problem = strings.TrimRight(r.advance(), "\r\n"), "is not CSV: "+malformed.Err.Error()
		return row, nil
	}
	line, _ := r.csv.FieldPos(0)
	row.Line = r.base.Lines + line
	r.advance()
	if len(cells) != len(r.columns) {
		row.Problem = fmt.Sprintf("has %d columns, and the header has %d", len(cells), len(r.columns))
		return row, nil
	}
	for i, cell := range cells {
		if problem := row.put(r.columns[i], cell); problem != "" && row.Problem == "" {
			row.Problem = problem
		}
	}
	if row.Type == "" && (row.ID == "" || !r.options.IDs) {
		row.Type = r.options.Type
	}
	return row, nil
}

// put stores a cell. An empty cell changes nothing.
func (row *Row) put(to column, cell string) (problem string) {
	if cell == "" {
		return ""
	}
	if !utf8.ValidString(cell) {
		return "is not UTF-8: save the file as UTF-8"
	}
	switch to.to {
	case toID:
		row.ID = strings.TrimSpace(cell)
	case toType:
		row.Type = strings.TrimSpace(cell)
	case toTags:
		row.Tags = splitTags(cell)
	case toTextField:
		row.Fields.Set(api.TextField(to.key, cell))
	case toJSONField:
		if !json.Valid([]byte(cell)) {
			return to.header + " must be JSON"
		}
		row.Fields.Set(api.Field{Key: to.key, Value: json.RawMessage(cell)})
	case toMethods:
		if json.Unmarshal([]byte(cell), &row.Methods) != nil {
			return to.header + " must be a JSON array of receiving methods"
		}
	case toMethod:
		row.putMethod(to.key, strings.TrimSpace(cell))
	case toNowhere:
		if strings.TrimSpace(cell) != "" {
			return fmt.Sprintf("has %q in a column without a header", cell)
		}
	default:
		if p, ok := propertyNamed(string(to.to)); ok {
			if p.Values != nil {
				cell = strings.TrimSpace(cell)
			}
			*p.Update(&row.EntryUpdate) = &cell
		}
	}
	return ""
}

// putMethod stores a property of the line's only receiving method.
func (row *Row) putMethod(name, value string) {
	if len(row.Methods) == 0 {
		row.Methods = make([]api.ReceivingMethodCreate, 1)
	}
	m := &row.Methods[0]
	switch name {
	case "provider":
		m.Provider = value
	case "account_name":
		m.AccountName = value
	case "account_id":
		m.AccountID = value
	case "institution_code":
		m.InstitutionCode = &value
	}
}

// kept leaves out the columns that an earlier import added to refused lines.
func (r *csvReader) kept(cells func(i int) string) (out []string) {
	for i, c := range r.columns {
		if c.header != refusedLine && c.header != refusedReason {
			out = append(out, cells(i))
		}
	}
	return out
}

func (r *csvReader) RefusedHead() []byte {
	return r.line(append(r.kept(func(i int) string { return r.columns[i].header }), refusedLine, refusedReason))
}

func (r *csvReader) Refused(row *Row, reason string) []byte {
	cells := r.kept(func(i int) string {
		switch {
		case i < len(row.cells):
			return row.cells[i]
		case i == 0:
			return row.text
		}
		return ""
	})
	cells = append(cells, strconv.Itoa(row.Line), reason)
	if len(row.cells) > len(r.columns) {
		cells = append(cells, row.cells[len(r.columns):]...) // keep cells that have no header
	}
	return r.line(cells)
}

func (r *csvReader) line(cells []string) []byte {
	var out bytes.Buffer
	w := spreadsheet.NewWriter(&out, r.csv.Comma, r.options.Raw)
	_ = w.Write(cells...) // a buffer never fails
	_ = w.Flush()
	return out.Bytes()
}
