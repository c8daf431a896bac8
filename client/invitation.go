package client

import (
	"context"
	"iter"

	"bursar/api"
)

// InvitationService accepts or declines invitations sent to the caller's email address.
type InvitationService struct{ c *Client }

// List reads the caller's open invitations.
func (s *InvitationService) List(ctx context.Context, p ListParams) (*Page[Invitation], error) {
	return list(ctx, s.c, api.ListInvitations, p.query())
}

// All iterates over the caller's open invitations.
func (s *InvitationService) All(ctx context.Context, p ListParams) iter.Seq2[Invitation, error] {
	return all(ctx, s.c, api.ListInvitations, p.query())
}

// Accept accepts an invitation and makes the caller a member of its workspace.
func (s *InvitationService) Accept(ctx context.Context, id string) (*InvitationDecision, error) {
	return run(ctx, s.c, api.AcceptInvitation, id)
}

// Decline declines an invitation.
func (s *InvitationService) Decline(ctx context.Context, id string) (*InvitationDecision, error) {
	return run(ctx, s.c, api.DeclineInvitation, id)
}
