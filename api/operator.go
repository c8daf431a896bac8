package api

// Kinds of operator requests that another operator has to confirm.
const (
	OpsDeposit = "deposit" // to a live account
	OpsReset   = "reset"   // of the sign-in of a person who may approve
	OpsAppoint = "appoint" // of an approver
)

// OpsRequest is a request of one operator that another has to confirm.
type OpsRequest struct {
	ID          string `json:"id"`
	Kind        string `json:"kind"`
	Summary     string `json:"summary"`
	RequestedBy string `json:"requested_by"`
	CreatedAt   int64  `json:"created_at"`
	ExpiresAt   int64  `json:"expires_at"`
	// Digest covers everything shown. Send it back to confirm exactly that.
	Digest string `json:"digest"`
	// Permission is the permission that the caller needs to decide it.
	Permission string `json:"permission"`
	// EndedBecause says why it can no longer be confirmed.
	EndedBecause string `json:"ended_because,omitzero"`
}

// OpsApprove confirms what was shown.
type OpsApprove struct {
	Digest string `json:"digest" required:"true"`
}

// OpsDecision is the result of deciding a request. Its state is "approved" or "rejected".
type OpsDecision struct {
	ID    string `json:"id"`
	State string `json:"state"`
}
