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

// Add adds somebody to a workspace. Somebody whom the organization does not know is
// invited: the answer then has the id of the invitation in place of a user id, and, if the
// server sends no mail, the link by which the person accepts.
func (s *MemberService) Add(ctx context.Context, workspaceID string, p MemberAddParams) (*MemberAdded, error) {
	return change[MemberAdded](ctx, s.c, http.MethodPost, p, "/workspaces", workspaceID, "members")
}

// Remove removes somebody from a workspace, with all their roles there, by the id of the
// user or of the invitation. Everybody can remove themselves.
func (s *MemberService) Remove(ctx context.Context, workspaceID, userID string) (*MemberRemoved, error) {
	return change[MemberRemoved](ctx, s.c, http.MethodDelete, nil, "/workspaces", workspaceID, "members", userID)
}

// Suspended iterates over the access to a workspace that was given with a compromised API key and waits for an admin.
func (s *MemberService) Suspended(ctx context.Context, workspaceID string, p ListParams) iter.Seq2[SuspendedAccess, error] {
	return walk(p.Cursor, func(cursor string) (*Page[SuspendedAccess], error) {
		return list[SuspendedAccess](ctx, s.c, p.at(cursor).query(), "/workspaces", workspaceID, "suspended")
	})
}

// ConfirmSuspended gives suspended access back.
func (s *MemberService) ConfirmSuspended(ctx context.Context, workspaceID, id string) (*SuspendedAccess, error) {
	return change[SuspendedAccess](ctx, s.c, http.MethodPost, nil, "/workspaces", workspaceID, "suspended", id, "confirm")
}

// RemoveSuspended ends suspended access permanently.
func (s *MemberService) RemoveSuspended(ctx context.Context, workspaceID, id string) (*SuspendedAccess, error) {
	return change[SuspendedAccess](ctx, s.c, http.MethodPost, nil, "/workspaces", workspaceID, "suspended", id, "remove")
}
