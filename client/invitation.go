package client

import (
	"context"
	"iter"
	"net/http"
)

// InvitationService answers the invitations to the caller's address.
type InvitationService struct{ c *Client }

// List reads the invitations that the caller has not answered yet.
func (s *InvitationService) List(ctx context.Context, p ListParams) (*Page[Invitation], error) {
	return list[Invitation](ctx, s.c, p.query(), "/invitations")
}

// All iterates over the invitations that the caller has not answered yet.
func (s *InvitationService) All(ctx context.Context, p ListParams) iter.Seq2[Invitation, error] {
	return walk(p.Cursor, func(cursor string) (*Page[Invitation], error) {
		return s.List(ctx, p.at(cursor))
	})
}

// Accept makes the caller a member of the workspace that the invitation is for.
func (s *InvitationService) Accept(ctx context.Context, id string) (*InvitationDecision, error) {
	return change[InvitationDecision](ctx, s.c, http.MethodPost, nil, "/invitations", id, "accept")
}

// Decline ends an invitation.
func (s *InvitationService) Decline(ctx context.Context, id string) (*InvitationDecision, error) {
	return change[InvitationDecision](ctx, s.c, http.MethodPost, nil, "/invitations", id, "decline")
}
