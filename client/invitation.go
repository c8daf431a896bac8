package client

import (
	"context"
	"iter"
	"net/http"
)

// InvitationService accepts or declines invitations sent to the caller's email address.
type InvitationService struct{ c *Client }

// List reads the caller's open invitations.
func (s *InvitationService) List(ctx context.Context, p ListParams) (*Page[Invitation], error) {
	return list[Invitation](ctx, s.c, p.query(), "/invitations")
}

// All iterates over the caller's open invitations.
func (s *InvitationService) All(ctx context.Context, p ListParams) iter.Seq2[Invitation, error] {
	return walk(p.Cursor, func(cursor string) (*Page[Invitation], error) {
		return s.List(ctx, p.at(cursor))
	})
}

// Accept accepts an invitation and makes the caller a member of its workspace.
func (s *InvitationService) Accept(ctx context.Context, id string) (*InvitationDecision, error) {
	return change[InvitationDecision](ctx, s.c, http.MethodPost, nil, "/invitations", id, "accept")
}

// Decline declines an invitation.
func (s *InvitationService) Decline(ctx context.Context, id string) (*InvitationDecision, error) {
	return change[InvitationDecision](ctx, s.c, http.MethodPost, nil, "/invitations", id, "decline")
}
