package entryfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bursar/api"
)

// column describes where the values under a header go.
type column struct {
	header string
	to     columnKind
	key    string // of the field
}

// columnKind is one of the constants below, or the name of a text property.
type columnKind string

const (
	toNothing   columnKind = ""
	toID        columnKind = "id"
	toType      columnKind = "type"
	toTags      columnKind = "tags"
	toMethods   columnKind = "receiving_methods"
	toTextField columnKind = "fields."
	toJSONField columnKind = "json."
	toMethod    columnKind = "method." // a property of the line's only receiving method
	toNowhere   columnKind = "?"       // a column without a header, which should be empty
)

// Columns that the file of refused lines adds. Import ignores them.
const (
	refusedLine   = "refused.line"
	refusedReason = "refused.reason"
)

// entryColumns returns the columns for everything of an entry except its fields.
func entryColumns() []columnKind {
	all := []columnKind{toID, toType, toTags, toMethods}
	for _, p := range Properties() {
		all = append(all, columnKind(p.Name))
	}
	return all
}

// name returns the header that means the same without guessing.
func (c column) name() string {
	if c.to == toNowhere {
		return ""
	}
	return string(c.to) + c.key
}

// methodProperties returns the possible texts after "method." in a header.
func methodProperties() []string {
	return []string{"provider", "account_name", "account_id", "institution_code"}
}

// columnOf returns the column of a header. fields.KEY and json.KEY name a field exactly. Any other header is the key of a field; the
// well-known ones may be written in common ways: "First Name", "E-Mail".
func columnOf(header string) column {
	text := strings.TrimSpace(header)
	for _, to := range entryColumns() {
		if strings.EqualFold(text, string(to)) {
			return column{header, to, ""}
		}
	}
	if key, ok := strings.CutPrefix(strings.ToLower(text), string(toMethod)); ok && slices.Contains(methodProperties(), key) {
		return column{header, toMethod, key}
	}
	for _, to := range []columnKind{toTextField, toJSONField} {
		if key, ok := strings.CutPrefix(strings.TrimLeft(header, " \t"), string(to)); ok {
			return column{header, to, key}
		}
	}
	switch text {
	case "":
		return column{header, toNowhere, ""}
	case refusedLine, refusedReason:
		return column{header, toNothing, ""}
	}
	usual := strings.NewReplacer(" ", "-", "_", "-").Replace(strings.ToLower(text))
	if usual == "e-mail" {
		usual = "email"
	}
	if slices.Contains(api.KnownFields(), usual) {
		text = usual
	}
	return column{header, toTextField, text}
}

// Mapping maps headers to columns: the values under a header go to a column by its name, or nowhere if that is empty.
type Mapping map[string]string

// of returns where the values under a header go.
func (m Mapping) of(header string) (to column, mapped string) {
	name := strings.TrimSpace(header)
	target, ok := m[name]
	if ok {
		mapped = name
	}
	for other, to := range m {
		if !ok && strings.EqualFold(strings.TrimSpace(other), name) {
			target, mapped, ok = to, other, true
		}
	}
	switch {
	case !ok:
		return columnOf(header), ""
	case target == "":
		return column{header: header}, mapped
	}
	to = columnOf(target)
	return column{header, to.to, to.key}, mapped
}

// columnsOf reads the header of a CSV file.
func columnsOf(header []string, o Options) ([]column, error) {
	var problems []error
	columns, used, taken := make([]column, len(header)), map[string]bool{}, map[string]string{}
	for i, text := range header {
		to, mapped := o.Mapping.of(text)
		columns[i], used[mapped] = to, true
		if api.IsEmail(strings.TrimSpace(text)) {
			problems = append(problems, fmt.Errorf("the first line must name the columns, but it has %q", text))
		}
		if to.to == toNothing || to.to == toNowhere {
			continue
		}
		place := string(to.to) + to.key
		if to.to == toJSONField {
			place = string(toTextField) + to.key
		}
		if before, twice := taken[place]; twice {
			problems = append(problems, fmt.Errorf("the columns %q and %q both mean %s: leave one of them out by the mapping", before, text, place))
		}
		taken[place] = text
	}
	for mapped := range o.Mapping {
		if !used[mapped] {
			problems = append(problems, fmt.Errorf("the mapping names a column %q, and there are only: %s", mapped, strings.Join(header[:min(len(header), 50)], ", ")))
		}
	}
	_, hasType := taken[string(toType)]
	_, hasID := taken[string(toID)]
	if !hasType && !(hasID && o.IDs) && o.Type == "" && problems == nil {
		problems = append(problems, errors.New("there is no column type, and no default type is given"))
	}
	if problems != nil {
		return nil, errors.Join(problems...)
	}
	return columns, nil
}

// splitTags reads the tags of a cell. They are separated by |. A | or \ that is part of a name is preceded by \.
func splitTags(cell string) []string {
	tags, tag := []string{}, strings.Builder{}
	end := func() {
		if text := strings.TrimSpace(tag.String()); text != "" {
			tags = append(tags, text)
		}
		tag.Reset()
	}
	for i := 0; i < len(cell); i++ {
		switch {
		case cell[i] == '\\' && i+1 < len(cell) && (cell[i+1] == '|' || cell[i+1] == '\\'):
			i++
			tag.WriteByte(cell[i])
		case cell[i] == '|':
			end()
		default:
			tag.WriteByte(cell[i])
		}
	}
	end()
	return tags
}

func joinTags(tags []string) string {
	escape := strings.NewReplacer(`\`, `\\`, `|`, `\|`)
	out := make([]string, len(tags))
	for i, tag := range tags {
		out[i] = escape.Replace(tag)
	}
	return strings.Join(out, "|")
}
