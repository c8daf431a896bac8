package ledger

import (
	"fmt"
	"strconv"

	"bursar/api"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// MaxAmount is the largest amount of a request: 15 digits.
const MaxAmount = 999_999_999_999_999

const (
	maxID          = 100
	maxName        = 100
	maxDescription = 140 // the length that fits into a bank's message
	maxReference   = 100
)

// CheckAmount reports an amount that is not positive, or has more than 15 digits.
func CheckAmount(v *fault.Violations, field string, amount int64) {
	if amount < 1 || amount > MaxAmount {
		v.Add(field, fmt.Sprintf("must be an integer from 1 to %d", MaxAmount))
	}
}

// ListInput is a request for the accounts of a workspace.
type ListInput struct {
	WorkspaceID *string `query:"workspace_id"`
	web.PageParams
}

// CreateInput describes a new account.
type CreateInput struct{ api.AccountCreate }

// Validate checks the values without reading the database.
func (in *CreateInput) Validate(v *fault.Violations) {
	web.CheckText(v, "name", in.Name, 1, maxName)
	web.CheckOneOf(v, "mode", in.Mode, api.ModeSandbox, api.ModeLive)
}

// Input names an account.
type Input struct {
	ID string `path:"id"`
}

// UpdateInput names an account and contains the changes to it.
type UpdateInput struct {
	ID string `path:"id"`
	api.AccountUpdate
}

// Validate checks the values without reading the database.
func (in *UpdateInput) Validate(v *fault.Violations) {
	web.CheckOptionalText(v, "name", in.Name, 1, maxName)
	web.CheckOneOf(v, "status", in.Status, api.AccountActive, api.AccountFrozen, api.AccountClosed)
}

// unfreezes reports whether making the account active is the only change.
func (in *UpdateInput) unfreezes() bool {
	return in.Name == nil && in.Status != nil && *in.Status == api.AccountActive
}

// PostingsInput is a request for a page of the postings of an account.
type PostingsInput struct {
	ID        string  `path:"id"`
	Bucket    *string `query:"bucket"`
	Reference *string `query:"reference"`
	Since     *string `query:"since"`
	Until     *string `query:"until"`
	web.PageParams

	since, until int64
}

// Validate checks the page and the filters.
func (in *PostingsInput) Validate(v *fault.Violations) {
	in.PageParams.Validate(v)
	web.CheckOneOf(v, "bucket", in.Bucket, api.BucketAvailable, api.BucketReserved, api.BucketPending)
	web.CheckOptionalText(v, "reference", in.Reference, 1, maxReference)
	in.since = checkTime(v, "since", in.Since, 0)
	in.until = checkTime(v, "until", in.Until, web.LastMillisecond)
}

func checkTime(v *fault.Violations, field string, text *string, absent int64) int64 {
	if text == nil {
		return absent
	}
	at, err := strconv.ParseInt(*text, 10, 64)
	if err != nil || at < 0 || at > web.LastMillisecond {
		v.Add(field, "must be a time in Unix milliseconds")
	}
	return at
}

// TransferInput is a request to move money between two accounts of a workspace.
type TransferInput struct{ api.TransferCreate }

// Validate checks the values without reading the database.
func (in *TransferInput) Validate(v *fault.Violations) {
	web.CheckText(v, "source_account_id", in.SourceAccountID, 1, maxID)
	web.CheckText(v, "destination_account_id", in.DestinationAccountID, 1, maxID)
	CheckAmount(v, "amount_cents", in.Amount)
	web.CheckOptionalText(v, "description", in.Description, 0, maxDescription)
	if in.SourceAccountID == in.DestinationAccountID {
		v.Add("destination_account_id", "must be another account")
	}
}

// DepositsInput is a request for a page of the deposits of a workspace, or of one of its accounts.
type DepositsInput struct {
	WorkspaceID *string `query:"workspace_id"`
	AccountID   *string `query:"account_id"`
	web.PageParams
}
