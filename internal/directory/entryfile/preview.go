package entryfile

import (
	"errors"
	"io"
	"slices"
	"strings"

	"bursar/api"
)

// Preview is the beginning of a file, for a person who maps its columns.
type Preview struct {
	Format  string
	Columns []string
	Mapping Mapping // what the columns of a CSV file probably mean
	Rows    [][]string
}

// maxPreviewCell is how many characters of a cell a preview shows.
const maxPreviewCell = 100

// NewPreview reads the first rows of a file. It refuses only files that are not tables: the meaning of columns can still be corrected. A
// given mapping has priority over guesses.
func NewPreview(from io.Reader, o Options, rows int) (Preview, error) {
	in, format, start, err := begin(from, o.Format)
	switch {
	case err != nil:
		return Preview{}, err
	case format == NDJSON:
		return previewNDJSON(&ndjsonReader{in: in, options: o, at: Position{Offset: start}}, rows)
	}
	r, header, err := readHeader(in, o, start)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Format: CSV, Columns: header, Mapping: guess(header, o.Mapping), Rows: [][]string{}}
	r.columns = make([]column, len(header)) // a line with other columns is shown unchanged
	for range rows {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Preview{}, err
		}
		if row.cells == nil {
			row.cells = []string{row.text}
		}
		p.Rows = append(p.Rows, shown(row.cells))
	}
	return p, nil
}

// previewNDJSON returns objects as a table. The names of their members are exact, so no column is guessed.
func previewNDJSON(r *ndjsonReader, rows int) (Preview, error) {
	p := Preview{Format: NDJSON, Columns: []string{}, Mapping: r.options.Mapping, Rows: [][]string{}}
	for range rows {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Preview{}, err
		}
		cells := make([]string, len(p.Columns))
		for _, one := range row.object[:min(len(row.object), maxColumns)] {
			at := slices.Index(p.Columns, one.Key)
			if at < 0 {
				at = len(p.Columns)
				p.Columns, cells = append(p.Columns, one.Key), append(cells, "")
			}
			cells[at] = one.Display()
		}
		if row.object == nil {
			cells = []string{row.text}
		}
		p.Rows = append(p.Rows, shown(cells))
	}
	return p, nil
}

// shown shortens long cells.
func shown(cells []string) []string {
	out := make([]string, min(len(cells), maxColumns))
	for i := range out {
		out[i] = strings.ToValidUTF8(cells[i], "\uFFFD")
		if text := []rune(out[i]); len(text) > maxPreviewCell {
			out[i] = string(text[:maxPreviewCell]) + "…"
		}
	}
	return out
}

// usually contains common names of columns in people's own files.
var usually = map[string][]string{
	"name":                               {"full name", "payee", "payee name", "company", "company name", "employee", "employee name", "supplier", "vendor"},
	"external_id":                        {"external id", "employee id", "employee number", "staff id", "personnel number", "supplier number", "vendor number"},
	"tags":                               {"tag", "groups"},
	string(toMethod) + "account_id":      {"iban", "account", "account number", "account no", "account no.", "bank account", "bank account number"},
	string(toMethod) + "account_name":    {"account name", "account holder", "name on account", "beneficiary"},
	string(toMethod) + "provider":        {"provider", "bank", "bank name"},
	string(toTextField) + api.FieldEmail: {"mail", "email address", "e-mail address"},
	string(toTextField) + api.FieldPhone: {"phone number", "telephone", "tel", "tel.", "mobile", "mobile number", "mobile phone"},

	string(toTextField) + api.FieldFirstName: {"given name", "forename"},
	string(toTextField) + api.FieldLastName:  {"surname", "family name"},
}

// guess returns the probable meaning of the columns of a CSV file. If two columns would mean the same, the later one becomes a field of its
// own name.
func guess(header []string, given Mapping) Mapping {
	out, taken := Mapping{}, map[string]bool{}
	for _, text := range header {
		name := strings.TrimSpace(text)
		to, mapped := given.of(text)
		if mapped == "" && to.name() == string(toTextField)+name {
			plain := strings.NewReplacer("_", " ", "-", " ").Replace(strings.ToLower(name))
			for target, names := range usually {
				if slices.Contains(names, strings.ToLower(name)) || slices.Contains(names, plain) {
					to = columnOf(target)
				}
			}
		}
		if taken[to.name()] && to.name() != "" && mapped == "" {
			to = column{text, toTextField, name}
		}
		taken[to.name()] = true
		if name != "" {
			out[name] = to.name()
		}
	}
	return out
}
