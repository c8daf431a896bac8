package client

import (
	"context"
	"iter"
	"net/http"
)

// MemberService is about the people in a workspace.
type MemberService struct{ c *Client }

// List reads the members of a workspace with their roles.
func (s *MemberService) List(ctx context.Context, workspaceID string, p ListParams) (*Page[Member], error) {
	return list[Member](ctx, s.c, p.query(), "/workspaces", workspaceID, "members")
}

// All walks over the members of a workspace.
func (s *MemberService) All(ctx context.Context, workspaceID string, p ListParams) iter.Seq2[Member, error] {
	return walk(p.Cursor, func(cursor string) (*Page[Member], error) {
		return s.List(ctx, workspaceID, p.at(cursor))
	})
}

// Add lets somebody join. Whoever is not known yet is invited: the answer then
// holds the link by which they complete their account.
func (s *MemberService) Add(ctx context.Context, workspaceID string, p MemberAddParams) (*MemberAdded, error) {
	return change[MemberAdded](ctx, s.c, http.MethodPost, p, "/workspaces", workspaceID, "members")
}

// Remove takes somebody out of a workspace, with every role they hold there.
func (s *MemberService) Remove(ctx context.Context, workspaceID, userID string) (*MemberRemoved, error) {
	return change[MemberRemoved](ctx, s.c, http.MethodDelete, nil, "/workspaces", workspaceID, "members", userID)
}
