package api

// What an operator can ask another one to confirm.
const (
	OpsDeposit = "deposit" // into a live account
	OpsReset   = "reset"   // how a person signs in who may approve
	OpsAppoint = "appoint" // an approver
)

// OpsRequest is what an operator has asked for and another one has to confirm.
type OpsRequest struct {
	ID          string `json:"id"`
	Kind        string `json:"kind"`
	Summary     string `json:"summary"`
	RequestedBy string `json:"requested_by"`
	CreatedAt   int64  `json:"created_at"`
	ExpiresAt   int64  `json:"expires_at"`
	// Digest covers everything that was shown. Send it back to confirm exactly that.
	Digest string `json:"digest"`
	// Permission is what the caller needs to decide it.
	Permission string `json:"permission"`
}

// OpsApprove confirms what was shown.
type OpsApprove struct {
	Digest string `json:"digest" required:"true"`
}

// OpsDecision is the answer to deciding a request: its state is "approved" or "rejected".
type OpsDecision struct {
	ID    string `json:"id"`
	State string `json:"state"`
}
