package client

import (
	"context"
	"iter"

	"bursar/api"
)

// CreateUnlessDouble adds an entry like Create, and sets how possible duplicates are handled. OnDuplicateAllow adds the entry,
// OnDuplicateWarn also lists the duplicates in the result, and OnDuplicateRefuse refuses the entry. If onDuplicate is empty, the setting of
// the workspace applies.
func (s *DirectoryService) CreateUnlessDouble(ctx context.Context, p EntryCreateParams, onDuplicate string) (*Created, error) {
	return submitWith(ctx, s.c, api.CreateEntry, query{}.text("on_duplicate", onDuplicate), p)
}

// Duplicates lists the possible duplicates of an entry.
func (s *DirectoryService) Duplicates(ctx context.Context, id string) (*Duplicates, error) {
	return run(ctx, s.c, api.ListDuplicates, id)
}

// Merge merges entries into another.
func (s *DirectoryService) Merge(ctx context.Context, id string, p MergeParams) (*Merge, error) {
	return submit(ctx, s.c, api.MergeEntries, p, id)
}

// UndoMerge restores the entries of a merge to their state before it.
func (s *DirectoryService) UndoMerge(ctx context.Context, id string) (*Merge, error) {
	return run(ctx, s.c, api.UndoMerge, id)
}

// GetMerge reads a merge.
func (s *DirectoryService) GetMerge(ctx context.Context, id string) (*Merge, error) {
	return run(ctx, s.c, api.GetMerge, id)
}

// MergeListParams select merges. Only WorkspaceID is required.
type MergeListParams struct {
	WorkspaceID string
	EntryID     string // the entry that others were merged into
	Limit       int    // page size, 1 to 100
	Cursor      string
}

func (p MergeListParams) query() query {
	return ListParams{p.Limit, p.Cursor}.query().text("workspace_id", p.WorkspaceID).text("entry_id", p.EntryID)
}

// Merges reads one page of the merges of a workspace, newest first.
func (s *DirectoryService) Merges(ctx context.Context, p MergeListParams) (*Page[Merge], error) {
	return list(ctx, s.c, api.ListMerges, p.query())
}

// AllMerges iterates over the merges of a workspace, newest first.
func (s *DirectoryService) AllMerges(ctx context.Context, p MergeListParams) iter.Seq2[Merge, error] {
	return all(ctx, s.c, api.ListMerges, p.query())
}
