package api

// PayoutStopRequest stops sending the payouts of a workspace.
type PayoutStopRequest struct {
	Reason string  `json:"reason" required:"true"`
	Mode   *string `json:"mode,omitzero"` // ModeSandbox or ModeLive; both if omitted
}

// PayoutResumeRequest resumes sending the payouts of a workspace.
type PayoutResumeRequest struct {
	Mode *string `json:"mode,omitzero"` // ModeSandbox or ModeLive; both if omitted
}

// PayoutSending reports, by mode, whether the payouts of a workspace are sent.
type PayoutSending struct {
	WorkspaceID string     `json:"workspace_id"`
	Live        PayoutStop `json:"live"`
	Sandbox     PayoutStop `json:"sandbox"`
	// ApprovalID is the approval that resuming live payouts waits for.
	ApprovalID string `json:"approval_id,omitzero"`
}

// PayoutStop reports whether sending is stopped in a mode: since when, who last stopped it, and why.
type PayoutStop struct {
	Stopped   bool   `json:"stopped"`
	StoppedAt int64  `json:"stopped_at,omitzero"`
	StoppedBy *User  `json:"stopped_by,omitzero"`
	Reason    string `json:"reason,omitzero"`
}
