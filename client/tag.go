package client

import (
	"context"
	"iter"
	"net/http"
)

// TagService manages the tags of a directory.
type TagService struct{ c *Client }

// List reads the tags of a workspace.
func (s *TagService) List(ctx context.Context, workspaceID string, p ListParams) (*Page[Tag], error) {
	return list[Tag](ctx, s.c, p.query().text("workspace_id", workspaceID), "/directory/tags")
}

// All iterates over the tags of a workspace.
func (s *TagService) All(ctx context.Context, workspaceID string, p ListParams) iter.Seq2[Tag, error] {
	return walk(p.Cursor, func(cursor string) (*Page[Tag], error) {
		return s.List(ctx, workspaceID, p.at(cursor))
	})
}

// Create creates a tag.
func (s *TagService) Create(ctx context.Context, p TagCreateParams) (*Tag, error) {
	return change[Tag](ctx, s.c, http.MethodPost, p, "/directory/tags")
}

// Update changes a tag.
func (s *TagService) Update(ctx context.Context, id string, p TagUpdateParams) (*Tag, error) {
	return change[Tag](ctx, s.c, http.MethodPatch, p, "/directory/tags", id)
}

// Delete deletes a tag and removes it from all entries.
func (s *TagService) Delete(ctx context.Context, id string) (*Deleted, error) {
	return change[Deleted](ctx, s.c, http.MethodDelete, nil, "/directory/tags", id)
}
