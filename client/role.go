package client

import (
	"context"
	"iter"
	"net/http"

	"bursar/api"
)

// RoleService manages the roles of a workspace and who holds them.
type RoleService struct{ c *Client }

// List reads the roles of a workspace: the built-in ones and its own.
func (s *RoleService) List(ctx context.Context, workspaceID string, p ListParams) (*Page[Role], error) {
	return list[Role](ctx, s.c, p.query(), "/workspaces", workspaceID, "roles")
}

// All iterates over the roles of a workspace.
func (s *RoleService) All(ctx context.Context, workspaceID string, p ListParams) iter.Seq2[Role, error] {
	return walk(p.Cursor, func(cursor string) (*Page[Role], error) {
		return s.List(ctx, workspaceID, p.at(cursor))
	})
}

// Assign gives a member an additional role.
func (s *RoleService) Assign(ctx context.Context, workspaceID, userID, role string) (*RoleAssignment, error) {
	return change[RoleAssignment](ctx, s.c, http.MethodPost, api.RoleAssign{UserID: userID, Role: role}, "/workspaces", workspaceID, "roles")
}

// Unassign removes a role from a member.
func (s *RoleService) Unassign(ctx context.Context, workspaceID, userID, role string) (*RoleAssignment, error) {
	return change[RoleAssignment](ctx, s.c, http.MethodDelete, nil, "/workspaces", workspaceID, "roles", userID, role)
}

// Define creates a role of the workspace, or replaces the one with the key. Built-in roles cannot be changed.
func (s *RoleService) Define(ctx context.Context, workspaceID, key string, p RoleParams) (*Role, error) {
	if p.Permissions == nil {
		p.Permissions = []string{} // the server refuses null
	}
	return change[Role](ctx, s.c, http.MethodPut, p, "/workspaces", workspaceID, "roles", key)
}

// Delete deletes a role that no member has.
func (s *RoleService) Delete(ctx context.Context, workspaceID, key string) (*RoleDeleted, error) {
	return change[RoleDeleted](ctx, s.c, http.MethodDelete, nil, "/workspaces", workspaceID, "roles", key)
}
