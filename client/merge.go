package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
)

// CreateUnlessDouble adds an entry like Create, and sets how possible duplicates are handled. OnDuplicateAllow adds the entry,
// OnDuplicateWarn also lists the duplicates in the result, and OnDuplicateRefuse refuses the entry. If onDuplicate is empty, the setting of
// the workspace applies.
func (s *DirectoryService) CreateUnlessDouble(ctx context.Context, p EntryCreateParams, onDuplicate string) (*Created, error) {
	text, err := encode(p)
	if err != nil {
		return nil, err
	}
	return fetch[Created](ctx, s.c, &call{method: http.MethodPost, path: "/directory", query: url.Values(query{}.text("on_duplicate", onDuplicate)), body: text})
}

// Duplicates lists the possible duplicates of an entry.
func (s *DirectoryService) Duplicates(ctx context.Context, id string) (*Duplicates, error) {
	return read[Duplicates](ctx, s.c, "/directory", id, "duplicates")
}

// Merge merges entries into another.
func (s *DirectoryService) Merge(ctx context.Context, id string, p MergeParams) (*Merge, error) {
	return change[Merge](ctx, s.c, http.MethodPost, p, "/directory", id, "merge")
}

// UndoMerge restores the entries of a merge to their state before it.
func (s *DirectoryService) UndoMerge(ctx context.Context, id string) (*Merge, error) {
	return change[Merge](ctx, s.c, http.MethodPost, nil, "/directory/merges", id, "undo")
}

// GetMerge reads a merge.
func (s *DirectoryService) GetMerge(ctx context.Context, id string) (*Merge, error) {
	return read[Merge](ctx, s.c, "/directory/merges", id)
}

// MergeListParams select merges. Only WorkspaceID is required.
type MergeListParams struct {
	WorkspaceID string
	EntryID     string // the entry that others were merged into
	Limit       int    // page size, 1 to 100
	Cursor      string
}

// Merges reads one page of the merges of a workspace, newest first.
func (s *DirectoryService) Merges(ctx context.Context, p MergeListParams) (*Page[Merge], error) {
	return list[Merge](ctx, s.c, ListParams{p.Limit, p.Cursor}.query().text("workspace_id", p.WorkspaceID).text("entry_id", p.EntryID), "/directory/merges")
}

// AllMerges iterates over the merges of a workspace, newest first.
func (s *DirectoryService) AllMerges(ctx context.Context, p MergeListParams) iter.Seq2[Merge, error] {
	return walk(p.Cursor, func(cursor string) (*Page[Merge], error) {
		page := p
		page.Limit, page.Cursor = pageSize(p.Limit), cursor
		return s.Merges(ctx, page)
	})
}
