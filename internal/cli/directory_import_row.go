package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bursar/api"
	"bursar/client"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// importRow is an entry as a file has it. What is nil or empty is not there.
type importRow struct {
	number int   // from 1, without the header and empty lines
	line   int   // of the file
	end    int64 // where it ends in the file

	cells  []string // of a CSV file, as they were read
	object fieldList
	text   string // of a line that cannot be read at all

	problem string // why it cannot be imported

	id, kind            string
	label, name, status *string
	tags                []string
	fields              fieldList
}

// rowReader reads a file row by row; io.EOF ends it.
type rowReader interface {
	next() (*importRow, error)
	refusals() refusalWriter
}

const (
	maxLabel       = 200
	maxEntryTags   = 32
	maxTagName     = 64
	maxEntryFields = 64
	maxFieldBytes  = 16 << 10
)

// check says what is wrong with a row, as far as that can be told without a server.
func (r *importRow) check() string {
	if r.problem != "" {
		return r.problem
	}
	if r.id == "" && r.label == nil && r.name == nil && len(r.fields) == 0 {
		return "says nothing about whom it is: it has no label, no name and no field"
	}
	var v fault.Violations
	if r.kind == "" && r.id == "" {
		v.Add("type", "is missing: fill the column, or give --type")
	}
	if r.kind != "" {
		web.CheckOneOf(&v, "type", &r.kind, entryTypes()...)
	}
	web.CheckOneOf(&v, "status", r.status, entryStatuses()...)
	web.CheckOptionalText(&v, "label", r.label, 1, maxLabel)
	web.CheckOptionalText(&v, "name", r.name, 1, maxLabel)
	if len(r.tags) > maxEntryTags {
		v.Add("tags", fmt.Sprintf("must have at most %d elements", maxEntryTags))
	}
	for _, tag := range r.tags {
		web.CheckText(&v, "tags", tag, 1, maxTagName)
	}
	r.fields.check(&v)
	if err := v.Err(); err != nil {
		return plainText(err)
	}
	return ""
}

func (f fieldList) check(v *fault.Violations) {
	if len(f) > maxEntryFields {
		v.Add("fields", fmt.Sprintf("must have at most %d keys", maxEntryFields))
	}
	if i := f.at("email"); i >= 0 && string(f[i].value) != "null" {
		var email string
		if json.Unmarshal(f[i].value, &email) != nil || !web.IsEmail(email) {
			v.Add("fields.email", web.EmailRule)
		}
	}
	size := 2
	for _, one := range f {
		size += len(quoted(one.key)) + len(one.value) + 2
	}
	if size-1 > maxFieldBytes && len(f) > 0 {
		v.Add("fields", fmt.Sprintf("must be at most %d bytes of JSON", maxFieldBytes))
	}
}

// body is the row as the API takes a new entry. The bytes are the same whenever
// the row is.
func (r *importRow) body(workspaceID string) json.RawMessage {
	return encoded(struct {
		WorkspaceID string    `json:"workspace_id"`
		Type        string    `json:"type"`
		Fields      fieldList `json:"fields"`
		Name        *string   `json:"name,omitzero"`
		Tags        []string  `json:"tags,omitempty"`
		Label       *string   `json:"label,omitzero"`
	}{workspaceID, r.kind, r.fields, r.name, r.tags, r.label})
}

// content is all that a row says.
func (r *importRow) content() []byte {
	return encoded(struct {
		ID, Problem string
		Status      *string
		NoTags      bool
		Body        json.RawMessage
	}{r.id, r.problem + r.text, r.status, r.tags != nil && len(r.tags) == 0, r.body("")})
}

func encoded(value any) json.RawMessage {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return json.RawMessage(fmt.Sprintf("%q", err.Error())) // a value that is not JSON was refused before
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}

// mark is a short digest of what a row says, by which a changed file is noticed.
func (r *importRow) mark() string {
	sum := sha256.Sum256(r.content())
	return hex.EncodeToString(sum[:8])
}

// key is the idempotency key of a new entry: whoever imports the same row of the
// same file into the same workspace again within a day makes nothing.
func (r *importRow) key(workspaceID, salt string) string {
	h := sha256.New()
	for _, part := range []string{"bursar directory import", workspaceID, salt} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	_ = binary.Write(h, binary.BigEndian, int64(r.number)) // a hash takes everything
	h.Write(r.content())
	return "import-" + hex.EncodeToString(h.Sum(nil))
}

// called is what people know the row by.
func (r *importRow) called() string {
	names := []string{r.fields.text("name"), strings.TrimSpace(r.fields.text("first-name") + " " + r.fields.text("last-name")),
		r.fields.text("email"), r.fields.text("phone"), r.id}
	for _, name := range []*string{r.name, r.label} {
		if name != nil {
			names = append([]string{*name}, names...)
		}
	}
	for _, name := range names {
		if name != "" {
			return name
		}
	}
	return "Unnamed " + r.kind
}

// difference is what an update has to send, and what people read about it.
func (r *importRow) difference(e *api.Entry) (p client.EntryUpdateParams, changes []string, err error) {
	text := func(name string, want *string, have string) *string {
		if want == nil || *want == have {
			return nil
		}
		changes = append(changes, name)
		return want
	}
	p.Label, p.Name, p.Status = text("label", r.label, e.Label), text("name", r.name, e.Name), text("status", r.status, e.Status)
	if r.tags != nil && !sameTags(r.tags, e.Tags) {
		p.Tags = r.tags
		changes = append(changes, "tags")
	}
	have, err := readFields(e.Fields)
	if err != nil {
		return p, nil, fmt.Errorf("read the fields of %s: %w", e.ID, err)
	}
	var other fieldList
	for _, one := range r.fields {
		i := have.at(one.key)
		if i < 0 && string(one.value) == "null" || i >= 0 && sameJSON(one.value, have[i].value) {
			continue
		}
		other = append(other, one)
		changes = append(changes, "fields."+one.key)
	}
	if other != nil {
		p.Fields = other
	}
	return p, changes, nil
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

func sameJSON(a, b json.RawMessage) bool {
	var one, other string
	if a[0] == '"' && json.Unmarshal(a, &one) == nil && b[0] == '"' && json.Unmarshal(b, &other) == nil {
		return one == other // however it was escaped
	}
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
