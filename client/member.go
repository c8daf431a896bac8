package client

import (
	"context"
	"iter"

	"bursar/api"
)

// MemberService manages the members of a workspace.
type MemberService struct{ c *Client }

// List reads the members of a workspace with their roles.
func (s *MemberService) List(ctx context.Context, workspaceID string, p ListParams) (*Page[Member], error) {
	return list(ctx, s.c, api.ListMembers, p.query(), workspaceID)
}

// All iterates over the members of a workspace.
func (s *MemberService) All(ctx context.Context, workspaceID string, p ListParams) iter.Seq2[Member, error] {
	return all(ctx, s.c, api.ListMembers, p.query(), workspaceID)
}

// Add adds a person to a workspace. A person who is unknown to the organization is invited. The result then has the id of the invitation in
// place of a user id. If the server sends no mail, it also has the link for accepting the invitation.
func (s *MemberService) Add(ctx context.Context, workspaceID string, p MemberAddParams) (*MemberAdded, error) {
	return submit(ctx, s.c, api.AddMember, p, workspaceID)
}

// Remove removes a person from a workspace, with all their roles there, by the id of the user or of the invitation. Every member can remove
// themselves.
func (s *MemberService) Remove(ctx context.Context, workspaceID, userID string) (*MemberRemoved, error) {
	return run(ctx, s.c, api.RemoveMember, workspaceID, userID)
}

// Suspended iterates over the access to a workspace that was granted with a compromised API key and waits for an admin.
func (s *MemberService) Suspended(ctx context.Context, workspaceID string, p ListParams) iter.Seq2[SuspendedAccess, error] {
	return all(ctx, s.c, api.ListSuspendedAccess, p.query(), workspaceID)
}

// ConfirmSuspended restores suspended access.
func (s *MemberService) ConfirmSuspended(ctx context.Context, workspaceID, id string) (*SuspendedAccess, error) {
	return run(ctx, s.c, api.ConfirmSuspendedAccess, workspaceID, id)
}

// RemoveSuspended ends suspended access permanently.
func (s *MemberService) RemoveSuspended(ctx context.Context, workspaceID, id string) (*SuspendedAccess, error) {
	return run(ctx, s.c, api.RemoveSuspendedAccess, workspaceID, id)
}
