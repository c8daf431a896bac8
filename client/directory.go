package client

import (
	"context"
	"iter"

	"bursar/api"
)

// DirectoryService manages the people and organizations of a workspace.
type DirectoryService struct{ c *Client }

// DirectoryListParams select entries. Only WorkspaceID is required.
type DirectoryListParams struct {
	WorkspaceID string
	Type        string // TypePerson or TypeOrganization
	Status      string // StatusActive or StatusInactive
	Tag         string // the id or the name of a tag
	Query       string // prefixes of words in the label and the fields
	ExternalID  string // the id in another system
	Sort        string // created, updated or label, with a minus for descending; empty is -created
	Limit       int    // page size, 1 to 100
	Cursor      string
}

// List reads one page of a directory, newest first.
func (s *DirectoryService) List(ctx context.Context, p DirectoryListParams) (*Page[EntrySummary], error) {
	return list(ctx, s.c, api.ListEntries, p.query())
}

func (p DirectoryListParams) query() query {
	return ListParams{p.Limit, p.Cursor}.query().text("workspace_id", p.WorkspaceID).text("type", p.Type).
		text("status", p.Status).text("tag", p.Tag).text("q", p.Query).text("external_id", p.ExternalID).text("sort", p.Sort)
}

// All iterates over a directory, newest first. Concurrent additions and deletions cause no repeated or missing entries.
func (s *DirectoryService) All(ctx context.Context, p DirectoryListParams) iter.Seq2[EntrySummary, error] {
	return all(ctx, s.c, api.ListEntries, p.query())
}

// Get reads an entry with all details.
func (s *DirectoryService) Get(ctx context.Context, id string) (*Entry, error) {
	return run(ctx, s.c, api.GetEntry, id)
}

// Create adds an entry.
func (s *DirectoryService) Create(ctx context.Context, p EntryCreateParams) (*Created, error) {
	return submit(ctx, s.c, api.CreateEntry, p)
}

// Update changes an entry.
func (s *DirectoryService) Update(ctx context.Context, id string, p EntryUpdateParams) (*Created, error) {
	return submit(ctx, s.c, api.UpdateEntry, p, id)
}

// Delete hides an entry from all reads and lists. It can be restored for 30 days.
func (s *DirectoryService) Delete(ctx context.Context, id string) (*Deleted, error) {
	return run(ctx, s.c, api.DeleteEntry, id)
}

// Restore restores a deleted entry.
func (s *DirectoryService) Restore(ctx context.Context, id string) (*Restored, error) {
	return run(ctx, s.c, api.RestoreEntry, id)
}
