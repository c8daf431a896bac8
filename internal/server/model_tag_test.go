package server_test

import (
	"slices"
	"strings"

	"pgregory.net/rapid"

	"bursar/api"
)

type modelTag struct{ id, name, appliesTo string }

// findModelTag finds a tag by its id or its name in any case.
func findModelTag(tags []*modelTag, text string) *modelTag {
	for _, tag := range tags {
		if (tag.id != "" && tag.id == text) || strings.EqualFold(tag.name, text) {
			return tag
		}
	}
	return nil
}

// learn notes the ids of tags that came with an entry.
func (m *model) learn(rt *rapid.T, made []*modelTag) {
	if len(made) == 0 {
		return
	}
	var listed []api.Tag
	m.call(rt, "GET", m.query("/v1/directory/tags"), nil, "200").Data(&listed)
	// In which order one request makes several is no one's business.
	for _, other := range listed {
		for _, tag := range made {
			if other.Name == tag.name {
				tag.id = other.ID
				m.tags = append(m.tags, tag)
			}
		}
	}
}

func (m *model) createTag(rt *rapid.T) {
	tag := &modelTag{name: pick(rt, []string{"alpha", "Beta", "GAMMA", "delta"}, "name"), appliesTo: "all"}
	request := body{"workspace_id": m.ws, "name": tag.name}
	if kind, ok := maybe(rt, []string{"person", "organization"}, "applies to"); ok {
		tag.appliesTo, request["applies_to"] = kind, kind
	}
	if findModelTag(m.tags, tag.name) != nil {
		m.call(rt, "POST", "/v1/directory/tags", request, "422 TAG_EXISTS")
		return
	}
	tag.id = m.call(rt, "POST", "/v1/directory/tags", request, "200").Text("id")
	m.tags = append(m.tags, tag)
	m.did("directory.tag.created", tag.id)
}

func (m *model) renameTag(rt *rapid.T) {
	tag, name := pick(rt, m.tags, "tag"), pick(rt, []string{"alpha", "Alpha", "beta", "epsilon"}, "name")
	path, request := "/v1/directory/tags/"+tag.id, body{"name": name}
	if other := findModelTag(m.tags, name); other != nil && other != tag {
		m.call(rt, "PATCH", path, request, "422 TAG_EXISTS")
		return
	}
	m.call(rt, "PATCH", path, request, "200")
	if tag.name != name {
		tag.name = name
		m.did("directory.tag.updated", tag.id)
	}
}

func (m *model) narrowTag(rt *rapid.T) {
	tag, kind := pick(rt, m.tags, "tag"), pick(rt, []string{"all", "person", "organization"}, "applies to")
	path, request := "/v1/directory/tags/"+tag.id, body{"applies_to": kind}
	carried := slices.ContainsFunc(m.entries, func(e *modelEntry) bool { return e.kind != kind && slices.Contains(e.tags, tag) })
	switch {
	case tag.appliesTo == kind:
		m.call(rt, "PATCH", path, request, "200")
	case kind != "all" && carried:
		m.call(rt, "PATCH", path, request, "422 TAG_IN_USE")
	default:
		m.call(rt, "PATCH", path, request, "200")
		tag.appliesTo = kind
		m.did("directory.tag.updated", tag.id)
	}
}

func (m *model) deleteTag(rt *rapid.T) {
	tag := pick(rt, m.tags, "tag")
	gone := func(other *modelTag) bool { return other == tag }
	m.call(rt, "DELETE", "/v1/directory/tags/"+tag.id, nil, "200")
	m.tags = slices.DeleteFunc(m.tags, gone)
	for _, e := range m.entries {
		e.tags = slices.DeleteFunc(slices.Clone(e.tags), gone)
	}
	m.did("directory.tag.deleted", tag.id)
}

func (m *model) compareTags(rt *rapid.T) {
	var got, want []api.Tag
	m.call(rt, "GET", m.query("/v1/directory/tags"), nil, "200").Data(&got)
	for _, tag := range m.tags {
		want = append(want, api.Tag{ID: tag.id, Name: tag.name, AppliesTo: tag.appliesTo})
	}
	same(rt, "tags", append([]api.Tag{}, want...), append([]api.Tag{}, got...))
}

func (m *model) addMethod(rt *rapid.T) {
	e := pick(rt, m.entries, "entry")
	path, request := "/v1/directory/"+e.id+"/receiving-methods", bankAccount()
	request["is_default"] = rapid.Bool().Draw(rt, "default")
	if m.touched = e; e.deleted {
		m.call(rt, "POST", path, request, "404 RESOURCE_NOT_FOUND")
		return
	}
	method := &api.ReceivingMethod{Provider: "bank", AccountName: "Ada Lovelace", AccountID: "0001", Status: api.MethodActive}
	method.ID = m.call(rt, "POST", path, request, "200").Text("id")
	e.methods = append(e.methods, method)
	if len(e.methods) == 1 || request["is_default"] == true {
		e.makeDefault(method)
	}
	m.did("directory.receiving_method.added", method.ID)
}

func (e *modelEntry) makeDefault(method *api.ReceivingMethod) {
	for _, other := range e.methods {
		other.IsDefault = other == method
	}
}

// withMethod picks a live entry that has methods, and one of them.
func (m *model) withMethod(rt *rapid.T) (*modelEntry, *api.ReceivingMethod) {
	var list []*modelEntry
	for _, e := range m.entries {
		if !e.deleted && len(e.methods) > 0 {
			list = append(list, e)
		}
	}
	m.touched = pick(rt, list, "entry")
	return m.touched, pick(rt, m.touched.methods, "method")
}

func (m *model) updateMethod(rt *rapid.T) {
	e, method := m.withMethod(rt)
	path, request, after := "/v1/directory/"+e.id+"/receiving-methods/"+method.ID, body{}, *method
	if provider, ok := maybe(rt, []string{"bank", "wallet"}, "provider"); ok {
		after.Provider, request["provider"] = provider, provider
	}
	if flag, ok := maybe(rt, []string{"yes", "no"}, "default"); ok {
		after.IsDefault = flag == "yes"
		request["is_default"] = after.IsDefault
	}
	if method.IsDefault && !after.IsDefault {
		m.call(rt, "PATCH", path, request, "400 VALIDATION_ERROR")
		return
	}
	answer := m.call(rt, "PATCH", path, request, "200")
	if after == *method {
		m.revealed(e)
		return
	}
	if after.Provider != method.Provider { // a change makes a successor
		after.ID, after.Replaces = answer.Text("id"), method.ID
	}
	*method = after
	if after.IsDefault {
		e.makeDefault(method)
	}
	m.did("directory.receiving_method.updated", method.ID)
}

func (m *model) removeMethod(rt *rapid.T) {
	e, method := m.withMethod(rt)
	m.call(rt, "DELETE", "/v1/directory/"+e.id+"/receiving-methods/"+method.ID, nil, "200")
	e.methods = slices.DeleteFunc(e.methods, func(other *api.ReceivingMethod) bool { return other == method })
	if method.IsDefault && len(e.methods) > 0 {
		e.makeDefault(e.methods[0])
	}
	m.did("directory.receiving_method.removed", method.ID)
}
