package api

// The states of a payout.
const (
	PayoutDraft      = "draft"
	PayoutInitiated  = "initiated" // validated, and waits for approval
	PayoutPending    = "pending"   // its money is reserved; it waits to be sent
	PayoutProcessing = "processing"
	PayoutCompleted  = "completed"
	PayoutFailed     = "failed"
	PayoutCancelled  = "cancelled"
	PayoutReversed   = "reversed" // returned by the bank
)

// PayoutStates returns the states of a payout.
func PayoutStates() []string {
	return []string{PayoutDraft, PayoutInitiated, PayoutPending, PayoutProcessing, PayoutCompleted, PayoutFailed, PayoutCancelled, PayoutReversed}
}

// PayoutPublished requests a payout that is submitted at once. It is not a state.
const PayoutPublished = "published"

// MaxAmount is the largest amount, in the minor unit.
const MaxAmount = 999_999_999_999_999

// SettlementAccount is an account to pay. It need not be in the directory.
type SettlementAccount struct {
	BankAccountName string `json:"bank_account_name"`
	// BankAccountNumber is masked in responses, unless the request asks for it.
	BankAccountNumber string `json:"bank_account_number"`
	BankCode          string `json:"bank_code"`
}

// PayoutTerms are the amount and the destination: a receiving method or a settlement account.
type PayoutTerms struct {
	AmountCents       int64              `json:"amount_cents" required:"true"`
	ExternalID        *string            `json:"external_id,omitzero"`
	Description       *string            `json:"description,omitzero"`
	SettlementRail    *string            `json:"settlement_rail,omitzero"`
	ReceivingMethodID *string            `json:"receiving_method_id,omitzero"`
	SettlementAccount *SettlementAccount `json:"settlement_account,omitzero"`
}

// PayoutCreate requests a payout.
type PayoutCreate struct {
	SourceAccountID string `json:"source_account_id" required:"true"`
	Currency        string `json:"currency" required:"true"`
	PayoutTerms
	Status *string `json:"status,omitzero"` // PayoutDraft or PayoutPublished, which is the default
}

// PayoutUpdate changes a draft. Nil fields stay as they are.
type PayoutUpdate struct {
	AmountCents       *int64             `json:"amount_cents,omitzero"`
	Description       *string            `json:"description,omitzero"`
	SettlementRail    *string            `json:"settlement_rail,omitzero"` // "" lets the server choose
	ReceivingMethodID *string            `json:"receiving_method_id,omitzero"`
	SettlementAccount *SettlementAccount `json:"settlement_account,omitzero"`
}

// Payout is a payout request.
type Payout struct {
	ID              string `json:"id"`
	WorkspaceID     string `json:"workspace_id"`
	SourceAccountID string `json:"source_account_id"`
	AmountCents     int64  `json:"amount_cents"`
	Currency        string `json:"currency"`
	Mode            string `json:"mode"` // ModeSandbox or ModeLive
	Status          string `json:"status"`
	ExternalID      string `json:"external_id,omitzero"`
	Description     string `json:"description,omitzero"`
	// SettlementRail is the rail of the payout. RailReason is why it was chosen.
	SettlementRail string `json:"settlement_rail"`
	RailReason     string `json:"rail_reason"`
	// EntryID and ReceivingMethodID identify the payee and the method if the destination is in the directory.
	EntryID           string            `json:"entry_id,omitzero"`
	ReceivingMethodID string            `json:"receiving_method_id,omitzero"`
	SettlementAccount SettlementAccount `json:"settlement_account"`
	BankName          string            `json:"bank_name"`
	BatchID           string            `json:"batch_id,omitzero"`
	MakerID           string            `json:"maker_id"`
	// ApprovalID is the approval, pending or given. ApprovalReason states who has to approve, or why no approval is needed.
	ApprovalID     string `json:"approval_id,omitzero"`
	ApprovalReason string `json:"approval_reason,omitzero"`
	// Attention is the reason why a person has to look at the payout, such as outcome_unknown.
	Attention string `json:"attention,omitzero"`
	// RecheckApprovalID is the approval that a held payout waits for.
	RecheckApprovalID string `json:"recheck_approval_id,omitzero"`
	// ResolveApprovalID is the approval that a resolution of the payout waits for. It is omitted from lists.
	ResolveApprovalID string `json:"resolve_approval_id,omitzero"`
	// Attempts lists the attempts to send it. It is omitted from lists.
	Attempts []PayoutAttempt `json:"attempts,omitzero"`
	Failure  *PayoutFailure  `json:"failure,omitzero"`
	// CancelReason is the reason of the cancellation, if one was given.
	CancelReason string `json:"cancel_reason,omitzero"`
	// Rejected reports that it was cancelled because an approver rejected it.
	Rejected bool `json:"rejected,omitzero"`
	// SendingStopped reports that it is pending and not sent, because sending is stopped in its workspace and mode.
	SendingStopped bool `json:"sending_stopped,omitzero"`
	// SendAt is when it goes to the rail. ExpectedAt is when the payee should have it.
	SendAt     int64 `json:"send_at,omitzero"`
	ExpectedAt int64 `json:"expected_at,omitzero"`
	CreatedAt  int64 `json:"created_at"`
	UpdatedAt  int64 `json:"updated_at"`
	EndedAt    int64 `json:"ended_at,omitzero"`
}

