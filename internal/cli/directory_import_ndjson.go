package cli

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
	"bursar/internal/cli/term"
)

// ndjsonReader reads a file with one JSON object per line: a request to create an entry,
// or an entry as the API returns it.
type ndjsonReader struct {
	in          *bufio.Reader
	mapping     mapping
	defaultType string
	workspaceID string
	number      int
	line        int
	end         int64
}

func (r *ndjsonReader) next() (*importRow, error) {
	for {
		text, err := r.read()
		if err != nil {
			return nil, err
		}
		trimmed := bytes.TrimSpace(text)
		if len(trimmed) == 0 {
			continue
		}
		r.number++
		row := &importRow{number: r.number, line: r.line, end: r.end}
		if trimmed[0] == '[' && r.number == 1 {
			return nil, term.Usagef("the file is a JSON array, but import needs one object per line: convert it with jq -c '.[]' FILE")
		}
		if row.object, err = api.ParseFields(trimmed); err != nil {
			row.text, row.object, row.problem = strings.ToValidUTF8(string(trimmed), "\uFFFD"), nil, "cannot be read: "+strings.ReplaceAll(err.Error(), "\n", ": ")
			return row, nil
		}
		row.problem = r.take(row)
		if row.kind == "" && row.id == "" {
			row.kind = r.defaultType
		}
		return row, nil
	}
}

// read reads one line, up to maxRow.
func (r *ndjsonReader) read() ([]byte, error) {
	var text []byte
	for {
		piece, err := r.in.ReadSlice('\n')
		r.end += int64(len(piece))
		text = append(text, piece...)
		switch {
		case len(text) > maxRow:
			return nil, fmt.Errorf("line %d is larger than 1 MiB", r.line+1)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(text) > 0, err == nil:
			r.line++
			return text, nil
		}
		return nil, err
	}
}

// take stores the members of the object.
func (r *ndjsonReader) take(row *importRow) (problem string) {
	var moved api.Fields
	for _, one := range row.object {
		to, mapped := r.mapping.of(one.Key)
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
		if text := row.member(name, one.Value, r.workspaceID); text != "" && problem == "" {
			problem = text
		}
	}
	for _, one := range moved {
		row.Fields.Set(one)
	}
	return problem
}

// member stores one member of the object.
func (row *importRow) member(name string, value json.RawMessage, workspaceID string) (problem string) {
	var err error
	switch name {
	case "id":
		err = json.Unmarshal(value, &row.id)
	case "type":
		err = json.Unmarshal(value, &row.kind)
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
			return "is for another workspace, " + id + ": leave that out with --map workspace_id="
		}
	case "created_at", "updated_at": // the API returns them, but nobody can set them
	case "receiving_methods":
		if text := string(value); text != "null" && text != "[]" {
			return "has receiving methods, which are not imported: leave them out with --map receiving_methods="
		}
	default:
		if p, ok := propertyNamed(name); ok {
			err = json.Unmarshal(value, p.update(&row.EntryUpdate))
			break
		}
		return fmt.Sprintf("has an unknown key %q: put it into fields, or say with --map where it goes", name)
	}
	if err != nil {
		return name + " has a value of the wrong type"
	}
	return ""
}

func (r *ndjsonReader) refusals() refusalWriter { return &ndjsonRefusals{} }

type ndjsonRefusals struct{ out *bufio.Writer }

func (w *ndjsonRefusals) extension() string { return ".ndjson" }

func (w *ndjsonRefusals) begin(to io.Writer) error {
	w.out = bufio.NewWriter(to)
	return nil
}

func (w *ndjsonRefusals) write(row *importRow, reason string) error {
	object := slices.Clone(row.object)
	if row.object == nil {
		object.Set(api.TextField("refused.text", row.text))
	}
	object.Set(api.Field{Key: refusedLine, Value: encoded(row.line)})
	object.Set(api.TextField(refusedReason, reason))
	_, err := w.out.Write(append(encoded(object), '\n'))
	return err
}

func (w *ndjsonRefusals) flush() error { return w.out.Flush() }
