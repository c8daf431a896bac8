package entryfile

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"bursar/api"
)

// Row is a line of a file and the entry that it describes.
type Row struct {
	Line    int    // in the file, where the row begins
	Problem string // why it cannot be imported, if the file alone shows that

	ID, Type string // empty if the row has none
	api.EntryUpdate
	Methods []api.ReceivingMethodCreate // the entry's receiving methods

	cells  []string   // of a CSV file, as read
	object api.Fields // of an NDJSON file
	text   string     // of a line that cannot be read at all
}

// Create returns the request that creates the entry. The status is not among it.
func (r *Row) Create(workspaceID string) api.EntryCreate {
	e := api.EntryCreate{WorkspaceID: workspaceID, Type: r.Type, Fields: r.Fields, Tags: r.Tags}
	for _, p := range Properties() {
		if p.Create != nil {
			*p.Create(&e) = *p.Update(&r.EntryUpdate)
		}
	}
	return e
}

// SaysNothing reports whether a row does not identify an entry.
func (r *Row) SaysNothing() bool {
	return r.Label == nil && r.Name == nil && r.ExternalID == nil && len(r.Fields) == 0
}

// Called returns the best name of a row for messages.
func (r *Row) Called() string {
	names := slices.Collect(r.Fields.Names())
	for _, name := range []*string{r.Name, r.Label} {
		if name != nil {
			names = slices.Insert(names, 0, *name)
		}
	}
	for _, name := range append(names, r.ID, r.text, strings.Join(r.cells, " ")) {
		if name = strings.TrimSpace(name); name != "" {
			return name
		}
	}
	return "Unnamed " + r.Type
}

// Difference returns the changes that an update of the entry has to make, and a description of them for people. The tags of the entry must
// be known if the row has some.
func (r *Row) Difference(e *api.Entry) (change api.EntryUpdate, changes []string) {
	for _, p := range Properties() {
		if want := *p.Update(&r.EntryUpdate); want != nil && *want != *p.Of(e) {
			*p.Update(&change) = want
			changes = append(changes, p.Name)
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

// sameJSON compares values regardless of their spacing, and texts regardless of their escapes.
func sameJSON(a, b api.Field) bool {
	if one, ok := a.Text(); ok {
		other, ok := b.Text()
		return ok && one == other
	}
	var x, y bytes.Buffer
	return json.Compact(&x, a.Value) == nil && json.Compact(&y, b.Value) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// encoded encodes a value as JSON. It is for values that cannot fail.
func encoded(value any) json.RawMessage {
	out, err := api.EncodeJSON(value)
	if err != nil {
		return api.AppendString(nil, err.Error()) // the reader has refused values that are not JSON
	}
	return out
}

// What matches a row with an existing entry.
const (
	MatchID       = "id"
	MatchExternal = "external_id"
	MatchEmail    = "email"
	MatchPhone    = "phone"
	MatchAccount  = "account"
)

// Matches lists what can match a row with an existing entry.
func Matches() []string {
	return []string{MatchID, MatchExternal, MatchEmail, MatchPhone, MatchAccount}
}

// What is done with a row that matches an existing entry.
const (
	OnMatchUpdate = "update"
	OnMatchSkip   = "skip"
	OnMatchRefuse = "refuse"
)

// OnMatches lists what can be done with a row that matches an existing entry.
func OnMatches() []string { return []string{OnMatchUpdate, OnMatchSkip, OnMatchRefuse} }

// The results of a row.
const (
	Created   = "created"
	Updated   = "updated"
	Unchanged = "unchanged"
	Refused   = "refused"
)
