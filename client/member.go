package client

import (
	"context"
	"iter"
	"net/http"
)

// MemberService manages the members of a workspace.
type MemberService struct{ c *Client }

// List reads the members of a workspace with their roles.
func (s *MemberService) List(ctx context.Context, workspaceID string, p ListParams) (*Page[Member], error) {
	return list[Member](ctx, s.c, p.query(), "/workspaces", workspaceID, "members")
}

// All iterates over the members of a workspace.
func (s *MemberService) All(ctx context.Context, workspaceID string, p ListParams) iter.Seq2[Member, error] {
	return walk(p.Cursor, func(cursor string) (*Page[Member], error) {
		return s.List(ctx, workspaceID, p.at(cursor))
	})
}

// Add adds a person to a workspace. A person who is unknown to the organization is invited. The result then has the id of the invitation in
// place of a user id. If the server sends no mail, it also has the link for accepting the invitation.
func (s *MemberService) Add(ctx context.Context, workspaceID string, p MemberAddParams) (*MemberAdded, error) {
	return change[MemberAdded](ctx, s.c, http.MethodPost, p, "/workspaces", workspaceID, "members")
}

// Remove removes a person from a workspace, with all their roles there, by the id of the user or of the invitation. Every member can remove
// themselves.
func (s *MemberService) Remove(ctx context.Context, workspaceID, userID string) (*MemberRemoved, error) {
	return change[MemberRemoved](ctx, s.c, http.MethodDelete, nil, "/workspaces", workspaceID, "members", userID)
}

// Suspended iterates over the access to a workspace that was granted with a compromised API key and waits for an admin.
func (s *MemberService) Suspended(ctx context.Context, workspaceID string, p ListParams) iter.Seq2[SuspendedAccess, error] {
	return walk(p.Cursor, func(cursor string) (*Page[SuspendedAccess], error) {
		return list[SuspendedAccess](ctx, s.c, p.at(cursor).query(), "/workspaces", workspaceID, "suspended")
	})
}

// ConfirmSuspended restores suspended access.
func (s *MemberService) ConfirmSuspended(ctx context.Context, workspaceID, id string) (*SuspendedAccess, error) {
	return change[SuspendedAccess](ctx, s.c, http.MethodPost, nil, "/workspaces", workspaceID, "suspended", id, "confirm")
}

// RemoveSuspended ends suspended access permanently.
func (s *MemberService) RemoveSuspended(ctx context.Context, workspaceID, id string) (*SuspendedAccess, error) {
	return change[SuspendedAccess](ctx, s.c, http.MethodPost, nil, "/workspaces", workspaceID, "suspended", id, "remove")
}
