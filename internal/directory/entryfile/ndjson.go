package entryfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"bursar/api"
)

// ndjsonReader reads a file with one JSON object per line: a request to create an entry,
// or an entry as the API returns it.
type ndjsonReader struct {
	in      *bufio.Reader
	options Options
	at      Position
	begun   bool
}

func (r *ndjsonReader) Position() Position { return r.at }

func (r *ndjsonReader) Resume(in io.Reader, at Position) {
	r.in, r.at, r.begun = bufio.NewReaderSize(in, 64<<10), at, true
}

func (r *ndjsonReader) Format() string { return NDJSON }

func (r *ndjsonReader) Next() (*Row, error) {
	for {
		text, err := r.read()
		if err != nil {
			return nil, err
		}
		trimmed := bytes.TrimSpace(text)
		if len(trimmed) == 0 {
			continue
		}
		row := &Row{Line: r.at.Lines}
		if trimmed[0] == '[' && !r.begun {
			return nil, errors.New("the file is a JSON array, but an import needs one object per line: convert it with jq -c '.[]' FILE")
		}
		r.begun = true
		if row.object, err = api.ParseFields(trimmed); err != nil {
			row.text, row.object = strings.ToValidUTF8(string(trimmed), "\uFFFD"), nil
			row.Problem = "cannot be read: " + strings.ReplaceAll(err.Error(), "\n", ": ")
			return row, nil
		}
		row.Problem = r.take(row)
		if row.Type == "" && (row.ID == "" || !r.options.IDs) {
			row.Type = r.options.Type
		}
		return row, nil
	}
}

// read reads one line, up to MaxRow.
func (r *ndjsonReader) read() ([]byte, error) {
	var text []byte
	for {
		piece, err := r.in.ReadSlice('\n')
		r.at.Offset += int64(len(piece))
		text = append(text, piece...)
		switch {
		case len(text) > MaxRow:
			return nil, fmt.Errorf("line %d is larger than 1 MiB", r.at.Lines+1)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(text) > 0, err == nil:
			r.at.Lines++
			return text, nil
		}
		return nil, err
	}
}

// take stores the members of the object.
func (r *ndjsonReader) take(row *Row) (problem string) {
	var moved api.Fields
	for _, one := range row.object {
		to, mapped := r.options.Mapping.of(one.Key)
		switch {
		case mapped != "" && to.to == toNothing || one.Key == refusedLine || one.Key == refusedReason:
			continue
		case mapped != "" && (to.to == toTextField || to.to == toJSONField):
			moved = append(moved, api.Field{Key: to.key, Value: one.Value})
			continue
		}
		name := one.Key
		if mapped != "" {
			name = string(to.to)
		}
		if text := row.member(name, one.Value, r.options.WorkspaceID); text != "" && problem == "" {
			problem = text
		}
	}
	for _, one := range moved {
		row.Fields.Set(one)
	}
	return problem
}

// member stores one member of the object.
func (row *Row) member(name string, value json.RawMessage, workspaceID string) (problem string) {
	var err error
	switch name {
	case "id":
		err = json.Unmarshal(value, &row.ID)
	case "type":
		err = json.Unmarshal(value, &row.Type)
	case "tags":
		if err = json.Unmarshal(value, &row.Tags); err == nil {
			for i, tag := range row.Tags {
				row.Tags[i] = strings.TrimSpace(tag)
			}
		}
	case "fields":
		if string(value) == "null" {
			return ""
		}
		if row.Fields, err = api.ParseFields(value); err != nil {
			return "fields: " + err.Error()
		}
	case "workspace_id":
		var id string
		if err = json.Unmarshal(value, &id); err == nil && id != workspaceID {
			return "is for another workspace, " + id + ": leave workspace_id out by the mapping"
		}
	case "created_at", "updated_at": // the API returns them, but they cannot be set
	case string(toMethods):
		err = json.Unmarshal(value, &row.Methods)
	default:
		if p, ok := propertyNamed(name); ok {
			err = json.Unmarshal(value, p.Update(&row.EntryUpdate))
			break
		}
		return fmt.Sprintf("has an unknown key %q: put it into fields, or say by the mapping where it goes", name)
	}
	if err != nil {
		return name + " has a value of the wrong type"
	}
	return ""
}

func (r *ndjsonReader) RefusedHead() []byte { return nil }

func (r *ndjsonReader) Refused(row *Row, reason string) []byte {
	object := slices.Clone(row.object)
	if row.object == nil {
		object.Set(api.TextField("refused.text", row.text))
	}
	object.Set(api.Field{Key: refusedLine, Value: encoded(row.Line)})
	object.Set(api.TextField(refusedReason, reason))
	return append(encoded(object), '\n')
}
