package client

import (
	"context"
	"iter"
	"net/http"
	"time"
)

// AccountService manages the accounts of a workspace and their money. For a machine client, an empty workspace id means its own workspace.
type AccountService struct{ c *Client }

// List reads the accounts of a workspace, with their balances.
func (s *AccountService) List(ctx context.Context, workspaceID string, p ListParams) (*Page[Account], error) {
	return list[Account](ctx, s.c, p.query().text("workspace_id", workspaceID), "/v2/accounts")
}

// All iterates over the accounts of a workspace.
func (s *AccountService) All(ctx context.Context, workspaceID string, p ListParams) iter.Seq2[Account, error] {
	return walk(p.Cursor, func(cursor string) (*Page[Account], error) {
		return s.List(ctx, workspaceID, p.at(cursor))
	})
}

// Create opens an account.
func (s *AccountService) Create(ctx context.Context, p AccountCreateParams) (*Account, error) {
	return change[Account](ctx, s.c, http.MethodPost, p, "/v2/accounts")
}

// Get reads an account.
func (s *AccountService) Get(ctx context.Context, id string) (*Account, error) {
	return read[Account](ctx, s.c, "/v2/accounts", id)
}

// Update renames, freezes, reactivates or permanently closes an account.
func (s *AccountService) Update(ctx context.Context, id string, p AccountUpdateParams) (*Account, error) {
	return change[Account](ctx, s.c, http.MethodPatch, p, "/v2/accounts", id)
}

// Balances reads the balances of an account, all at the same moment.
func (s *AccountService) Balances(ctx context.Context, id string) (*AccountBalances, error) {
	return read[AccountBalances](ctx, s.c, "/v2/accounts", id, "balances")
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

// Postings reads one page of the postings of an account, newest first.
func (s *AccountService) Postings(ctx context.Context, id string, p PostingListParams) (*Page[Posting], error) {
	q := query{}.text("bucket", p.Bucket).text("reference", p.Reference).time("since", p.Since).time("until", p.Until).
		number("limit", p.Limit).text("cursor", p.Cursor)
	return list[Posting](ctx, s.c, q, "/v2/accounts", id, "postings")
}

// AllPostings iterates over the postings of an account, newest first.
func (s *AccountService) AllPostings(ctx context.Context, id string, p PostingListParams) iter.Seq2[Posting, error] {
	return walk(p.Cursor, func(cursor string) (*Page[Posting], error) {
		p.Cursor, p.Limit = cursor, pageSize(p.Limit)
		return s.Postings(ctx, id, p)
	})
}

// Transfer moves money between two accounts of a workspace.
func (s *AccountService) Transfer(ctx context.Context, p TransferParams) (*Transfer, error) {
	return change[Transfer](ctx, s.c, http.MethodPost, p, "/v2/transfers")
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

// Deposits reads one page of deposits, newest first.
func (s *AccountService) Deposits(ctx context.Context, p DepositListParams) (*Page[Deposit], error) {
	q := query{}.text("workspace_id", p.WorkspaceID).text("account_id", p.AccountID).number("limit", p.Limit).text("cursor", p.Cursor)
	return list[Deposit](ctx, s.c, q, "/v2/deposits")
}

// AllDeposits iterates over deposits, newest first.
func (s *AccountService) AllDeposits(ctx context.Context, p DepositListParams) iter.Seq2[Deposit, error] {
	return walk(p.Cursor, func(cursor string) (*Page[Deposit], error) {
		p.Cursor, p.Limit = cursor, pageSize(p.Limit)
		return s.Deposits(ctx, p)
	})
}
