package client

import (
	"context"
	"iter"
	"net/http"
)

// WorkspaceService manages the workspaces that the caller belongs to.
type WorkspaceService struct{ c *Client }

// List reads the caller's workspaces.
func (s *WorkspaceService) List(ctx context.Context, p ListParams) (*Page[Workspace], error) {
	return list[Workspace](ctx, s.c, p.query(), "/workspaces")
}

// All iterates over the caller's workspaces.
func (s *WorkspaceService) All(ctx context.Context, p ListParams) iter.Seq2[Workspace, error] {
	return walk(p.Cursor, func(cursor string) (*Page[Workspace], error) {
		return s.List(ctx, p.at(cursor))
	})
}

// Get reads a workspace.
func (s *WorkspaceService) Get(ctx context.Context, id string) (*Workspace, error) {
	return read[Workspace](ctx, s.c, "/workspaces", id)
}

// Create creates a workspace and makes the caller its first admin.
func (s *WorkspaceService) Create(ctx context.Context, p WorkspaceCreateParams) (*Workspace, error) {
	return change[Workspace](ctx, s.c, http.MethodPost, p, "/workspaces")
}

// Update changes a workspace.
func (s *WorkspaceService) Update(ctx context.Context, id string, p WorkspaceUpdateParams) (*Workspace, error) {
	return change[Workspace](ctx, s.c, http.MethodPatch, p, "/workspaces", id)
}
