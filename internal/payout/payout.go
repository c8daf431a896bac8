package payout

import (
	"fmt"
	"strconv"
	"strings"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/rail"
	"bursar/internal/vault"
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

// Payout is a row of the table payout, with facts from other tables.
type Payout struct {
	ID              string `db:"id"`
	WorkspaceID     string `db:"workspace_id"`
	WorkspaceNumber int64  `db:"workspace_number,computed"` // for the vault
	AccountID       string `db:"account_id"`
	Amount          int64  `db:"amount"`
	Currency        string `db:"currency"`
	Mode            string `db:"mode"`
	ExternalID      string `db:"external_id,null"`
	Description     string `db:"description"`
	Rail            string `db:"rail"`
	RailAsked       string `db:"rail_asked"` // "" if the request did not choose a rail
	RailWhy         string `db:"rail_why"`
	EntryID         string `db:"entry_id,null"`
	MethodID        string `db:"method_id,null"`
	Institution     string `db:"institution_code"`
	AccountName     string `db:"account_name"`
	Sealed          []byte `db:"account_sealed"`  // the account number
	DestinationKey  []byte `db:"destination_key"` // finds it
	Batch           string `db:"batch_id,null"`
	Status          string `db:"status"`
	Attention       string `db:"attention"`
	FailureCode     string `db:"failure_code"`
	FailureReason   string `db:"failure_reason"` // the rail's own code
	FailureText     string `db:"failure_text"`
	CancelReason    string `db:"cancel_reason"`
	Rejected        bool   `db:"rejected,computed"` // cancelled because it was rejected
	Stopped         bool   `db:"stopped,computed"`  // sending is stopped in its workspace and mode
	MakerID         string `db:"maker_id"`
	KeyID           string `db:"key_id,null"` // the API key of the last request or change of a draft that came with one
	Involved        string `db:"involved"`    // the ids of all who had a part in it: none of them approves it
	ApprovalID      string `db:"approval_id,null"`
	ApprovalWhy     string `db:"approval_why"` // who has to approve it, or why no approval is needed
	Attempts        int64  `db:"attempts"`
	CountedAt       int64  `db:"counted_at"`       // when it was requested last, and counted for rules by sum
	ReservedAt      int64  `db:"reserved_at"`      // when its money was reserved last
	ApprovalsNeeded int64  `db:"approvals_needed"` // how many were needed then
	Overrides       string `db:"overrides"`        // limits and rules that do not hold it, because people decided that after its money was reserved
	RecheckID       string `db:"recheck_id,null"`  // the approval that a held payout waits for
	TermsMAC        []byte `db:"terms_mac"`        // see termsCode
	SendAt          int64  `db:"send_at"`
	ExpectedAt      int64  `db:"expected_at"`
	Version         int64  `db:"version"`
	CreatedAt       int64  `db:"created_at"`
	UpdatedAt       int64  `db:"updated_at"`
	EndedAt         int64  `db:"ended_at"`
}

var (
	// wholeRow is all of a payout. A payout that was cancelled before its batch was rejected does not count as rejected.
	wholeRow = db.Select[Payout]("p", map[string]string{
		"workspace_number": `w.number`,
		"rejected":         `p.status = 'cancelled' AND EXISTS (SELECT 1 FROM approval a WHERE a.id = p.approval_id AND a.state = 'rejected' AND a.decided_at <= p.ended_at)`,
		"stopped":          `p.ended_at = 0 AND (SELECT count(*) FROM payout_stop s WHERE s.workspace_id = p.workspace_id AND s.mode = p.mode AND s.stopped_at > 0) > 0`,
	})
	// sentRow is what the dispatcher needs of a payout. SQLite accepts no table alias in RETURNING.
	sentRow = db.Select[Payout]("payout", map[string]string{"workspace_number": `(SELECT w.number FROM workspace w WHERE w.id = payout.workspace_id)`},
		"id", "workspace_id", "workspace_number", "account_id", "amount", "currency", "mode", "external_id", "description", "rail", "institution_code",
		"account_name", "account_sealed", "destination_key", "entry_id", "batch_id", "status", "attention", "failure_code", "failure_reason",
		"failure_text", "maker_id", "key_id", "involved", "approval_id", "approvals_needed", "attempts", "counted_at", "reserved_at", "overrides",
		"terms_mac", "send_at", "created_at", "updated_at", "ended_at")
	// derivedColumns are stored beside the fields of a payout.
	derivedColumns = []db.Derived[Payout]{
		{Column: "name_key", Of: func(p *Payout) any { return nameKey(p.AccountName) }},
		{Column: "sealed_by", Of: func(p *Payout) any { return vault.KeyOf(p.Sealed) }},
	}
	insertedRow = db.InsertInto("payout", derivedColumns...)
	// changedRow is what a request changes of a payout.
	changedRow = db.UpdateOf("payout", derivedColumns, "workspace_id", "account_id", "currency", "mode", "external_id", "batch_id", "attention",
		"cancel_reason", "maker_id", "attempts", "recheck_id", "created_at")
	// answeredRow is what answers and people change of a payout that was sent.
	answeredRow = db.UpdateOnly[Payout]("payout", "status", "attention", "failure_code", "failure_reason", "failure_text", "attempts", "send_at",
		"updated_at", "ended_at", "reserved_at").If("status")
)

// selectPayouts is a query of whole payouts, without its condition.
var selectPayouts = `SELECT ` + wholeRow.Columns + ` FROM payout p JOIN workspace w ON w.id = p.workspace_id`

// readSent returns a row that begins with the columns of sentRow.
func readSent(r db.Rows) *Payout {
	p := sentRow.Read(r)
	return &p
}

// Find reads a payout; its id is empty if there is none.
func Find(q db.Q, id string) (Payout, error) {
	return db.First(q, wholeRow.Read, selectPayouts+` WHERE p.id = $1`, id)
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
		EndToEndID: EndToEndID(p.ID, a.Number), PayoutID: p.ID, Attempt: int(a.Number), Submission: int(a.Submission), NotPaid: int(a.NotPaid), WorkspaceID: p.WorkspaceID,
		AccountID: p.AccountID, Amount: p.Amount, Currency: p.Currency,
		To:          rail.Destination{Institution: p.Institution, AccountNumber: number, AccountName: p.AccountName},
		Description: p.Description, At: a.CreatedAt, ClaimedAt: a.ClaimedAt, SendBefore: a.ClaimedAt + sendWindow.Milliseconds(), Since: p.CreatedAt,
	}
}
