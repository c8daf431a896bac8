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
)

// ndjsonReader reads a file with one JSON object a line: what the API takes for a
// new entry, or what it tells of one.
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
			return nil, usageError{errors.New("this is a JSON array; an object a line is needed: jq -c '.[]' FILE makes it")}
		}
		if row.object, err = readFields(trimmed); err != nil {
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

// read reads a line of a bounded length.
func (r *ndjsonReader) read() ([]byte, error) {
	var text []byte
	for {
		piece, err := r.in.ReadSlice('\n')
		r.end += int64(len(piece))
		text = append(text, piece...)
		switch {
		case len(text) > maxRow:
			return nil, fmt.Errorf("line %d has more than 1 MiB", r.line+1)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(text) > 0, err == nil:
			r.line++
			return text, nil
		}
		return nil, err
	}
}

// take reads the members of the object.
func (r *ndjsonReader) take(row *importRow) (problem string) {
	var moved fieldList
	for _, one := range row.object {
		to, mapped := r.mapping.of(one.key)
		switch {
		case mapped != "" && to.to == toNothing || one.key == refusedLine || one.key == refusedReason:
			continue
		case mapped != "" && (to.to == toTextField || to.to == toJSONField):
			moved = append(moved, fieldValue{to.key, one.value})
			continue
		}
		name := one.key
		if mapped != "" {
			name = string(to.to)
		}
		if text := row.member(name, one.value, r.workspaceID); text != "" && problem == "" {
			problem = text
		}
	}
	for _, one := range moved {
		row.fields.set(one)
	}
	return problem
}

// member puts a member of an object where it belongs.
func (row *importRow) member(name string, value json.RawMessage, workspaceID string) (problem string) {
	var err error
	switch name {
	case "id":
		err = json.Unmarshal(value, &row.id)
	case "type":
		err = json.Unmarshal(value, &row.kind)
	case "label":
		err = json.Unmarshal(value, &row.label)
	case "name":
		err = json.Unmarshal(value, &row.name)
	case "status":
		err = json.Unmarshal(value, &row.status)
	case "tags":
		if err = json.Unmarshal(value, &row.tags); err == nil {
			for i, tag := range row.tags {
				row.tags[i] = strings.TrimSpace(tag)
			}
		}
	case "fields":
		if string(value) == "null" {
			return ""
		}
		if row.fields, err = readFields(value); err != nil {
			return "fields: " + err.Error()
		}
	case "workspace_id":
		var id string
		if err = json.Unmarshal(value, &id); err == nil && id != workspaceID {
			return "is for another workspace, " + id + ": leave that out with --map workspace_id="
		}
	case "created_at", "updated_at": // of what the API tells; nobody can set them
	case "receiving_methods":
		if text := string(value); text != "null" && text != "[]" {
			return "has receiving methods, which are not imported: leave them out with --map receiving_methods="
		}
	default:
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
		object.set(fieldValue{"refused.text", quoted(row.text)})
	}
	object.set(fieldValue{refusedLine, encoded(row.line)})
	object.set(fieldValue{refusedReason, quoted(reason)})
	_, err := w.out.Write(append(encoded(object), '\n'))
	return err
}

func (w *ndjsonRefusals) flush() error { return w.out.Flush() }
