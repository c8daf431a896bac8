package client

import (
	"context"
	"iter"

	"bursar/api"
)

// ApprovalService decides changes that other people have requested, such as changes of receiving methods.
type ApprovalService struct{ c *Client }

// ApprovalListParams select approvals. Only WorkspaceID is required.
type ApprovalListParams struct {
	WorkspaceID string
	State       string // such as ApprovalPending
	Limit       int    // page size, 1 to 100
	Cursor      string
}

func (p ApprovalListParams) query() query {
	return ListParams{p.Limit, p.Cursor}.query().text("workspace_id", p.WorkspaceID).text("state", p.State)
}

// List reads one page of the approvals of a workspace, newest first.
func (s *ApprovalService) List(ctx context.Context, p ApprovalListParams) (*Page[Approval], error) {
	return list(ctx, s.c, api.ListApprovals, p.query())
}

// All iterates over the approvals of a workspace, newest first.
func (s *ApprovalService) All(ctx context.Context, p ApprovalListParams) iter.Seq2[Approval, error] {
	return all(ctx, s.c, api.ListApprovals, p.query())
}

// Get reads an approval with all the information needed to decide it.
func (s *ApprovalService) Get(ctx context.Context, id string) (*Approval, error) {
	return run(ctx, s.c, api.GetApproval, id)
}

// ApprovalLinesParams select lines in the approval of an import or a bulk change.
type ApprovalLinesParams struct {
	Flag   string // such as FlagSharedAccount
	Limit  int    // page size, 1 to 100
	Cursor string
}

func (p ApprovalLinesParams) query() query {
	return ListParams{p.Limit, p.Cursor}.query().text("flag", p.Flag)
}

// Lines reads one page of lines in the approval of an import or a bulk change.
func (s *ApprovalService) Lines(ctx context.Context, id string, p ApprovalLinesParams) (*Page[ApprovalLine], error) {
	return list(ctx, s.c, api.ListApprovalLines, p.query(), id)
}

// AllLines iterates over the lines in the approval of an import or a bulk change.
func (s *ApprovalService) AllLines(ctx context.Context, id string, p ApprovalLinesParams) iter.Seq2[ApprovalLine, error] {
	return all(ctx, s.c, api.ListApprovalLines, p.query(), id)
}

// Decide approves or rejects many approvals of one kind, with one verification or one reason. The result has an item for each.
func (s *ApprovalService) Decide(ctx context.Context, p ApprovalDecideParams) (*ApprovalsDecided, error) {
	return submit(ctx, s.c, api.DecideApprovals, p)
}

// Approve approves what was shown. Its Digest is that of the approval as read. Its Verification states how the change was verified.
func (s *ApprovalService) Approve(ctx context.Context, id string, p ApprovalApproveParams) (*Approval, error) {
	return submit(ctx, s.c, api.ApproveApproval, p, id)
}

// Reject rejects a request.
func (s *ApprovalService) Reject(ctx context.Context, id string, p ApprovalRejectParams) (*Approval, error) {
	return submit(ctx, s.c, api.RejectApproval, p, id)
}

// Withdraw withdraws the caller's own request.
func (s *ApprovalService) Withdraw(ctx context.Context, id string) (*Approval, error) {
	return run(ctx, s.c, api.WithdrawApproval, id)
}

// Policy reads how a workspace protects changes of receiving methods.
func (s *ApprovalService) Policy(ctx context.Context, workspaceID string) (*ReceivingPolicy, error) {
	return run(ctx, s.c, api.GetReceivingPolicy, workspaceID)
}

// UpdatePolicy changes the policy. A looser policy waits for a second person, if there is one.
func (s *ApprovalService) UpdatePolicy(ctx context.Context, workspaceID string, p ReceivingPolicyParams) (*ReceivingPolicy, error) {
	return submit(ctx, s.c, api.UpdateReceivingPolicy, p, workspaceID)
}

// ExtendSecondPerson extends by 72 hours, once, the time in which changes need a second person after the last one has left.
func (s *ApprovalService) ExtendSecondPerson(ctx context.Context, workspaceID string) (*SecondPersonExtended, error) {
	return run(ctx, s.c, api.ExtendSecondPerson, workspaceID)
}
