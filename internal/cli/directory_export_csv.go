package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/spreadsheet"
)

// csvEntries writes entries as CSV. It knows only at the end which columns there are.
type csvEntries struct {
	to     io.Writer
	comma  rune
	raw    bool     // for machines: nothing is escaped
	chosen []string // fields; nil for all
	whole  bool     // with names and tags
	spool  *spool
	keys   []string
	json   map[string]bool // by key: whether the column contains JSON
}

// maxColumns is the maximum number of different fields in a file.
const maxColumns = 2000

func (w *csvEntries) write(e *api.Entry) error {
	if w.json == nil {
		w.json = map[string]bool{}
		for _, key := range w.chosen {
			w.column(key)
		}
	}
	for _, one := range e.Fields {
		if strings.ContainsRune(one.Key, '\r') {
			return fmt.Errorf("%s has a field whose name CSV cannot hold: use --format %s", e.ID, formatNDJSON)
		}
		w.column(one.Key)
		if !plain(one) {
			w.json[one.Key] = true
		}
	}
	if len(w.keys) > maxColumns {
		return fmt.Errorf("the entries have more than %d different fields: choose some with --fields, or use --format %s", maxColumns, formatNDJSON)
	}
	return w.spool.add(e)
}

func (w *csvEntries) column(key string) {
	if _, known := w.json[key]; !known {
		w.keys = append(w.keys, key)
		w.json[key] = false
	}
}

// plain says whether a field is a text that a cell can hold as it is: an empty cell
// means that there is no value, and CSV does not keep carriage returns.
func plain(field api.Field) bool {
	text, ok := field.Text()
	return ok && text != "" && !strings.ContainsRune(text, '\r')
}

// properties returns the properties that have a column.
func (w *csvEntries) properties() []textProperty {
	return slices.DeleteFunc(textProperties(), func(p textProperty) bool { return !w.whole && !p.listed })
}

// order sorts the columns, the well-known ones first, unless the caller chose them:
// the same entries always give the same file.
func (w *csvEntries) order() {
	if w.chosen != nil {
		return
	}
	rank := func(key string) int {
		if i := slices.Index(api.KnownFields(), key); i >= 0 {
			return i
		}
		return len(api.KnownFields())
	}
	slices.SortFunc(w.keys, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b)) })
}

func (w *csvEntries) finish() error {
	w.order()
	out := spreadsheet.NewWriter(w.to, w.comma, w.raw)
	header := []string{string(toID), string(toType)}
	for _, p := range w.properties() {
		header = append(header, p.name)
	}
	if w.whole {
		header = append(header, string(toTags))
	}
	for _, key := range w.keys {
		prefix := string(toTextField)
		if w.json[key] {
			prefix = string(toJSONField)
		}
		header = append(header, prefix+key)
	}
	if err := out.Write(header...); err != nil {
		return err
	}
	err := w.spool.each(func(e *api.Entry) error { return out.Write(w.row(e)...) })
	if err != nil {
		return err
	}
	return out.Flush()
}

func (w *csvEntries) row(e *api.Entry) []string {
	cells := []string{e.ID, e.Type}
	for _, p := range w.properties() {
		cells = append(cells, p.get(e))
	}
	if w.whole {
		cells = append(cells, joinTags(e.Tags))
	}
	for _, key := range w.keys {
		if w.json[key] {
			one, _ := e.Fields.Get(key)
			cells = append(cells, string(one.Value))
		} else {
			cells = append(cells, e.Fields.Text(key))
		}
	}
	return cells
}
