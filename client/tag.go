package client

import (
	"context"
	"iter"

	"bursar/api"
)

// TagService manages the tags of a directory.
type TagService struct{ c *Client }

// List reads the tags of a workspace.
func (s *TagService) List(ctx context.Context, workspaceID string, p ListParams) (*Page[Tag], error) {
	return list(ctx, s.c, api.ListTags, p.query().text("workspace_id", workspaceID))
}

// All iterates over the tags of a workspace.
func (s *TagService) All(ctx context.Context, workspaceID string, p ListParams) iter.Seq2[Tag, error] {
	return all(ctx, s.c, api.ListTags, p.query().text("workspace_id", workspaceID))
}

// Create creates a tag.
func (s *TagService) Create(ctx context.Context, p TagCreateParams) (*Tag, error) {
	return submit(ctx, s.c, api.CreateTag, p)
}

// Update changes a tag.
func (s *TagService) Update(ctx context.Context, id string, p TagUpdateParams) (*Tag, error) {
	return submit(ctx, s.c, api.UpdateTag, p, id)
}

// Delete deletes a tag and removes it from all entries.
func (s *TagService) Delete(ctx context.Context, id string) (*Deleted, error) {
	return run(ctx, s.c, api.DeleteTag, id)
}
