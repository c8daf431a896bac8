package server_test

import (
	"encoding/json"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"bursar/api"
)

type modelEntry struct {
	id, kind, name, label, status string // label is empty unless it was sent
	fields                        modelFields
	tags                          []*modelTag
	methods                       []*api.ReceivingMethod
	deleted                       bool
	revealed                      bool // the log tells that its account numbers were shown, and tells it once an hour
}

// modelFields is an object whose keys have an order: pairs of name and JSON.
type modelFields [][2]string

func (f modelFields) text() string {
	var pairs []string
	for _, pair := range f {
		pairs = append(pairs, `"`+pair[0]+`":`+pair[1])
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// str is the text of a key, if it is one.
func (f modelFields) str(name string) (text string) {
	for _, pair := range f {
		if pair[0] == name && strings.HasPrefix(pair[1], `"`) {
			text = strings.Trim(pair[1], `"`)
		}
	}
	return text
}

// shown is the label as the contract derives it.
func (e *modelEntry) shown() string {
	full := strings.TrimSpace(e.fields.str("first-name") + " " + e.fields.str("last-name"))
	for _, label := range []string{e.label, e.name, e.fields.str("name"), full, e.fields.str("email"), e.fields.str("phone")} {
		if label != "" {
			return label
		}
	}
	return "Unnamed " + e.kind
}

func (e *modelEntry) tagNames() []string {
	names := []string{}
	for _, tag := range e.tags {
		names = append(names, tag.name)
	}
	return slices.Sorted(slices.Values(names))
}

func drawFields(rt *rapid.T) modelFields {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"name", "email", "first-name", "last-name", "phone", "note"}), 0, 4, rapid.ID[string]).Draw(rt, "keys")
	var fields modelFields
	for _, name := range names {
		values := []string{`"Ada"`, `"Grace"`, `1.50`, `{"a":[1,{"b":null}]}`, `true`, `null`}
		if name == "email" {
			values = []string{`"ada@example.com"`, `"grace@example.com"`, `null`}
		}
		fields = append(fields, [2]string{name, pick(rt, values, name)})
	}
	return fields
}

// drawTags draws names in any case, and ids of tags that there are.
func (m *model) drawTags(rt *rapid.T) []string {
	known := []string{"alpha", "ALPHA", "beta", "Gamma", "delta"}
	for _, tag := range m.tags {
		known = append(known, tag.id)
	}
	return rapid.SliceOfNDistinct(rapid.SampledFrom(known), 0, 3, rapid.ID[string]).Draw(rt, "tags")
}

// resolve finds the tags that are meant; new ones are made. It fails where one
// does not apply to the kind.
func (m *model) resolve(kind string, texts []string) (meant, made []*modelTag, ok bool) {
	for _, text := range texts {
		tag := findModelTag(append(slices.Clone(m.tags), made...), text)
		if tag == nil {
			tag = &modelTag{name: text, appliesTo: "all"}
			made = append(made, tag)
		}
		if tag.appliesTo != "all" && tag.appliesTo != kind {
			return nil, nil, false
		}
		if !slices.Contains(meant, tag) {
			meant = append(meant, tag)
		}
	}
	return meant, made, true
}

func (m *model) createEntry(rt *rapid.T) {
	e := &modelEntry{kind: pick(rt, []string{"person", "organization"}, "type"), status: "active", fields: drawFields(rt)}
	request := body{"workspace_id": m.ws, "type": e.kind, "fields": json.RawMessage(e.fields.text())}
	if name, ok := maybe(rt, []string{"Named"}, "name"); ok {
		e.name, request["name"] = name, name
	}
	if label, ok := maybe(rt, []string{"Labelled"}, "label"); ok {
		e.label, request["label"] = label, label
	}
	texts := m.drawTags(rt)
	request["tags"] = texts
	tags, made, ok := m.resolve(e.kind, texts)
	if !ok {
		m.call(rt, "POST", "/v1/directory", request, "400 VALIDATION_ERROR")
		return
	}
	e.id = m.call(rt, "POST", "/v1/directory", request, "200").Text("id")
	e.tags = tags
	m.entries = append(m.entries, e)
	m.learn(rt, made)
	m.did("directory.entry.created", e.id)
	m.touched = e
}

