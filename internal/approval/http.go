package approval

import (
	"fmt"

	"bursar/api"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// maxText bounds the texts about how the approver checked, and why they reject.
const maxText = 1000

// ListInput is a request for a page of the approvals of a workspace.
type ListInput struct {
	WorkspaceID string  `query:"workspace_id" required:"true"`
	State       *string `query:"state"`
	web.PageParams
}

// Validate checks the page and the state.
func (in *ListInput) Validate(v *fault.Violations) {
	in.PageParams.Validate(v)
	web.CheckOneOf(v, "state", in.State, api.ApprovalStates()...)
}

// Input names an approval.
type Input struct {
	ID string `path:"id"`
}

// ApproveInput names an approval, and contains what was shown to the approver and how it was checked.
type ApproveInput struct {
	ID string `path:"id"`
	api.ApprovalApprove
}

// Validate checks the texts without reading the database.
func (in *ApproveInput) Validate(v *fault.Violations) {
	web.CheckText(v, "digest", in.Digest, 1, 100)
	web.CheckText(v, "verification", in.Verification, 1, maxText)
	if len(in.LeaveOut) > api.MaxLeaveOut {
		v.Add("leave_out", fmt.Sprintf("must have at most %d elements", api.MaxLeaveOut))
	}
}

// RejectInput names an approval and contains the reason for the rejection.
type RejectInput struct {
	ID string `path:"id"`
	api.ApprovalReject
}

// Validate checks the reason without reading the database.
func (in *RejectInput) Validate(v *fault.Violations) {
	web.CheckText(v, "reason", in.Reason, 1, maxText)
}

// PolicyInput names a workspace.
type PolicyInput struct {
	ID string `path:"id"`
}

// UpdatePolicyInput names a workspace and contains the changes to its policy.
type UpdatePolicyInput struct {
	ID string `path:"id"`
	api.ReceivingPolicyUpdate
}

// maxCooling is how many hours a change can wait: longer than an approval lasts is useless.
const maxCooling = 30 * 24

// Validate checks the policy without reading the database.
func (in *UpdatePolicyInput) Validate(v *fault.Violations) {
	web.CheckOneOf(v, "receiving_approval", in.ReceivingApproval, api.ReceivingAutomatic, api.ReceivingTwoPersons, api.ReceivingOnePerson)
	if hours := in.ReceivingCoolingHours; hours != nil && (*hours < 0 || *hours > maxCooling) {
		v.Add("receiving_cooling_hours", "must be an integer from 0 to 720")
	}
	if hours := in.SecondPersonHours; hours != nil && (*hours < 1 || *hours > maxCooling) {
		v.Add("second_person_hours", "must be an integer from 1 to 720")
	}
}
