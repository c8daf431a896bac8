package client

import (
	"context"
	"iter"

	"bursar/api"
)

// WorkspaceService manages the workspaces that the caller belongs to.
type WorkspaceService struct{ c *Client }

// List reads the caller's workspaces.
func (s *WorkspaceService) List(ctx context.Context, p ListParams) (*Page[Workspace], error) {
	return list(ctx, s.c, api.ListWorkspaces, p.query())
}

// All iterates over the caller's workspaces.
func (s *WorkspaceService) All(ctx context.Context, p ListParams) iter.Seq2[Workspace, error] {
	return all(ctx, s.c, api.ListWorkspaces, p.query())
}

// Get reads a workspace.
func (s *WorkspaceService) Get(ctx context.Context, id string) (*Workspace, error) {
	return run(ctx, s.c, api.GetWorkspace, id)
}

// Create creates a workspace and makes the caller its first admin.
func (s *WorkspaceService) Create(ctx context.Context, p WorkspaceCreateParams) (*Workspace, error) {
	return submit(ctx, s.c, api.CreateWorkspace, p)
}

// Update changes a workspace.
func (s *WorkspaceService) Update(ctx context.Context, id string, p WorkspaceUpdateParams) (*Workspace, error) {
	return submit(ctx, s.c, api.UpdateWorkspace, p, id)
}
