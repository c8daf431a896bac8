package client

import (
	"context"
	"iter"
	"net/http"
)

// ApprovalService decides what others ask for: changes of where money goes.
type ApprovalService struct{ c *Client }

// ApprovalListParams select approvals. Only WorkspaceID is required.
type ApprovalListParams struct {
	WorkspaceID string
	State       string // such as ApprovalPending
	Limit       int    // of a page, 1 to 100
	Cursor      string
}

// List reads one page of the approvals of a workspace, newest first.
func (s *ApprovalService) List(ctx context.Context, p ApprovalListParams) (*Page[Approval], error) {
	q := ListParams{p.Limit, p.Cursor}.query().text("workspace_id", p.WorkspaceID).text("state", p.State)
	return list[Approval](ctx, s.c, q, "/approvals")
}

// All iterates over the approvals of a workspace, newest first.
func (s *ApprovalService) All(ctx context.Context, p ApprovalListParams) iter.Seq2[Approval, error] {
	return walk(p.Cursor, func(cursor string) (*Page[Approval], error) {
		page := p
		page.Limit, page.Cursor = pageSize(p.Limit), cursor
		return s.List(ctx, page)
	})
}

// Get reads an approval with all that one needs to decide it.
func (s *ApprovalService) Get(ctx context.Context, id string) (*Approval, error) {
	return read[Approval](ctx, s.c, "/approvals", id)
}

// ApprovalLinesParams select lines of the approval of an import or a bulk.
type ApprovalLinesParams struct {
	Flag   string // such as FlagSharedAccount
	Limit  int    // of a page, 1 to 100
	Cursor string
}

// Lines reads one page of the lines of the approval of an import or a bulk.
func (s *ApprovalService) Lines(ctx context.Context, id string, p ApprovalLinesParams) (*Page[ApprovalLine], error) {
	return list[ApprovalLine](ctx, s.c, ListParams{p.Limit, p.Cursor}.query().text("flag", p.Flag), "/approvals", id, "lines")
}

// AllLines iterates over those lines.
func (s *ApprovalService) AllLines(ctx context.Context, id string, p ApprovalLinesParams) iter.Seq2[ApprovalLine, error] {
	return walk(p.Cursor, func(cursor string) (*Page[ApprovalLine], error) {
		page := p
		page.Limit, page.Cursor = pageSize(p.Limit), cursor
		return s.Lines(ctx, id, page)
	})
}

// Decide approves or rejects many approvals of one kind with one statement. The answer has a result for each.
func (s *ApprovalService) Decide(ctx context.Context, p ApprovalDecideParams) (*ApprovalsDecided, error) {
	return change[ApprovalsDecided](ctx, s.c, http.MethodPost, p, "/approvals", "decide")
}

// Approve allows what was shown. digest is that of the approval as it was read, and
// verification says how it was checked.
func (s *ApprovalService) Approve(ctx context.Context, id string, p ApprovalApproveParams) (*Approval, error) {
	return change[Approval](ctx, s.c, http.MethodPost, p, "/approvals", id, "approve")
}

// Reject refuses what was asked for.
func (s *ApprovalService) Reject(ctx context.Context, id string, p ApprovalRejectParams) (*Approval, error) {
	return change[Approval](ctx, s.c, http.MethodPost, p, "/approvals", id, "reject")
}

// Withdraw takes a request back.
func (s *ApprovalService) Withdraw(ctx context.Context, id string) (*Approval, error) {
	return change[Approval](ctx, s.c, http.MethodPost, nil, "/approvals", id, "withdraw")
}

// Policy reads how a workspace guards where money goes.
func (s *ApprovalService) Policy(ctx context.Context, workspaceID string) (*ReceivingPolicy, error) {
	return read[ReceivingPolicy](ctx, s.c, "/workspaces", workspaceID, "receiving-policy")
}

// UpdatePolicy changes it. What protects less waits for a second person, where there is one.
func (s *ApprovalService) UpdatePolicy(ctx context.Context, workspaceID string, p ReceivingPolicyParams) (*ReceivingPolicy, error) {
	return change[ReceivingPolicy](ctx, s.c, http.MethodPatch, p, "/workspaces", workspaceID, "receiving-policy")
}

// ExtendSecondPerson extends by 72 hours, once, for how long changes need a second person after the last one has gone.
func (s *ApprovalService) ExtendSecondPerson(ctx context.Context, workspaceID string) (*SecondPersonExtended, error) {
	return change[SecondPersonExtended](ctx, s.c, http.MethodPost, nil, "/workspaces", workspaceID, "second-person", "extend")
}
