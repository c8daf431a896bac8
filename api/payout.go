package api

// The states of a payout.
const (
	PayoutDraft      = "draft"
	PayoutInitiated  = "initiated" // checked, and somebody has to approve it
	PayoutPending    = "pending"   // its money is reserved, and it waits to be sent
	PayoutProcessing = "processing"
	PayoutCompleted  = "completed"
	PayoutFailed     = "failed"
	PayoutCancelled  = "cancelled"
	PayoutReversed   = "reversed" // the bank has returned it
)

// PayoutStates lists the states that a payout can be in.
func PayoutStates() []string {
	return []string{PayoutDraft, PayoutInitiated, PayoutPending, PayoutProcessing, PayoutCompleted, PayoutFailed, PayoutCancelled, PayoutReversed}
}

// PayoutPublished asks for a payout that is checked and paid as soon as it may be. It is no state.
const PayoutPublished = "published"

// MaxAmount is the largest amount, in the minor unit.
const MaxAmount = 999_999_999_999_999

// SettlementAccount is an account that is paid and that the directory need not know.
type SettlementAccount struct {
	BankAccountName string `json:"bank_account_name"`
	// BankAccountNumber is masked in answers, unless it was asked for.
	BankAccountNumber string `json:"bank_account_number"`
	BankCode          string `json:"bank_code"`
}

// PayoutTerms say how much goes where: to a receiving method, or to a settlement account.
type PayoutTerms struct {
	AmountCents       int64              `json:"amount_cents" required:"true"`
	ExternalID        *string            `json:"external_id,omitzero"`
	Description       *string            `json:"description,omitzero"`
	SettlementRail    *string            `json:"settlement_rail,omitzero"`
	ReceivingMethodID *string            `json:"receiving_method_id,omitzero"`
	SettlementAccount *SettlementAccount `json:"settlement_account,omitzero"`
}

// PayoutCreate asks for a payout.
type PayoutCreate struct {
	SourceAccountID string `json:"source_account_id" required:"true"`
	Currency        string `json:"currency" required:"true"`
	PayoutTerms
	Status *string `json:"status,omitzero"` // PayoutDraft or PayoutPublished, which is the default
}

// PayoutUpdate says what to change about a draft. Whatever is nil stays as it is.
type PayoutUpdate struct {
	AmountCents       *int64             `json:"amount_cents,omitzero"`
	Description       *string            `json:"description,omitzero"`
	SettlementRail    *string            `json:"settlement_rail,omitzero"` // "" leaves the choice to the server
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
	// SettlementRail is the rail that carries it, and RailReason why it is that one.
	SettlementRail string `json:"settlement_rail"`
	RailReason     string `json:"rail_reason"`
	// EntryID and ReceivingMethodID are those of the directory, if it goes to one of its methods.
	EntryID           string            `json:"entry_id,omitzero"`
	ReceivingMethodID string            `json:"receiving_method_id,omitzero"`
	SettlementAccount SettlementAccount `json:"settlement_account"`
	BankName          string            `json:"bank_name"`
	BatchID           string            `json:"batch_id,omitzero"`
	MakerID           string            `json:"maker_id"`
	// ApprovalID is the approval that it waits for or was allowed by. ApprovalReason says who has
	// to approve it, or why nobody has to.
	ApprovalID     string `json:"approval_id,omitzero"`
	ApprovalReason string `json:"approval_reason,omitzero"`
	// Attention is why a person has to look at it, such as outcome_unknown.
	Attention string `json:"attention,omitzero"`
	// RecheckApprovalID is the approval that a held payout waits for.
	RecheckApprovalID string `json:"recheck_approval_id,omitzero"`
	// ResolveApprovalID is the approval that a resolution of it waits for. Only the answer for one payout has it.
	ResolveApprovalID string `json:"resolve_approval_id,omitzero"`
	// Attempts are how often it was sent. Only the answer for one payout has them.
	Attempts []PayoutAttempt `json:"attempts,omitzero"`
	Failure  *PayoutFailure  `json:"failure,omitzero"`
	// CancelReason is why it was cancelled, if somebody said so.
	CancelReason string `json:"cancel_reason,omitzero"`
	// Rejected says that it is cancelled because somebody who could have approved it rejected it.
	Rejected bool `json:"rejected,omitzero"`
	// SendingStopped says that it is pending and is not sent, because people have stopped that in its workspace and mode.
	SendingStopped bool `json:"sending_stopped,omitzero"`
	// SendAt is when it is handed to the rail, and ExpectedAt when the payee should have it.
	SendAt     int64 `json:"send_at,omitzero"`
	ExpectedAt int64 `json:"expected_at,omitzero"`
	CreatedAt  int64 `json:"created_at"`
	UpdatedAt  int64 `json:"updated_at"`
	EndedAt    int64 `json:"ended_at,omitzero"`
}