// PayoutFailure is why a payout failed or was returned. It has a code of this API, and the rail's own code and message.
type PayoutFailure struct {
	Code    Code   `json:"code"`
	Reason  string `json:"reason,omitzero"`
	Message string `json:"message,omitzero"`
}

// PayoutStateDetails are the details of PAYOUT_STATE.
type PayoutStateDetails struct {
	Status string `json:"status"`
}

// MethodDetails are the details of METHOD_NOT_PAYABLE.
type MethodDetails struct {
	Status    string `json:"status"`
	PayableAt int64  `json:"payable_at,omitzero"`
}

// PayoutApprove approves what the approval of a payout shows, identified by its digest.
type PayoutApprove struct {
	Digest       string `json:"digest" required:"true"`
	Verification string `json:"verification,omitzero"`
}

// PayoutReject rejects a payout.
type PayoutReject struct {
	Reason string `json:"reason" required:"true"`
}

// PayoutCancel cancels a payout.
type PayoutCancel struct {
	Reason string `json:"reason,omitzero"`
}

// Resolutions of a payout that needs attention.
const (
	ResolvePaid    = "paid"
	ResolveNotPaid = "not_paid"
)

// PayoutResolve records whether a payout that needs attention was paid.
type PayoutResolve struct {
	As string `json:"as" required:"true"` // ResolvePaid or ResolveNotPaid
	// Evidence is the source of that finding, such as a reference in the bank's statement.
	Evidence string `json:"evidence" required:"true"`
}

// PayoutRehearsal is the dry-run result of a payout request.
type PayoutRehearsal struct {
	// Valid reports whether the request would be accepted. Faults lists everything wrong with it.
	Valid  bool          `json:"valid"`
	Faults []PayoutFault `json:"faults"`
	// The remaining fields are set as far as they can be determined.
	SettlementRail string `json:"settlement_rail,omitzero"`
	RailReason     string `json:"rail_reason,omitzero"`
	SendAt         int64  `json:"send_at,omitzero"`
	ExpectedAt     int64  `json:"expected_at,omitzero"`
	// ApprovalsNeeded is the number of people who have to approve it. ApprovalReason is why.
	ApprovalsNeeded int    `json:"approvals_needed"`
	ApprovalReason  string `json:"approval_reason,omitzero"`
}

// PayoutFault is an error about one payout, in the form of an error response.
type PayoutFault struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Details any    `json:"details,omitzero"`
}

// PayoutBatchCreate requests up to MaxBatch payouts from one account, under one approval.
type PayoutBatchCreate struct {
	SourceAccountID string        `json:"source_account_id" required:"true"`
	Currency        string        `json:"currency" required:"true"`
	Description     *string       `json:"description,omitzero"`
	Payouts         []PayoutTerms `json:"payouts" required:"true"`
	// Atomic refuses all payouts if one is refused.
	Atomic bool `json:"atomic,omitzero"`
	// DryRun returns the result of each payout and changes nothing.
	DryRun bool `json:"dry_run,omitzero"`
}

// Results of a payout of a batch.
const (
	BatchCreated = "created"
	BatchExisted = "existed" // a payout with the same external id and parameters exists
	BatchRefused = "refused"
	BatchValid   = "valid" // in a dry run: it would be created
)

// PayoutBatch is a batch of payouts.
type PayoutBatch struct {
	ID              string `json:"id,omitzero"` // empty if no payout was created
	WorkspaceID     string `json:"workspace_id"`
	SourceAccountID string `json:"source_account_id"`
	Currency        string `json:"currency"`
	Description     string `json:"description,omitzero"`
	// Payouts is the number of payouts created. TotalCents is their sum.
	Payouts    int64 `json:"payouts"`
	TotalCents int64 `json:"total_cents"`
	// Refused is the number of payouts refused when the batch was created. If it is not 0, the batch is partial.
	Refused        int64  `json:"refused"`
	MakerID        string `json:"maker_id,omitzero"`
	ApprovalID     string `json:"approval_id,omitzero"`
	ApprovalReason string `json:"approval_reason,omitzero"`
	CreatedAt      int64  `json:"created_at,omitzero"`
	// Statuses counts the payouts by state.
	Statuses map[string]int64 `json:"statuses"`
	// Results contains the result of each payout, in the order of the request. It is only in the response to the request. Later, list the
	// payouts of the batch.
	Results []PayoutBatchResult `json:"results,omitzero"`
}

// PayoutBatchResult is the result of one payout of a batch.
type PayoutBatchResult struct {
	// Line, To, AmountCents and ReceivingMethodID are set for a line of a file: its number, the payee as named there, and what was read.
	Line              int    `json:"line,omitzero"`
	To                string `json:"to,omitzero"`
	AmountCents       int64  `json:"amount_cents,omitzero"`
	ReceivingMethodID string `json:"receiving_method_id,omitzero"`

	Result         string       `json:"result"`
	ID             string       `json:"id,omitzero"`
	ExternalID     string       `json:"external_id,omitzero"`
	Status         string       `json:"status,omitzero"`
	SettlementRail string       `json:"settlement_rail,omitzero"`
	ExpectedAt     int64        `json:"expected_at,omitzero"`
	Error          *PayoutFault `json:"error,omitzero"`
}
