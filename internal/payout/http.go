package payout

import (
	"fmt"
	"strconv"

	"bursar/api"
	"bursar/internal/fault"
	"bursar/internal/payout/control"
	"bursar/internal/web"
)

const (
	maxDescription = 140 // the length that every rail carries
	maxName        = 200
	maxReason      = 1000
	maxSearch      = 100
)

// CreateInput describes a new payout.
type CreateInput struct {
	api.PayoutCreate
}

// Validate checks the payout without reading the database.
func (in *CreateInput) Validate(v *fault.Violations) {
	checkSource(v, in.SourceAccountID, in.Currency)
	checkTerms(v, "", in.PayoutTerms)
	web.CheckOneOf(v, "status", in.Status, api.PayoutDraft, api.PayoutPublished)
}

func checkSource(v *fault.Violations, accountID, currency string) {
	web.CheckText(v, "source_account_id", accountID, 1, 100)
	if len(currency) != 3 {
		v.Add("currency", "must be a code of ISO 4217, such as PHP")
	}
}

func checkTerms(v *fault.Violations, path string, t api.PayoutTerms) {
	checkAmount(v, path+"amount_cents", t.AmountCents)
	checkTexts(v, path, t)
	if (t.ReceivingMethodID == nil) == (t.SettlementAccount == nil) {
		v.Add(path+"receiving_method_id", "or settlement_account must be given: one of the two")
	}
	checkDestination(v, path, t.ReceivingMethodID, t.SettlementAccount)
}

func checkTexts(v *fault.Violations, path string, t api.PayoutTerms) {
	web.CheckOptionalText(v, path+"external_id", t.ExternalID, 1, api.MaxExternalID)
	web.CheckOptionalText(v, path+"description", t.Description, 0, maxDescription)
	web.CheckOptionalText(v, path+"settlement_rail", t.SettlementRail, 1, 100)
}

func checkAmount(v *fault.Violations, field string, amount int64) {
	if amount < 1 || amount > api.MaxAmount {
		v.Add(field, fmt.Sprintf("must be an integer from 1 to %d", int64(api.MaxAmount)))
	}
}

func checkDestination(v *fault.Violations, path string, methodID *string, a *api.SettlementAccount) {
	web.CheckOptionalText(v, path+"receiving_method_id", methodID, 1, 100)
	if a == nil {
		return
	}
	web.CheckText(v, path+"settlement_account.bank_account_name", a.BankAccountName, 1, maxName)
	web.CheckText(v, path+"settlement_account.bank_account_number", a.BankAccountNumber, 1, 100)
	web.CheckText(v, path+"settlement_account.bank_code", a.BankCode, 1, 100)
}

// ListInput is a request for a page of the payouts of a workspace.
type ListInput struct {
	WorkspaceID *string `query:"workspace_id"`
	AccountID   *string `query:"source_account_id"`
	Status      *string `query:"status"`
	EntryID     *string `query:"entry_id"`
	BatchID     *string `query:"batch_id"`
	Rail        *string `query:"rail"`
	ExternalID  *string `query:"external_id"`
	Since       *string `query:"since"`
	Until       *string `query:"until"`
	Q           *string `query:"q"`
	web.PageParams

	since, until int64
}

// Validate checks the page and the filters.
func (in *ListInput) Validate(v *fault.Violations) {
	in.PageParams.Validate(v)
	web.CheckOneOf(v, "status", in.Status, api.PayoutStates()...)
	web.CheckOptionalReference(v, "q", in.Q, 1, maxSearch)
	in.since, in.until = checkTime(v, "since", in.Since), checkTime(v, "until", in.Until)
}

func checkTime(v *fault.Violations, field string, text *string) int64 {
	if text == nil {
		return 0
	}
	at, err := strconv.ParseInt(*text, 10, 64)
	if err != nil || at < 0 || at > web.LastMillisecond {
		v.Add(field, "must be a time in Unix milliseconds")
	}
	return at
}

// Input names a payout or a batch.
type Input struct {
	ID string `path:"id"`
}

// GetInput names a payout, and contains whether to return its account number in full.
type GetInput struct {
	ID     string  `path:"id"`
	Reveal *string `query:"reveal"`
}

