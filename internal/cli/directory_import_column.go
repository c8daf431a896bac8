package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/cli/term"
)

// column says where the values under a header go.
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
	toTextField columnKind = "fields."
	toJSONField columnKind = "json."
	toNowhere   columnKind = "?" // a column without a header, which should be empty
)

// Columns that the file of refused lines adds. Import ignores them.
const (
	refusedLine   = "refused.line"
	refusedReason = "refused.reason"
)

// entryColumns are the columns for everything of an entry except its fields.
func entryColumns() []columnKind {
	all := []columnKind{toID, toType, toTags}
	for _, p := range textProperties() {
		all = append(all, columnKind(p.name))
	}
	return all
}

// columnOf says what a header means. fields.KEY and json.KEY name a field exactly. Any
// other header is the key of a field; the well-known ones may be written as people write
// them: "First Name", "E-Mail".
func columnOf(header string) column {
	text := strings.TrimSpace(header)
	for _, to := range entryColumns() {
		if strings.EqualFold(text, string(to)) {
			return column{header, to, ""}
		}
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

// mapping is what --map says: a header and where its values go.
type mapping map[string]column

func parseMapping(given []string) (mapping, error) {
	out := mapping{}
	for _, text := range given {
		at := strings.LastIndex(text, "=")
		if at <= 0 {
			return nil, term.Usagef("--map must be HEADER=COLUMN, or HEADER= to leave a column out, not %q", text)
		}
		header := strings.TrimSpace(text[:at])
		if _, twice := out[header]; twice {
			return nil, term.Usagef("--map says twice where %q goes", header)
		}
		to := column{header: header}
		if text[at+1:] != "" {
			to = columnOf(text[at+1:])
		}
		out[header] = to
	}
	return out, nil
}

// of returns where the values under a header go.
func (m mapping) of(header string) (to column, mapped string) {
	name := strings.TrimSpace(header)
	if to, ok := m[name]; ok {
		return column{header, to.to, to.key}, name
	}
	for mapped, to := range m {
		if strings.EqualFold(mapped, name) {
			return column{header, to.to, to.key}, mapped
		}
	}
	return columnOf(header), ""
}

// columnsOf reads the header of a CSV file.
func columnsOf(header []string, m mapping, defaultType string) ([]column, error) {
	var problems []error
	columns, used, taken := make([]column, len(header)), map[string]bool{}, map[string]string{}
	for i, text := range header {
		to, mapped := m.of(text)
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
			problems = append(problems, fmt.Errorf("the columns %q and %q both mean %s: leave one out with --map %q", before, text, place, text+"="))
		}
		taken[place] = text
	}
	for mapped := range m {
		if !used[mapped] {
			problems = append(problems, fmt.Errorf("--map names a column %q, and there are only: %s", mapped, strings.Join(header, ", ")))
		}
	}
	_, hasType := taken[string(toType)]
	_, hasID := taken[string(toID)]
	if !hasType && !hasID && defaultType == "" && problems == nil {
		problems = append(problems, errors.New("there is no column type: use --type person or --type organization"))
	}
	if problems != nil {
		return nil, term.Usage(errors.Join(problems...))
	}
	return columns, nil
}

// splitTags reads the tags of a cell. They are separated by |; a | or \ that is part of a
// name has a \ before it.
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