// PayoutFailure is why a payout failed or was returned: a code of the contract, and the rail's own
// code and words.
type PayoutFailure struct {
	Code    string `json:"code"`
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

// PayoutApprove allows what the approval of a payout shows, of which it sends the digest.
type PayoutApprove struct {
	Digest       string `json:"digest" required:"true"`
	Verification string `json:"verification,omitzero"`
}

// PayoutReject refuses it.
type PayoutReject struct {
	Reason string `json:"reason" required:"true"`
}

// PayoutCancel takes a payout back.
type PayoutCancel struct {
	Reason string `json:"reason,omitzero"`
}

// What people find out about a payout that needs attention.
const (
	ResolvePaid    = "paid"
	ResolveNotPaid = "not_paid"
)

// PayoutResolve settles whether a payout was paid that needs attention.
type PayoutResolve struct {
	As string `json:"as" required:"true"` // ResolvePaid or ResolveNotPaid
	// Evidence is how that was found out, such as a reference of the bank's statement.
	Evidence string `json:"evidence" required:"true"`
}

// PayoutRehearsal is what would become of a payout request.
type PayoutRehearsal struct {
	// Valid says that it would be accepted. Faults are everything that speaks against it.
	Valid  bool          `json:"valid"`
	Faults []PayoutFault `json:"faults"`
	// What follows is told as far as it can be.
	SettlementRail string `json:"settlement_rail,omitzero"`
	RailReason     string `json:"rail_reason,omitzero"`
	SendAt         int64  `json:"send_at,omitzero"`
	ExpectedAt     int64  `json:"expected_at,omitzero"`
	// ApprovalsNeeded is how many people have to approve it, and ApprovalReason says why.
	ApprovalsNeeded int    `json:"approvals_needed"`
	ApprovalReason  string `json:"approval_reason,omitzero"`
}

// PayoutFault is an error about one payout: what an answer would say.
type PayoutFault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Details any    `json:"details,omitzero"`
}

// PayoutBatchCreate asks for many payouts, MaxBatch at most, from one account, which one approval
// allows.
type PayoutBatchCreate struct {
	SourceAccountID string        `json:"source_account_id" required:"true"`
	Currency        string        `json:"currency" required:"true"`
	Description     *string       `json:"description,omitzero"`
	Payouts         []PayoutTerms `json:"payouts" required:"true"`
	// Atomic refuses all of them if one is refused.
	Atomic bool `json:"atomic,omitzero"`
	// DryRun tells what would become of each, and changes nothing.
	DryRun bool `json:"dry_run,omitzero"`
}

// What became of a payout of a batch.
const (
	BatchCreated = "created"
	BatchExisted = "existed" // a payout with the same external id and parameters was there
	BatchRefused = "refused"
	BatchValid   = "valid" // of a dry run: it would be created
)

// PayoutBatch is a batch of payouts.
type PayoutBatch struct {
	ID              string `json:"id,omitzero"` // none if no payout was created
	WorkspaceID     string `json:"workspace_id"`
	SourceAccountID string `json:"source_account_id"`
	Currency        string `json:"currency"`
	Description     string `json:"description,omitzero"`
	// Payouts is how many were created, and TotalCents their sum.
	Payouts    int64 `json:"payouts"`
	TotalCents int64 `json:"total_cents"`
	// Refused is how many were refused when the batch was made. A batch is partial if some were.
	Refused        int64  `json:"refused"`
	MakerID        string `json:"maker_id,omitzero"`
	ApprovalID     string `json:"approval_id,omitzero"`
	ApprovalReason string `json:"approval_reason,omitzero"`
	CreatedAt      int64  `json:"created_at,omitzero"`
	// Statuses counts the payouts by their state.
	Statuses map[string]int64 `json:"statuses"`
	// Results tell what became of each payout, in the order of the request. Only the answer to the
	// request has them: later, list the payouts of the batch.
	Results []PayoutBatchResult `json:"results,omitzero"`
}

// PayoutBatchResult is what became of one payout of a batch.
type PayoutBatchResult struct {
	Result         string       `json:"result"`
	ID             string       `json:"id,omitzero"`
	ExternalID     string       `json:"external_id,omitzero"`
	Status         string       `json:"status,omitzero"`
	SettlementRail string       `json:"settlement_rail,omitzero"`
	ExpectedAt     int64        `json:"expected_at,omitzero"`
	Error          *PayoutFault `json:"error,omitzero"`
}
