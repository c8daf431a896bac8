package cli

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// csvEntries writes entries as CSV. Which columns there are is known at the end.
type csvEntries struct {
	to     io.Writer
	comma  rune
	chosen []string // fields; nil for all
	whole  bool     // with names and tags
	spool  *spool
	keys   []string
	json   map[string]bool // by key: whether its column holds JSON
}

// maxColumns bounds how many different fields a file can have.
const maxColumns = 2000

func (w *csvEntries) write(e *exportedEntry) error {
	if w.json == nil {
		w.json = map[string]bool{}
		for _, key := range w.chosen {
			w.column(key)
		}
	}
	for _, one := range e.Fields {
		if strings.ContainsRune(one.key, '\r') {
			return fmt.Errorf("%s has a field whose name CSV cannot hold: use --format %s", e.ID, formatNDJSON)
		}
		w.column(one.key)
		if !plain(one.value) {
			w.json[one.key] = true
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

// plain says whether a value is a text that a cell can hold as it is: an empty cell
// means no value, and CSV makes one line break of another.
func plain(value json.RawMessage) bool {
	var text string
	return len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) == nil && text != "" && !strings.ContainsRune(text, '\r')
}

// order sorts the columns, the well-known first, unless they were chosen: the same
// entries make the same file.
func (w *csvEntries) order() {
	if w.chosen != nil {
		return
	}
	rank := func(key string) int {
		if i := slices.Index([]string{"name", "first-name", "last-name", "email", "phone", "industry"}, key); i >= 0 {
			return i
		}
		return len(w.keys) + 6
	}
	slices.SortFunc(w.keys, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b)) })
}

func (w *csvEntries) finish() error {
	w.order()
	out := csv.NewWriter(w.to)
	out.Comma = w.comma
	header := []string{"id", "type", "label", "status"}
	if w.whole {
		header = []string{"id", "type", "label", "name", "status", "tags"}
	}
	for _, key := range w.keys {
		prefix := string(toTextField)
		if w.json[key] {
			prefix = string(toJSONField)
		}
		header = append(header, prefix+key)
	}
	if err := out.Write(header); err != nil {
		return err
	}
	err := w.spool.each(func(e *exportedEntry) error { return out.Write(w.row(e)) })
	if err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

func (w *csvEntries) row(e *exportedEntry) []string {
	cells := []string{e.ID, e.Type, e.Label, e.Status}
	if w.whole {
		cells = []string{e.ID, e.Type, e.Label, e.Name, e.Status, joinTags(e.Tags)}
	}
	for _, key := range w.keys {
		i := e.Fields.at(key)
		switch {
		case i < 0:
			cells = append(cells, "")
		case w.json[key]:
			cells = append(cells, string(e.Fields[i].value))
		default:
			cells = append(cells, e.Fields.text(key))
		}
	}
	return cells
}
