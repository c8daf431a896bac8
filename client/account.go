package client

import (
	"context"
	"iter"
	"time"

	"bursar/api"
)

// AccountService manages the accounts of a workspace and their money. For a machine client, an empty workspace id means its own workspace.
type AccountService struct{ c *Client }

// List reads the accounts of a workspace, with their balances.
func (s *AccountService) List(ctx context.Context, workspaceID string, p ListParams) (*Page[Account], error) {
	return list(ctx, s.c, api.ListAccounts, p.query().text("workspace_id", workspaceID))
}

// All iterates over the accounts of a workspace.
func (s *AccountService) All(ctx context.Context, workspaceID string, p ListParams) iter.Seq2[Account, error] {
	return all(ctx, s.c, api.ListAccounts, p.query().text("workspace_id", workspaceID))
}

// Create opens an account.
func (s *AccountService) Create(ctx context.Context, p AccountCreateParams) (*Account, error) {
	return submit(ctx, s.c, api.CreateAccount, p)
}

// Get reads an account.
func (s *AccountService) Get(ctx context.Context, id string) (*Account, error) {
	return run(ctx, s.c, api.GetAccount, id)
}

// Update renames, freezes, reactivates or permanently closes an account.
func (s *AccountService) Update(ctx context.Context, id string, p AccountUpdateParams) (*Account, error) {
	return submit(ctx, s.c, api.UpdateAccount, p, id)
}

// Balances reads the balances of an account, all at the same moment.
func (s *AccountService) Balances(ctx context.Context, id string) (*AccountBalances, error) {
	return run(ctx, s.c, api.GetAccountBalances, id)
}

// PostingListParams select one page of the postings of an account.
type PostingListParams struct {
	// Bucket is [BucketAvailable], [BucketReserved] or [BucketPending].
	Bucket string
	// Reference is the id of the payout, transfer or deposit of the postings.
	Reference string
	// Since and Until bound the creation time, both inclusive.
	Since, Until time.Time
	// Limit is the largest number of items on a page, 1 to 100. The default is 25.
	Limit int
	// Cursor is the cursor of the previous page.
	Cursor string
}

func (p PostingListParams) query() query {
	return ListParams{p.Limit, p.Cursor}.query().text("bucket", p.Bucket).text("reference", p.Reference).
		time("since", p.Since).time("until", p.Until)
}

// Postings reads one page of the postings of an account, newest first.
func (s *AccountService) Postings(ctx context.Context, id string, p PostingListParams) (*Page[Posting], error) {
	return list(ctx, s.c, api.ListPostings, p.query(), id)
}

// AllPostings iterates over the postings of an account, newest first.
func (s *AccountService) AllPostings(ctx context.Context, id string, p PostingListParams) iter.Seq2[Posting, error] {
	return all(ctx, s.c, api.ListPostings, p.query(), id)
}

// Transfer moves money between two accounts of a workspace.
func (s *AccountService) Transfer(ctx context.Context, p TransferParams) (*Transfer, error) {
	return submit(ctx, s.c, api.CreateTransfer, p)
}

// DepositListParams select one page of the deposits of a workspace, or of one of its accounts.
type DepositListParams struct {
	WorkspaceID string
	AccountID   string
	// Limit is the largest number of items on a page, 1 to 100. The default is 25.
	Limit int
	// Cursor is the cursor of the previous page.
	Cursor string
}

func (p DepositListParams) query() query {
	return ListParams{p.Limit, p.Cursor}.query().text("workspace_id", p.WorkspaceID).text("account_id", p.AccountID)
}

// Deposits reads one page of deposits, newest first.
func (s *AccountService) Deposits(ctx context.Context, p DepositListParams) (*Page[Deposit], error) {
	return list(ctx, s.c, api.ListDeposits, p.query())
}

// AllDeposits iterates over deposits, newest first.
func (s *AccountService) AllDeposits(ctx context.Context, p DepositListParams) iter.Seq2[Deposit, error] {
	return all(ctx, s.c, api.ListDeposits, p.query())
}
