package client

import (
	"context"
	"io"
	"iter"
	"net/http"
	"strconv"
	"time"

	"bursar/api"
)

// PayoutService pays people and organizations from the accounts of a workspace.
type PayoutService struct{ c *Client }

// PayoutListParams select payouts. For a machine client, an empty WorkspaceID means its own workspace.
type PayoutListParams struct {
	WorkspaceID     string
	SourceAccountID string
	Status          string // such as [PayoutCompleted]
	EntryID         string // the payee
	BatchID         string
	Rail            string
	ExternalID      string
	// Query is a prefix of the account holder's name.
	Query string
	// Since and Until bound the creation time, both inclusive.
	Since, Until time.Time
	// Limit is the largest number of items on a page, 1 to 100. The default is 25.
	Limit int
	// Cursor is the cursor of the previous page.
	Cursor string
}

func (p PayoutListParams) query() query {
	return ListParams{p.Limit, p.Cursor}.query().text("workspace_id", p.WorkspaceID).text("source_account_id", p.SourceAccountID).
		text("status", p.Status).text("entry_id", p.EntryID).text("batch_id", p.BatchID).text("rail", p.Rail).
		text("external_id", p.ExternalID).text("q", p.Query).time("since", p.Since).time("until", p.Until)
}

// List reads one page of payouts, newest first.
func (s *PayoutService) List(ctx context.Context, p PayoutListParams) (*Page[Payout], error) {
	return list(ctx, s.c, api.ListPayouts, p.query())
}

// All iterates over payouts, newest first.
func (s *PayoutService) All(ctx context.Context, p PayoutListParams) iter.Seq2[Payout, error] {
	return all(ctx, s.c, api.ListPayouts, p.query())
}

// Create creates a payout. If a payout with the same external id and parameters exists, Create returns it unchanged.
func (s *PayoutService) Create(ctx context.Context, p PayoutCreateParams) (*Payout, error) {
	return submit(ctx, s.c, api.CreatePayout, p)
}

// Validate returns the dry-run result of a payout, with all faults at once, and changes nothing.
func (s *PayoutService) Validate(ctx context.Context, p PayoutCreateParams) (*PayoutRehearsal, error) {
	return submit(ctx, s.c, api.ValidatePayout, p)
}

// Get reads a payout with its attempts. The account number is masked.
func (s *PayoutService) Get(ctx context.Context, id string) (*Payout, error) {
	return run(ctx, s.c, api.GetPayout, id)
}

// Reveal reads a payout with the full account number. The audit log records it.
func (s *PayoutService) Reveal(ctx context.Context, id string) (*Payout, error) {
	return runWith(ctx, s.c, api.GetPayout, query{}.text("reveal", strconv.FormatBool(true)), id)
}

// Update changes a draft.
func (s *PayoutService) Update(ctx context.Context, id string, p PayoutUpdateParams) (*Payout, error) {
	return submit(ctx, s.c, api.UpdatePayout, p, id)
}

// Publish submits a draft, which is paid once that is allowed.
func (s *PayoutService) Publish(ctx context.Context, id string) (*Payout, error) {
	return run(ctx, s.c, api.PublishPayout, id)
}

// Confirm releases a payout that is held by a stricter limit or rule, if no other person could approve its release.
func (s *PayoutService) Confirm(ctx context.Context, id string) (*Payout, error) {
	return run(ctx, s.c, api.ConfirmPayout, id)
}

// Approve approves what the approval of a payout shows, identified by its digest.
func (s *PayoutService) Approve(ctx context.Context, id string, p PayoutApproveParams) (*Payout, error) {
	return submit(ctx, s.c, api.ApprovePayout, p, id)
}

// Reject rejects a payout that waits for approval. The payout is then cancelled.
func (s *PayoutService) Reject(ctx context.Context, id string, p PayoutRejectParams) (*Payout, error) {
	return submit(ctx, s.c, api.RejectPayout, p, id)
}

// Cancel cancels a payout that has not gone to a rail.
func (s *PayoutService) Cancel(ctx context.Context, id string, p PayoutCancelParams) (*Payout, error) {
	return submit(ctx, s.c, api.CancelPayout, p, id)
}

// Retry sends a failed payout again.
func (s *PayoutService) Retry(ctx context.Context, id string) (*Payout, error) {
	return run(ctx, s.c, api.RetryPayout, id)
}

// Resolve records whether a payout that needs attention was paid. It returns an *Error with [api.CodeSecondPersonRequired] if another person
// has to approve that.
func (s *PayoutService) Resolve(ctx context.Context, id string, p PayoutResolveParams) (*Payout, error) {
	return submit(ctx, s.c, api.ResolvePayout, p, id)
}

// Batch creates many payouts from one account and returns the result of each.
func (s *PayoutService) Batch(ctx context.Context, p PayoutBatchParams) (*PayoutBatch, error) {
	return submit(ctx, s.c, api.CreatePayoutBatch, p)
}

// PayoutFileParams set how a file of payouts is paid.
type PayoutFileParams struct {
	SourceAccountID string
	Currency        string // of the account
	Description     string // of each batch
	DryRun          bool   // return the result of each line and change nothing
}

// BatchFile creates the payouts of a CSV or NDJSON file, in batches of up to 1,000, and returns the result of each line. If one is refused,
// it returns an *Error with [api.CodeValidation] and nothing is stored. The same file sent again pays no one twice. The server may
// take a while for a large file: the call has no time limit but that of ctx once the file was sent.
func (s *PayoutService) BatchFile(ctx context.Context, p PayoutFileParams, file io.ReadSeeker) ([]PayoutBatch, error) {
	q := query{}.text("source_account_id", p.SourceAccountID).text("currency", p.Currency).text("description", p.Description)
	if p.DryRun {
		q = q.text("dry_run", strconv.FormatBool(true))
	}
	batches, err := fetch[[]PayoutBatch](ctx, s.c, &call{method: api.CreatePayoutBatch.Method(), path: api.CreatePayoutBatch.Path(), query: q,
		upload: file, header: http.Header{"Content-Type": {"text/csv"}}, patient: true})
	if err != nil {
		return nil, err
	}
	return *batches, nil
}

// GetBatch reads a batch and counts its payouts by their state.
func (s *PayoutService) GetBatch(ctx context.Context, id string) (*PayoutBatch, error) {
	return run(ctx, s.c, api.GetPayoutBatch, id)
}

// Receipt returns the confirmation that a payout has arrived. For a failed payout it returns an *Error with the code of the failure.
func (s *PayoutService) Receipt(ctx context.Context, id string) (*PayoutReceipt, error) {
	return run(ctx, s.c, api.GetPayoutReceipt, id)
}

// Sending reports whether the payouts of a workspace are sent.
func (s *PayoutService) Sending(ctx context.Context, workspaceID string) (*PayoutSending, error) {
	return run(ctx, s.c, api.GetPayoutStop, workspaceID)
}

// Stop stops sending the payouts of a workspace, in both modes unless p names one.
func (s *PayoutService) Stop(ctx context.Context, workspaceID string, p PayoutStopParams) (*PayoutSending, error) {
	return submit(ctx, s.c, api.StopPayouts, p, workspaceID)
}

// Resume resumes sending. If live payouts need a second person, it returns an *Error with [api.CodeSecondPersonRequired].
func (s *PayoutService) Resume(ctx context.Context, workspaceID string, p PayoutResumeParams) (*PayoutSending, error) {
	return submit(ctx, s.c, api.ResumePayouts, p, workspaceID)
}
