package payout

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/rail"
)

// The states of a payout.
//
//	draft ─▶ initiated ─▶ pending ─▶ processing ─▶ completed ─▶ reversed
//	  │          │           │            └──────▶ failed ─▶ (retry) pending
//	  └──────────┴───────────┴─▶ cancelled
//
// People who resolve a payout that needs attention move it further:
//
//	pending, processing ─▶ completed   paid       completed ─▶ failed   not paid
//	pending, processing ─▶ failed      not paid   failed, cancelled ─▶ completed   paid
const (
	Draft      = api.PayoutDraft
	Initiated  = api.PayoutInitiated // checked, and waiting for approval
	Pending    = api.PayoutPending   // its money is reserved, and it waits to be sent
	Processing = api.PayoutProcessing
	Completed  = api.PayoutCompleted
	Failed     = api.PayoutFailed
	Cancelled  = api.PayoutCancelled
	Reversed   = api.PayoutReversed // the bank has returned it
)

// Reasons why a payout needs a person.
const (
	// OutcomeUnknown: no answer; the payment may have been sent.
	OutcomeUnknown = "outcome_unknown"
)

// Payout is a row of the table payout.
type Payout struct {
	ID            string
	WorkspaceID   string
	AccountID     string
	Amount        int64
	Currency      string
	Mode          string
	ExternalID    string
	Description   string
	Rail          string
	RailAsked     string // "" if the request did not choose a rail
	RailWhy       string
	EntryID       string
	MethodID      string
	Institution   string
	AccountName   string
	sealed        []byte // the account number
	key           []byte // the key that finds it
	Batch         string
	Status        string
	Attention     string
	FailureCode   string
	FailureReason string // the rail's own code
	FailureText   string
	CancelReason  string
	Rejected      bool // cancelled because it was rejected
	Stopped       bool // sending is stopped in its workspace and mode
	MakerID       string
	KeyID         string // the API key of the last request or change of a draft that came with one
	Involved      string // the ids of all who had a part in it: none of them approves it
	ApprovalID    string
	ApprovalWhy   string // who has to approve it, or why no approval is needed
	Attempts      int64
	CountedAt     int64 // when it was requested last, and counted for rules by sum
	ReservedAt    int64 // when its money was reserved last
	// ApprovalsNeeded is how many approvals were needed then.
	ApprovalsNeeded int64
	Overrides       string // limits and rules that do not hold it, because people decided that after its money was reserved
	RecheckID       string // the approval that a held payout waits for
	SendAt          int64
	ExpectedAt      int64
	Version         int64
	CreatedAt       int64
	UpdatedAt       int64
	EndedAt         int64

	workspace int64  // the number of the workspace, for the vault
	termsMAC  []byte // see termsCode
}

// columns are those of readRow. A payout that was cancelled before its batch was rejected does not count as rejected.
const columns = `p.id, p.workspace_id, p.account_id, p.amount, p.currency, p.mode, p.external_id, p.description, p.rail, p.rail_asked, p.rail_why,
	p.entry_id, p.method_id, p.institution_code, p.account_name, p.account_sealed, p.destination_key, p.batch_id, p.status, p.attention,
	p.failure_code, p.failure_reason, p.failure_text, p.cancel_reason, p.maker_id, p.involved, p.approval_id, p.approval_why, p.attempts, p.reserved_at, p.send_at, p.expected_at, p.version,
	p.created_at, p.updated_at, p.ended_at, w.number, p.approvals_needed, p.overrides, p.recheck_id, p.terms_mac,
	p.counted_at, p.status = 'cancelled' AND EXISTS (SELECT 1 FROM approval a WHERE a.id = p.approval_id AND a.state = 'rejected' AND a.decided_at <= p.ended_at),
	p.ended_at = 0 AND (SELECT count(*) FROM payout_stop s WHERE s.workspace_id = p.workspace_id AND s.mode = p.mode AND s.stopped_at > 0) > 0,
	p.key_id FROM payout p JOIN workspace w ON w.id = p.workspace_id`

func readRow(r db.Rows) Payout {
	return Payout{
		ID: r.Text(0), WorkspaceID: r.Text(1), AccountID: r.Text(2), Amount: r.Int(3), Currency: r.Text(4), Mode: r.Text(5), ExternalID: r.Text(6),
		Description: r.Text(7), Rail: r.Text(8), RailAsked: r.Text(9), RailWhy: r.Text(10), EntryID: r.Text(11), MethodID: r.Text(12),
		Institution: r.Text(13), AccountName: r.Text(14), sealed: bytes.Clone(r.Raw(15)), key: bytes.Clone(r.Raw(16)), Batch: r.Text(17),
		Status: r.Text(18), Attention: r.Text(19), FailureCode: r.Text(20), FailureReason: r.Text(21), FailureText: r.Text(22), CancelReason: r.Text(23),
		MakerID: r.Text(24), Involved: r.Text(25), ApprovalID: r.Text(26), ApprovalWhy: r.Text(27), Attempts: r.Int(28), ReservedAt: r.Int(29),
		SendAt: r.Int(30), ExpectedAt: r.Int(31), Version: r.Int(32), CreatedAt: r.Int(33), UpdatedAt: r.Int(34), EndedAt: r.Int(35), workspace: r.Int(36),
		ApprovalsNeeded: r.Int(37), Overrides: r.Text(38), RecheckID: r.Text(39), termsMAC: bytes.Clone(r.Raw(40)), CountedAt: r.Int(41), Rejected: r.Bool(42), Stopped: r.Bool(43),
		KeyID: r.Text(44),
	}
}

// Find reads a payout; its id is empty if there is none.
func Find(q db.Q, id string) (Payout, error) {
	return first(db.Collect(q, readRow, `SELECT `+columns+` WHERE p.id = $1`, id))
}

// EndToEndID returns the name of an attempt at every rail. It follows from the payout and the number of the attempt, so every copy of the
// store returns the same name.
func EndToEndID(payoutID string, attempt int64) string {
	_, id, _ := strings.Cut(payoutID, "_")
	return fmt.Sprintf("%sA%d", strings.ToUpper(id), attempt)
}

// PayoutOf is the inverse of EndToEndID. It reports whether the id is one of ours.
func PayoutOf(endToEndID string) (payoutID string, attempt int64, ok bool) {
	at := strings.LastIndex(endToEndID, "A")
	if at < 1 {
		return "", 0, false
	}
	attempt, err := strconv.ParseInt(endToEndID[at+1:], 10, 64)
	payoutID = "po_" + strings.ToLower(endToEndID[:at])
	return payoutID, attempt, err == nil && EndToEndID(payoutID, attempt) == endToEndID
}

// sandbox reports whether the payout moves no real money.
func (p Payout) sandbox() bool { return p.Mode == api.ModeSandbox }

// payment returns a submission of an attempt as a rail gets it. For a look-up of an attempt that the store does not have, it has no
// submission number.
func (p Payout) payment(a *attempt, number string) rail.Payment {
	return rail.Payment{
		EndToEndID: EndToEndID(p.ID, a.number), PayoutID: p.ID, Attempt: int(a.number), Submission: int(a.submission), NotPaid: int(a.notPaid), WorkspaceID: p.WorkspaceID,
		AccountID: p.AccountID, Amount: p.Amount, Currency: p.Currency,
		To:          rail.Destination{Institution: p.Institution, AccountNumber: number, AccountName: p.AccountName},
		Description: p.Description, At: a.createdAt, ClaimedAt: a.claimedAt, SendBefore: a.claimedAt + sendWindow.Milliseconds(), Since: p.CreatedAt,
	}
}