func (m *model) updateEntry(rt *rapid.T) {
	e := pick(rt, m.entries, "entry")
	after, request := *e, body{}
	if rapid.Bool().Draw(rt, "with fields") {
		change := drawFields(rt)
		after.fields = merged(e.fields, change)
		request["fields"] = json.RawMessage(change.text())
	}
	for _, text := range []struct {
		key    string
		target *string
		values []string
	}{
		{"name", &after.name, []string{"Named", "Renamed"}},
		{"label", &after.label, []string{"Labelled", "Relabelled"}},
		{"status", &after.status, []string{"active", "inactive"}},
	} {
		if value, ok := maybe(rt, text.values, text.key); ok {
			*text.target, request[text.key] = value, value
		}
	}
	var made []*modelTag
	applies := true
	if rapid.Bool().Draw(rt, "with tags") {
		texts := m.drawTags(rt)
		request["tags"] = texts
		after.tags, made, applies = m.resolve(e.kind, texts)
	}
	path := "/v1/directory/" + e.id
	switch {
	case e.deleted:
		m.call(rt, "PATCH", path, request, "404 NOT_FOUND")
	case !applies:
		m.call(rt, "PATCH", path, request, "400 VALIDATION_ERROR")
	default:
		m.call(rt, "PATCH", path, request, "200")
		changed := after.name != e.name || after.label != e.label || after.status != e.status ||
			after.fields.text() != e.fields.text() || len(made) > 0 || !slices.Equal(after.tagNames(), e.tagNames())
		*e = after
		m.learn(rt, made)
		if changed {
			m.did("directory.entry.updated", e.id)
		}
	}
	m.touched = e
}

// merged puts a change over fields: keys keep their place, null removes one.
func merged(fields, change modelFields) modelFields {
	out := slices.Clone(fields)
	for _, pair := range change {
		at := slices.IndexFunc(out, func(other [2]string) bool { return other[0] == pair[0] })
		switch {
		case pair[1] == "null" && at >= 0:
			out = slices.Delete(out, at, at+1)
		case pair[1] == "null":
		case at >= 0:
			out[at] = pair
		default:
			out = append(out, pair)
		}
	}
	return out
}

func (m *model) deleteEntry(rt *rapid.T) {
	e := pick(rt, m.entries, "entry")
	if m.touched = e; e.deleted {
		m.call(rt, "DELETE", "/v1/directory/"+e.id, nil, "404 NOT_FOUND")
		return
	}
	m.call(rt, "DELETE", "/v1/directory/"+e.id, nil, "200")
	e.deleted = true
	m.did("directory.entry.deleted", e.id)
}

func (m *model) restoreEntry(rt *rapid.T) {
	e := pick(rt, m.entries, "entry")
	m.call(rt, "POST", "/v1/directory/"+e.id+"/restore", nil, "200")
	if m.touched = e; e.deleted {
		e.deleted = false
		m.did("directory.entry.restored", e.id)
	}
}

func (m *model) compareEntries(rt *rapid.T) {
	got, want := [][3]string{}, [][3]string{}
	for _, row := range m.call(rt, "GET", m.query("/v1/directory"), nil, "200").List() {
		got = append(got, [3]string{row["id"].(string), row["label"].(string), row["status"].(string)})
	}
	for _, e := range slices.Backward(m.entries) {
		if !e.deleted {
			want = append(want, [3]string{e.id, e.shown(), e.status})
		}
	}
	same(rt, "the directory", want, got)
}

func (m *model) compareEntry(rt *rapid.T, e *modelEntry) {
	if e.deleted {
		m.call(rt, "GET", "/v1/directory/"+e.id, nil, "404 NOT_FOUND")
		return
	}
	var got api.Entry
	m.call(rt, "GET", "/v1/directory/"+e.id, nil, "200").Data(&got)
	methods := []api.ReceivingMethod{}
	for _, method := range e.methods {
		methods = append(methods, *method)
	}
	got.Tags = slices.Sorted(slices.Values(got.Tags))
	m.revealed(e)
	same(rt, "an entry", api.Entry{
		ID: e.id, WorkspaceID: m.ws, Type: e.kind, Label: e.shown(), Status: e.status, Fields: api.SplitFields([]byte(e.fields.text())),
		Name: e.name, Tags: e.tagNames(), ReceivingMethods: &methods, CreatedAt: got.CreatedAt, UpdatedAt: got.UpdatedAt,
	}, got)
}

// revealed notes the row that showing the account numbers of an entry leaves.
func (m *model) revealed(e *modelEntry) {
	if len(e.methods) > 0 && !e.revealed {
		e.revealed = true
		m.did("directory.receiving_method.revealed", e.id)
	}
}
