package entryfile

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/spreadsheet"
)

// maxColumns is the greatest number of columns of a CSV file.
const maxColumns = 2000

// Columns are the fields with a column in a CSV file. They must all be known before its first line is written.
type Columns struct {
	chosen bool
	keys   []string
	json   map[string]bool // by key: whether the column contains JSON
}

// NewColumns returns columns for some fields in their order, or for all fields that occur if the list is nil.
func NewColumns(chosen []string) *Columns {
	c := &Columns{json: map[string]bool{}}
	for _, key := range chosen {
		c.add(key)
	}
	c.chosen = chosen != nil
	return c
}

func (c *Columns) add(key string) {
	if _, known := c.json[key]; !known && !c.chosen {
		c.keys = append(c.keys, key)
		c.json[key] = false
	}
}

// Add adds columns for the fields of an entry.
func (c *Columns) Add(fields api.Fields) error {
	for _, one := range fields {
		if strings.ContainsRune(one.Key, '\r') {
			return fmt.Errorf("has a field whose name CSV cannot hold: use %s", NDJSON)
		}
		c.add(one.Key)
		if _, wanted := c.json[one.Key]; wanted && !plain(one) {
			c.json[one.Key] = true
		}
	}
	if len(c.keys) > maxColumns/2 {
		return fmt.Errorf("has more than %d different fields: choose some, or use %s", maxColumns/2, NDJSON)
	}
	return nil
}

// plain reports whether a field is a text that a cell can hold unchanged. An empty cell means that there is no value, and CSV does not keep
// carriage returns.
func plain(field api.Field) bool {
	text, ok := field.Text()
	return ok && text != "" && !strings.ContainsRune(text, '\r')
}

// order sorts the columns, the well-known ones first, unless the caller chose them. So the same entries always produce the same file.
func (c *Columns) order() {
	if c.chosen {
		return
	}
	rank := func(key string) int {
		if i := slices.Index(api.KnownFields(), key); i >= 0 {
			return i
		}
		return len(api.KnownFields())
	}
	slices.SortFunc(c.keys, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b)) })
}

// Writer writes entries to a file.
type Writer interface {
	Write(e *api.Entry) error
	Flush() error
}

type csvWriter struct {
	out     *spreadsheet.Writer
	columns *Columns
	methods bool
}

// NewCSVWriter returns a Writer of a CSV file, and writes its header. methods adds a column for the receiving methods.
func NewCSVWriter(to io.Writer, c *Columns, comma rune, raw, methods bool) (Writer, error) {
	c.order()
	w := &csvWriter{spreadsheet.NewWriter(to, comma, raw), c, methods}
	header := []string{string(toID), string(toType)}
	for _, p := range Properties() {
		header = append(header, p.Name)
	}
	header = append(header, string(toTags))
	if methods {
		header = append(header, string(toMethods))
	}
	for _, key := range c.keys {
		prefix := string(toTextField)
		if c.json[key] {
			prefix = string(toJSONField)
		}
		header = append(header, prefix+key)
	}
	return w, w.out.Write(header...)
}

func (w *csvWriter) Write(e *api.Entry) error {
	cells := []string{e.ID, e.Type}
	for _, p := range Properties() {
		cells = append(cells, *p.Of(e))
	}
	cells = append(cells, joinTags(e.Tags))
	if w.methods {
		cell := ""
		if e.ReceivingMethods != nil && len(*e.ReceivingMethods) > 0 {
			cell = string(encoded(methodsOf(e)))
		}
		cells = append(cells, cell)
	}
	for _, key := range w.columns.keys {
		if w.columns.json[key] {
			one, _ := e.Fields.Get(key)
			cells = append(cells, string(one.Value))
		} else {
			cells = append(cells, e.Fields.Text(key))
		}
	}
	return w.out.Write(cells...)
}

func (w *csvWriter) Flush() error { return w.out.Flush() }

// methodsOf leaves out the ids of receiving methods: an import of them creates new ones.
func methodsOf(e *api.Entry) []api.ReceivingMethodCreate {
	out := make([]api.ReceivingMethodCreate, len(*e.ReceivingMethods))
	for i, m := range *e.ReceivingMethods {
		out[i] = api.ReceivingMethodCreate{Provider: m.Provider, AccountName: m.AccountName, AccountID: m.AccountID, IsDefault: m.IsDefault}
		if m.InstitutionCode != "" {
			out[i].InstitutionCode = &m.InstitutionCode
		}
	}
	return out
}

type ndjsonWriter struct{ out io.Writer }

// NewNDJSONWriter returns a Writer of a file with one JSON object per line.
func NewNDJSONWriter(to io.Writer) Writer { return ndjsonWriter{to} }

func (w ndjsonWriter) Write(e *api.Entry) error {
	out := api.Fields{api.TextField("id", e.ID), api.TextField("type", e.Type)}
	for _, p := range Properties() {
		if text := *p.Of(e); text != "" {
			out = append(out, api.TextField(p.Name, text))
		}
	}
	out = append(out, api.Field{Key: string(toTags), Value: encoded(e.Tags)}, api.Field{Key: "fields", Value: encoded(e.Fields)})
	if e.ReceivingMethods != nil {
		out = append(out, api.Field{Key: string(toMethods), Value: encoded(methodsOf(e))})
	}
	_, err := w.out.Write(append(out.AppendJSON(nil), '\n'))
	return err
}

func (w ndjsonWriter) Flush() error { return nil }

// Only returns the fields with the given keys, in the order of the keys.
func Only(f api.Fields, keys []string) api.Fields {
	out := api.Fields{}
	for _, key := range keys {
		if one, ok := f.Get(key); ok {
			out = append(out, one)
		}
	}
	return out
}
