package client

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"
)

// DirectoryService is about the people and organizations of a workspace.
type DirectoryService struct{ c *Client }

// The types and states of directory entries.
const (
	TypePerson       = "person"
	TypeOrganization = "organization"
	StatusActive     = "active"
	StatusInactive   = "inactive"
)

// DirectoryListParams say which entries are asked for. Only WorkspaceID is needed.
type DirectoryListParams struct {
	WorkspaceID string
	Type        string // TypePerson or TypeOrganization
	Status      string // StatusActive or StatusInactive
	Tag         string // the id or the name of a tag
	Query       string // the beginnings of words of the label and the fields
	Limit       int    // of a page, 1 to 100
	Cursor      string
}

// EntryCreateParams describe a new entry.
type EntryCreateParams struct {
	WorkspaceID string
	Type        string
	// Fields are free keys and values: a map[string]any, a struct, or a
	// [json.RawMessage] to keep the order of keys and the digits of numbers.
	Fields any
	Name   string
	// Tags are ids or names; an unknown name makes the tag.
	Tags  []string
	Label string
}

// EntryUpdateParams say what to change. What is nil stays as it is.
type EntryUpdateParams struct {
	// Fields are merged by key, and a key whose value is nil is removed. See
	// EntryCreateParams.
	Fields any
	Name   *string
	// Tags take the place of the present ones; an empty list that is not nil
	// removes all.
	Tags   []string
	Label  *string
	Status *string
}

// List reads one page of a directory, newest first.
func (s *DirectoryService) List(ctx context.Context, p DirectoryListParams) (*Page[EntrySummary], error) {
	q := ListParams{p.Limit, p.Cursor}.query().text("workspace_id", p.WorkspaceID).text("type", p.Type).
		text("status", p.Status).text("tag", p.Tag).text("q", p.Query)
	return list[EntrySummary](ctx, s.c, q, "/directory")
}

// All walks over a directory, newest first. Entries that come or go meanwhile
// neither repeat nor hide others.
func (s *DirectoryService) All(ctx context.Context, p DirectoryListParams) iter.Seq2[EntrySummary, error] {
	return walk(p.Cursor, func(cursor string) (*Page[EntrySummary], error) {
		page := p
		page.Limit, page.Cursor = pageSize(p.Limit), cursor
		return s.List(ctx, page)
	})
}

// Get reads an entry in full.
func (s *DirectoryService) Get(ctx context.Context, id string) (*Entry, error) {
	return read[Entry](ctx, s.c, "/directory", id)
}

// Create makes an entry.
func (s *DirectoryService) Create(ctx context.Context, p EntryCreateParams) (*Created, error) {
	fields, err := encodeFields(p.Fields)
	if err != nil {
		return nil, err
	}
	if fields == nil {
		fields = json.RawMessage("{}")
	}
	return change[Created](ctx, s.c, http.MethodPost, struct {
		WorkspaceID string          `json:"workspace_id"`
		Type        string          `json:"type"`
		Fields      json.RawMessage `json:"fields"`
		Name        string          `json:"name,omitzero"`
		Tags        []string        `json:"tags,omitempty"`
		Label       string          `json:"label,omitzero"`
	}{p.WorkspaceID, p.Type, fields, p.Name, p.Tags, p.Label}, "/directory")
}

// Update changes an entry.
func (s *DirectoryService) Update(ctx context.Context, id string, p EntryUpdateParams) (*Created, error) {
	fields, err := encodeFields(p.Fields)
	if err != nil {
		return nil, err
	}
	return change[Created](ctx, s.c, http.MethodPatch, struct {
		Fields json.RawMessage `json:"fields,omitempty"`
		Name   *string         `json:"name,omitzero"`
		Tags   []string        `json:"tags,omitzero"`
		Label  *string         `json:"label,omitzero"`
		Status *string         `json:"status,omitzero"`
	}{fields, p.Name, p.Tags, p.Label, p.Status}, "/directory", id)
}

// Delete takes an entry out of every read and list. It can be restored for 30 days.
func (s *DirectoryService) Delete(ctx context.Context, id string) (*Deleted, error) {
	return change[Deleted](ctx, s.c, http.MethodDelete, nil, "/directory", id)
}

// Restore brings a deleted entry back.
func (s *DirectoryService) Restore(ctx context.Context, id string) (*Restored, error) {
	return change[Restored](ctx, s.c, http.MethodPost, nil, "/directory", id, "restore")
}

// encodeFields is nil where there are none.
func encodeFields(fields any) (json.RawMessage, error) {
	text, err := encode(fields)
	if err != nil || bytes.Equal(bytes.TrimSpace(text), []byte("null")) {
		return nil, err
	}
	return text, nil
}
