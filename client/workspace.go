package client

import (
	"context"
	"iter"
	"net/http"
)

// WorkspaceService is about the workspaces that the caller belongs to.
type WorkspaceService struct{ c *Client }

// WorkspaceCreateParams describe a new workspace.
type WorkspaceCreateParams struct {
	Name           string `json:"name"`
	OrganizationID string `json:"organization_id"`
	Slug           string `json:"slug,omitzero"` // derived from the name where it is empty
}

// WorkspaceUpdateParams say what to change. What is nil stays as it is.
type WorkspaceUpdateParams struct {
	Name *string `json:"name,omitzero"`
	Slug *string `json:"slug,omitzero"`
}

// List reads the caller's workspaces.
func (s *WorkspaceService) List(ctx context.Context, p ListParams) (*Page[Workspace], error) {
	return list[Workspace](ctx, s.c, p.query(), "/workspaces")
}

// All walks over the caller's workspaces.
func (s *WorkspaceService) All(ctx context.Context, p ListParams) iter.Seq2[Workspace, error] {
	return walk(p.Cursor, func(cursor string) (*Page[Workspace], error) {
		return s.List(ctx, p.at(cursor))
	})
}

// Get reads a workspace.
func (s *WorkspaceService) Get(ctx context.Context, id string) (*Workspace, error) {
	return read[Workspace](ctx, s.c, "/workspaces", id)
}

// Create makes a workspace, of which the caller is the first admin.
func (s *WorkspaceService) Create(ctx context.Context, p WorkspaceCreateParams) (*Workspace, error) {
	return change[Workspace](ctx, s.c, http.MethodPost, p, "/workspaces")
}

// Update changes a workspace.
func (s *WorkspaceService) Update(ctx context.Context, id string, p WorkspaceUpdateParams) (*Workspace, error) {
	return change[Workspace](ctx, s.c, http.MethodPatch, p, "/workspaces", id)
}
