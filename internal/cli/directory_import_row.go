package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/directory"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// importRow is a row of a file and the entry that it describes.
type importRow struct {
	number int   // from 1, without the header and empty lines
	line   int   // of the file
	end    int64 // where it ends in the file

	cells  []string   // of a CSV file, as they were read
	object api.Fields // of an NDJSON file
	text   string     // of a line that cannot be read at all

	problem string // why it cannot be imported

	id, kind string // empty if the row does not tell
	api.EntryUpdate
}

// rowReader reads a file row by row; io.EOF ends it.
type rowReader interface {
	next() (*importRow, error)
	refusals() refusalWriter
}

// create returns the request that creates the entry.
func (r *importRow) create(workspaceID string) api.EntryCreate {
	e := api.EntryCreate{WorkspaceID: workspaceID, Type: r.kind, Fields: r.Fields, Tags: r.Tags}
	for _, p := range textProperties() {
		if p.create != nil {
			*p.create(&e) = *p.update(&r.EntryUpdate)
		}
	}
	return e
}

// check says what is wrong with a row, by the rules of the server.
func (r *importRow) check() string {
	if r.problem != "" {
		return r.problem
	}
	if r.id == "" && r.Label == nil && r.Name == nil && len(r.Fields) == 0 {
		return "does not say who it is: it has no label, no name and no fields"
	}
	var v fault.Violations
	if r.kind == "" && r.id == "" {
		v.Add("type", "is missing: fill the column, or give --type")
	}
	if r.kind != "" {
		web.CheckOneOf(&v, "type", &r.kind, api.EntryTypes()...)
	}
	in := directory.UpdateInput{EntryUpdate: r.EntryUpdate}
	in.Validate(&v)
	if err := v.Err(); err != nil {
		return plainText(err)
	}
	return ""
}

// content encodes everything that a row says: equal rows have equal content.
func (r *importRow) content() []byte {
	return encoded(struct {
		ID, Problem string
		Status      *string
		NoTags      bool
		Body        api.EntryCreate
	}{r.id, r.problem + r.text, r.Status, r.Tags != nil && len(r.Tags) == 0, r.create("")})
}

// encoded encodes a value as JSON. It is for values that cannot fail.
func encoded(value any) json.RawMessage {
	out, err := api.EncodeJSON(value)
	if err != nil {
		return api.AppendString(nil, err.Error()) // the reader has refused values that are not JSON
	}
	return out
}

// mark is a short digest of what a row says, which shows that a file has changed.
func (r *importRow) mark() string {
	sum := sha256.Sum256(r.content())
	return hex.EncodeToString(sum[:8])
}

// key is the idempotency key of a new entry: importing the same row of the same file
// into the same workspace again within a day creates nothing.
func (r *importRow) key(workspaceID, salt string) string {
	h := sha256.New()
	for _, part := range []string{"bursar directory import", workspaceID, salt} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	_ = binary.Write(h, binary.BigEndian, int64(r.number)) // writing to a hash never fails
	h.Write(r.content())
	return "import-" + hex.EncodeToString(h.Sum(nil))
}

// called returns the best name for a row in messages.
func (r *importRow) called() string {
	names := slices.Collect(r.Fields.Names())
	for _, name := range []*string{r.Name, r.Label} {
		if name != nil {
			names = slices.Insert(names, 0, *name)
		}
	}
	for _, name := range append(names, r.id) {
		if name = strings.TrimSpace(name); name != "" {
			return name
		}
	}
	return "Unnamed " + r.kind
}

// difference returns what an update has to send, and what people read about it.
func (r *importRow) difference(e *api.Entry) (change api.EntryUpdate, changes []string) {
	for _, p := range textProperties() {
		if want := *p.update(&r.EntryUpdate); want != nil && *want != p.get(e) {
			*p.update(&change) = want
			changes = append(changes, p.name)
		}
	}
	if r.Tags != nil && !sameTags(r.Tags, e.Tags) {
		change.Tags = r.Tags
		changes = append(changes, "tags")
	}
	for _, one := range r.Fields {
		have, ok := e.Fields.Get(one.Key)
		if !ok && one.IsNull() || ok && sameJSON(one, have) {
			continue
		}
		change.Fields = append(change.Fields, one)
		changes = append(changes, "fields."+one.Key)
	}
	return change, changes
}

func sameTags(a, b []string) bool {
	sorted := func(tags []string) []string {
		out := make([]string, len(tags))
		for i, tag := range tags {
			out[i] = strings.ToLower(strings.TrimSpace(tag))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	return slices.Equal(sorted(a), sorted(b))
}

// sameJSON compares values however they are spaced, and texts however they are
// escaped.
func sameJSON(a, b api.Field) bool {
	if one, ok := a.Text(); ok {
		other, ok := b.Text()
		return ok && one == other
	}
	var x, y bytes.Buffer
	return json.Compact(&x, a.Value) == nil && json.Compact(&y, b.Value) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
