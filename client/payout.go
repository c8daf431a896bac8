package client

import (
	"context"
	"iter"
	"net/http"
	"strconv"
	"time"
)

// PayoutService pays people and organizations from the accounts of a workspace.
type PayoutService struct{ c *Client }

// PayoutListParams select payouts. A machine client may leave WorkspaceID out: it means its own.
type PayoutListParams struct {
	WorkspaceID     string
	SourceAccountID string
	Status          string // such as [PayoutCompleted]
	EntryID         string // the payee
	BatchID         string
	Rail            string
	ExternalID      string
	// Query is how the name of the payee's account begins.
	Query string
	// Since and Until bound when they were made, both included.
	Since, Until time.Time
	// Limit is the largest number of items on a page, 1 to 100. The default is 25.
	Limit int
	// Cursor is that of the previous page.
	Cursor string
}

// List reads one page of payouts, newest first.
func (s *PayoutService) List(ctx context.Context, p PayoutListParams) (*Page[Payout], error) {
	q := ListParams{p.Limit, p.Cursor}.query().text("workspace_id", p.WorkspaceID).text("source_account_id", p.SourceAccountID).
		text("status", p.Status).text("entry_id", p.EntryID).text("batch_id", p.BatchID).text("rail", p.Rail).
		text("external_id", p.ExternalID).text("q", p.Query).time("since", p.Since).time("until", p.Until)
	return list[Payout](ctx, s.c, q, "/v2/payout-requests")
}

// All iterates over payouts, newest first.
func (s *PayoutService) All(ctx context.Context, p PayoutListParams) iter.Seq2[Payout, error] {
	return walk(p.Cursor, func(cursor string) (*Page[Payout], error) {
		page := p
		page.Limit, page.Cursor = pageSize(p.Limit), cursor
		return s.List(ctx, page)
	})
}

// Create asks for a payout. One with the same external id and parameters is returned as it is.
func (s *PayoutService) Create(ctx context.Context, p PayoutCreateParams) (*Payout, error) {
	return change[Payout](ctx, s.c, http.MethodPost, p, "/v2/payout-requests")
}

// Validate tells what would become of a payout, with all faults at once, and changes nothing.
func (s *PayoutService) Validate(ctx context.Context, p PayoutCreateParams) (*PayoutRehearsal, error) {
	return change[PayoutRehearsal](ctx, s.c, http.MethodPost, p, "/v2/payout-requests/validate")
}

// Get reads a payout with its attempts. The number of the account is masked.
func (s *PayoutService) Get(ctx context.Context, id string) (*Payout, error) {
	return read[Payout](ctx, s.c, "/v2/payout-requests", id)
}

// Reveal reads a payout with the number of the account in full, which the audit log tells.
func (s *PayoutService) Reveal(ctx context.Context, id string) (*Payout, error) {
	return readWith[Payout](ctx, s.c, query{}.text("reveal", strconv.FormatBool(true)), "/v2/payout-requests", id)
}

// Update changes a draft.
func (s *PayoutService) Update(ctx context.Context, id string, p PayoutUpdateParams) (*Payout, error) {
	return change[Payout](ctx, s.c, http.MethodPatch, p, "/v2/payout-requests", id)
}

// Publish checks a draft and has it paid as soon as it may be.
func (s *PayoutService) Publish(ctx context.Context, id string) (*Payout, error) {
	return change[Payout](ctx, s.c, http.MethodPost, nil, "/v2/payout-requests", id, "publish")
}

// Confirm releases a payout that a stricter limit or rule holds, where no other person could approve that.
func (s *PayoutService) Confirm(ctx context.Context, id string) (*Payout, error) {
	return change[Payout](ctx, s.c, http.MethodPost, nil, "/v2/payout-requests", id, "confirm")
}

// Approve allows what the approval of a payout shows, of which it sends the digest.
func (s *PayoutService) Approve(ctx context.Context, id string, p PayoutApproveParams) (*Payout, error) {
	return change[Payout](ctx, s.c, http.MethodPost, p, "/v2/payout-requests", id, "approve")
}

// Reject refuses a payout that waits for approval. It is cancelled then.
func (s *PayoutService) Reject(ctx context.Context, id string, p PayoutRejectParams) (*Payout, error) {
	return change[Payout](ctx, s.c, http.MethodPost, p, "/v2/payout-requests", id, "reject")
}

// Cancel takes a payout back that no rail has yet.
func (s *PayoutService) Cancel(ctx context.Context, id string, p PayoutCancelParams) (*Payout, error) {
	return change[Payout](ctx, s.c, http.MethodPost, p, "/v2/payout-requests", id, "cancel")
}

// Retry sends a failed payout once more.
func (s *PayoutService) Retry(ctx context.Context, id string) (*Payout, error) {
	return change[Payout](ctx, s.c, http.MethodPost, nil, "/v2/payout-requests", id, "retry")
}

// Resolve settles whether a payout was paid that needs attention. It returns an *Error with [CodeSecondPersonRequired] if another
// person has to approve that.
func (s *PayoutService) Resolve(ctx context.Context, id string, p PayoutResolveParams) (*Payout, error) {
	return change[Payout](ctx, s.c, http.MethodPost, p, "/v2/payout-requests", id, "resolve")
}

// Batch asks for many payouts from one account, and tells what became of each.
func (s *PayoutService) Batch(ctx context.Context, p PayoutBatchParams) (*PayoutBatch, error) {
	return change[PayoutBatch](ctx, s.c, http.MethodPost, p, "/v2/batch-payout-requests")
}

// GetBatch reads a batch and counts its payouts by their state.
func (s *PayoutService) GetBatch(ctx context.Context, id string) (*PayoutBatch, error) {
	return read[PayoutBatch](ctx, s.c, "/v2/batch-payout-requests", id)
}

// Receipt says that a payout has arrived. For one that failed it returns an *Error with the code
// of the failure.
func (s *PayoutService) Receipt(ctx context.Context, id string) (*PayoutReceipt, error) {
	return read[PayoutReceipt](ctx, s.c, "/v2/payout-requests", id, "receipt")
}

// Sending reads whether the payouts of a workspace are sent.
func (s *PayoutService) Sending(ctx context.Context, workspaceID string) (*PayoutSending, error) {
	return read[PayoutSending](ctx, s.c, "/workspaces", workspaceID, "payout-stop")
}

// Stop stops sending the payouts of a workspace, in both modes unless one is given.
func (s *PayoutService) Stop(ctx context.Context, workspaceID string, p PayoutStopParams) (*PayoutSending, error) {
	return change[PayoutSending](ctx, s.c, http.MethodPost, p, "/workspaces", workspaceID, "payout-stop")
}

// Resume sends them again. Live payouts may take a second person: then it returns an *Error with
// [CodeSecondPersonRequired].
func (s *PayoutService) Resume(ctx context.Context, workspaceID string, p PayoutResumeParams) (*PayoutSending, error) {
	return change[PayoutSending](ctx, s.c, http.MethodPost, p, "/workspaces", workspaceID, "payout-resume")
}
