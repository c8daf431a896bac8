package client

import (
	"context"
	"iter"

	"bursar/api"
)

// RoleService manages the roles of a workspace and who holds them.
type RoleService struct{ c *Client }

// List reads the roles of a workspace: the built-in ones and its own.
func (s *RoleService) List(ctx context.Context, workspaceID string, p ListParams) (*Page[Role], error) {
	return list(ctx, s.c, api.ListRoles, p.query(), workspaceID)
}

// All iterates over the roles of a workspace.
func (s *RoleService) All(ctx context.Context, workspaceID string, p ListParams) iter.Seq2[Role, error] {
	return all(ctx, s.c, api.ListRoles, p.query(), workspaceID)
}

// Assign gives a member an additional role.
func (s *RoleService) Assign(ctx context.Context, workspaceID, userID, role string) (*RoleAssignment, error) {
	return submit(ctx, s.c, api.AssignRole, api.RoleAssign{UserID: userID, Role: role}, workspaceID)
}

// Unassign removes a role from a member.
func (s *RoleService) Unassign(ctx context.Context, workspaceID, userID, role string) (*RoleAssignment, error) {
	return run(ctx, s.c, api.RemoveRole, workspaceID, userID, role)
}

// Define creates a role of the workspace, or replaces the one with the key. Built-in roles cannot be changed.
func (s *RoleService) Define(ctx context.Context, workspaceID, key string, p RoleParams) (*Role, error) {
	if p.Permissions == nil {
		p.Permissions = []string{} // the server refuses null
	}
	return submit(ctx, s.c, api.PutRole, p, workspaceID, key)
}

// Delete deletes a role that no member has.
func (s *RoleService) Delete(ctx context.Context, workspaceID, key string) (*RoleDeleted, error) {
	return run(ctx, s.c, api.DeleteRole, workspaceID, key)
}