// Validate checks the parameters.
func (in *GetInput) Validate(v *fault.Violations) {
	web.CheckOneOf(v, "reveal", in.Reveal, "true", "false")
}

// UpdateInput names a draft and contains the changes to it.
type UpdateInput struct {
	ID string `path:"id"`
	api.PayoutUpdate
}

// Validate checks the changes without reading the database.
func (in *UpdateInput) Validate(v *fault.Violations) {
	if in.AmountCents != nil {
		checkAmount(v, "amount_cents", *in.AmountCents)
	}
	web.CheckOptionalText(v, "description", in.Description, 0, maxDescription)
	web.CheckOptionalText(v, "settlement_rail", in.SettlementRail, 0, 100)
	if in.ReceivingMethodID != nil && in.SettlementAccount != nil {
		v.Add("receiving_method_id", "must not be given together with settlement_account")
	}
	checkDestination(v, "", in.ReceivingMethodID, in.SettlementAccount)
}

// ApproveInput names a payout, and contains what was shown to the approver and how it was checked.
type ApproveInput struct {
	ID string `path:"id"`
	api.PayoutApprove
}

// Validate checks the texts without reading the database.
func (in *ApproveInput) Validate(v *fault.Violations) {
	web.CheckText(v, "digest", in.Digest, 1, 100)
	web.CheckText(v, "verification", in.Verification, 0, maxReason)
}

// RejectInput names a payout and contains the reason for the rejection.
type RejectInput struct {
	ID string `path:"id"`
	api.PayoutReject
}

// Validate checks the reason without reading the database.
func (in *RejectInput) Validate(v *fault.Violations) {
	web.CheckText(v, "reason", in.Reason, 1, maxReason)
}

// ResolveInput names a payout and contains whether it was paid.
type ResolveInput struct {
	ID string `path:"id"`
	api.PayoutResolve
}

// Validate checks the resolution without reading the database.
func (in *ResolveInput) Validate(v *fault.Violations) {
	web.CheckOneOf(v, "as", &in.As, api.ResolvePaid, api.ResolveNotPaid)
	web.CheckText(v, "evidence", in.Evidence, 1, maxReason)
}

// CancelInput names a payout and may contain the reason for the cancellation.
type CancelInput struct {
	ID string `path:"id"`
	api.PayoutCancel
}

// Validate checks the reason without reading the database.
func (in *CancelInput) Validate(v *fault.Violations) {
	web.CheckText(v, "reason", in.Reason, 0, maxReason)
}

// BatchInput describes many new payouts.
type BatchInput struct {
	api.PayoutBatchCreate

	// Of a part of a file: why payouts are refused, by their position, and what earlier parts that were only checked have spent and counted.
	faults  []error
	spent   int64
	counted control.Used
}

// Validate checks the payouts without reading the database.
func (in *BatchInput) Validate(v *fault.Violations) {
	checkSource(v, in.SourceAccountID, in.Currency)
	web.CheckOptionalText(v, "description", in.Description, 0, maxDescription)
	if n := len(in.Payouts); n < 1 || n > api.MaxBatch {
		v.Add("payouts", fmt.Sprintf("must have 1 to %d elements", api.MaxBatch))
		return
	}
	for i, t := range in.Payouts {
		checkTerms(v, "payouts."+strconv.Itoa(i)+".", t)
	}
}

// Cost returns how many requests the batch counts as for the rate limit.
func (in *BatchInput) Cost() int { return (len(in.Payouts) + api.BatchCost - 1) / api.BatchCost }

// FileInput describes a file of new payouts.
type FileInput struct {
	SourceAccountID string  `query:"source_account_id" required:"true"`
	Currency        string  `query:"currency" required:"true"`
	Description     *string `query:"description"`
	DryRun          *string `query:"dry_run"`
}

// Validate checks the parameters.
func (in *FileInput) Validate(v *fault.Violations) {
	checkSource(v, in.SourceAccountID, in.Currency)
	web.CheckOptionalText(v, "description", in.Description, 0, maxDescription)
	web.CheckOneOf(v, "dry_run", in.DryRun, "true", "false")
}
