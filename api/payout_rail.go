package api

// PayoutAttempt is one attempt to send a payout to its rail.
type PayoutAttempt struct {
	ID     string `json:"id"`
	Number int64  `json:"number"`
	// Submission is the number of times the attempt was handed to the rail. It increases when the rail has not received it, or on a retry
	// after a person found that it was not paid.
	Submission int64 `json:"submission"`
	// EndToEndID identifies the attempt at the rail and at both banks.
	EndToEndID string `json:"end_to_end_id"`
	// State is sending, accepted, unknown, completed, rejected or not_received.
	State string `json:"state"`
	// Reason and Message are the rail's own code and message. Reference is the rail's id.
	Reason     string `json:"reason,omitzero"`
	Message    string `json:"message,omitzero"`
	Reference  string `json:"reference,omitzero"`
	CreatedAt  int64  `json:"created_at"`
	AnsweredAt int64  `json:"answered_at,omitzero"`
	// SettledAt is when the payment appeared in a bank statement.
	SettledAt int64 `json:"settled_at,omitzero"`
	// Resolved is the resolution of the newest submission: ResolvePaid or ResolveNotPaid.
	Resolved string `json:"resolved,omitzero"`
}

// PayoutReceipt confirms that a payout has arrived.
type PayoutReceipt struct {
	PayoutID        string `json:"payout_id"`
	WorkspaceID     string `json:"workspace_id"`
	SourceAccountID string `json:"source_account_id"`
	SourceName      string `json:"source_name"`
	AmountCents     int64  `json:"amount_cents"`
	Currency        string `json:"currency"`
	Mode            string `json:"mode"`
	ExternalID      string `json:"external_id,omitzero"`
	Description     string `json:"description,omitzero"`
	SettlementRail  string `json:"settlement_rail"`
	// SettlementAccount is the account that was paid, with its number masked.
	SettlementAccount SettlementAccount `json:"settlement_account"`
	BankName          string            `json:"bank_name"`
	EndToEndID        string            `json:"end_to_end_id"`
	Reference         string            `json:"reference,omitzero"`
	CreatedAt         int64             `json:"created_at"`
	CompletedAt       int64             `json:"completed_at"`
}

// ReceiptDetails are the details of the error that is returned for the receipt of a failed payout.
type ReceiptDetails struct {
	FailureCode string `json:"failure_code"`
	Reason      string `json:"reason,omitzero"`
	Message     string `json:"message,omitzero"`
}

// The kinds of services.
const (
	ServiceRail        = "rail"
	ServiceConnector   = "connector"
	ServiceInstitution = "institution"
)

// ServiceHealth is the health of a rail, a connector or an institution.
type ServiceHealth struct {
	ServiceName string `json:"service_name"`
	Kind        string `json:"kind"`
	Mode        string `json:"mode"`
	Status      string `json:"status"` // up, degraded or down
	Reason      string `json:"reason,omitzero"`
	// Since is when the status last changed, or 0 if it never did.
	Since int64 `json:"since,omitzero"`
	// NextWindow is when a rail sends next, if it does not send continuously.
	NextWindow int64 `json:"next_window,omitzero"`
	// QueueDepth is the number of payouts that wait to be sent, up to 10,000. For the sandbox it covers the requested workspaces, for a
	// live service the whole server.
	QueueDepth int64 `json:"queue_depth"`
}

// Institution is a bank or a wallet that can be paid.
type Institution struct {
	Code  string            `json:"code"`
	Name  string            `json:"name"`
	Kind  string            `json:"kind"`
	Rails []InstitutionRail `json:"rails"`
}

// InstitutionRail is a rail that reaches an institution, with the institution's code on that rail.
type InstitutionRail struct {
	Rail string `json:"rail"`
	Code string `json:"code"`
}

// SimulatedDeposit adds money to a sandbox account.
type SimulatedDeposit struct {
	AccountID   string  `json:"account_id" required:"true"`
	AmountCents int64   `json:"amount_cents" required:"true"`
	Reference   *string `json:"reference,omitzero"`
}

// SimulatedReason is the ISO 20022 reason with which the simulator rejects or returns a payment.
type SimulatedReason struct {
	Reason *string `json:"reason,omitzero"`
}

// SimulatedService sets the state of a rail or an institution in the sandbox of a workspace.
type SimulatedService struct {
	WorkspaceID *string `json:"workspace_id,omitzero"`
	Status      string  `json:"status" required:"true"`
	Reason      *string `json:"reason,omitzero"`
}
