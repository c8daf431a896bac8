package api

// PayoutStopRequest stops sending the payouts of a workspace.
type PayoutStopRequest struct {
	Reason string  `json:"reason" required:"true"`
	Mode   *string `json:"mode,omitzero"` // ModeSandbox or ModeLive; both unless given
}

// PayoutResumeRequest sends them again.
type PayoutResumeRequest struct {
	Mode *string `json:"mode,omitzero"` // ModeSandbox or ModeLive; both unless given
}

// PayoutSending is whether the payouts of a workspace are sent, by mode.
type PayoutSending struct {
	WorkspaceID string     `json:"workspace_id"`
	Live        PayoutStop `json:"live"`
	Sandbox     PayoutStop `json:"sandbox"`
	// ApprovalID is the approval that resuming live payouts waits for.
	ApprovalID string `json:"approval_id,omitzero"`
}

// PayoutStop is whether sending is stopped in a mode: since when, who stopped it last, and why.
type PayoutStop struct {
	Stopped   bool   `json:"stopped"`
	StoppedAt int64  `json:"stopped_at,omitzero"`
	StoppedBy *User  `json:"stopped_by,omitzero"`
	Reason    string `json:"reason,omitzero"`
}
