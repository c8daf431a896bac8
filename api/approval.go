package api

// The states of an approval. All but ApprovalPending are final.
const (
	ApprovalPending   = "pending"
	ApprovalApproved  = "approved"
	ApprovalRejected  = "rejected"
	ApprovalWithdrawn = "withdrawn"
	ApprovalExpired   = "expired"
	ApprovalVoid      = "void" // the change that it was for is outdated
)

// ApprovalStates returns the states of an approval.
func ApprovalStates() []string {
	return []string{ApprovalPending, ApprovalApproved, ApprovalRejected, ApprovalWithdrawn, ApprovalExpired, ApprovalVoid}
}

// Approval is a change that one person requests and another person has to approve.
type Approval struct {
	ID          string `json:"id"`
	WorkspaceID string `json:"workspace_id"`
	Kind        string `json:"kind"`
	State       string `json:"state"`
	// SubjectID identifies what changes, including its version. EntryID is the directory entry that the subject belongs to.
	SubjectID      string `json:"subject_id"`
	SubjectVersion int64  `json:"subject_version"`
	EntryID        string `json:"entry_id,omitzero"`
	Summary        string `json:"summary"`
	// Fields contains the old and new values. Account numbers are masked in lists.
	Fields []ApprovalField `json:"fields"`
	// Lines counts the lines of an import or a bulk change. It is omitted from lists.
	Lines *ApprovalLines `json:"lines,omitzero"`
	// Digest covers everything shown. An approver sends it back to approve exactly that.
	Digest      string        `json:"digest"`
	RequestedBy ApprovalMaker `json:"requested_by"`
	CreatedAt   int64         `json:"created_at"`
	ExpiresAt   int64         `json:"expires_at"`

	// ApprovalsNeeded is the number of people who have to approve. Approvals lists those who have. If Role is set, each approver must hold
	// that role. If KeysMayApprove is set, an approver's API key may approve.
	ApprovalsNeeded int64          `json:"approvals_needed"`
	Approvals       []ApprovalVote `json:"approvals,omitzero"`
	Role            string         `json:"role,omitzero"`
	KeysMayApprove  bool           `json:"keys_may_approve,omitzero"`

	DecidedBy    *User  `json:"decided_by,omitzero"`
	DecidedAt    int64  `json:"decided_at,omitzero"`
	Verification string `json:"verification,omitzero"` // how the approver verified the change
	Reason       string `json:"reason,omitzero"`

	// CanApprove reports whether the caller can approve it. CannotBecause is the reason if not.
	CanApprove    bool   `json:"can_approve"`
	CannotBecause string `json:"cannot_because,omitzero"`

	// Contacts and RecentChanges are omitted from lists.
	Contacts      []ApprovalContact `json:"contacts,omitzero"`
	RecentChanges []ApprovalChange  `json:"recent_changes,omitzero"`
	// ChangedFields contains the fields of the payee that changed in the last 30 days, each once. RoleChanges contains the role changes of
	// the requester and of the approvers in that time.
	ChangedFields []ApprovalFieldChange `json:"changed_fields,omitzero"`
	RoleChanges   []ApprovalChange      `json:"role_changes,omitzero"`
}

// ApprovalVote is one person's approval, with its time and verification.
type ApprovalVote struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Email        string `json:"email"`
	At           int64  `json:"at"`
	Verification string `json:"verification"`
	// EmailProved reports whether the person has verified the email address.
	EmailProved bool `json:"email_proved"`
}

// Flags of a line of an import that an approver should check.
const (
	FlagNewPayee      = "new_payee"      // the payee has no approved account yet
	FlagSharedAccount = "shared_account" // another payee uses the same account
	FlagChanged       = "changed"        // differs from how the payee was paid before
	FlagNameDiffers   = "name_differs"   // the account holder's name differs from the payee's
)

// ApprovalFlags returns the flags of lines, most significant first.
func ApprovalFlags() []string {
	return []string{FlagSharedAccount, FlagChanged, FlagNameDiffers, FlagNewPayee}
}

// LineLeftOut is the state of a line that the approver excluded. The other states are those of approvals.
const LineLeftOut = "left_out"

// ApprovalLines counts the lines in the approval of an import or a bulk change.
type ApprovalLines struct {
	Total int64 `json:"total"`
	// Pending counts the lines that an approval would cover. Void counts the lines that dropped out because the payee has changed since.
	Pending  int64 `json:"pending"`
	Approved int64 `json:"approved"`
	LeftOut  int64 `json:"left_out"`
	Void     int64 `json:"void"`
	// Flags counts the lines with each flag, excluding void lines.
	Flags map[string]int64 `json:"flags"`
}

// ApprovalLine is one change that an import or a bulk change makes once it is approved.
type ApprovalLine struct {
	ID         string `json:"id"`
	Line       int64  `json:"line"` // line number in the file; one line can make several changes
	Kind       string `json:"kind"`
	SubjectID  string `json:"subject_id"`
	EntryID    string `json:"entry_id"`
	EntryLabel string `json:"entry_label"`
	State      string `json:"state"`
	// Flags are the reasons to check the line.
	Flags  []string        `json:"flags"`
	Fields []ApprovalField `json:"fields"`
	// Contacts are the ways to reach the payee. ChangedFields contains the fields of the payee that changed in the last 30 days, each once.
	Contacts      []ApprovalContact     `json:"contacts"`
	ChangedFields []ApprovalFieldChange `json:"changed_fields"`
}

// ApprovalField is one value that changes. An empty string means no value.
type ApprovalField struct {
	Field  string `json:"field"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// ApprovalMaker is the requester of an approval and the origin of the request.
type ApprovalMaker struct {
	ID    string `json:"id"`
	Type  string `json:"type"` // user, api_key or client
	Name  string `json:"name"`
	Email string `json:"email,omitzero"`
	// EmailProved is false for a person whose email address is not verified. Lists omit it.
	EmailProved *bool  `json:"email_proved,omitzero"`
	IP          string `json:"ip,omitzero"`
	Program     string `json:"program,omitzero"`
	KeyID       string `json:"key_id,omitzero"`
	KeyName     string `json:"key_name,omitzero"`
	// SessionID is the session of the request.
	SessionID string `json:"session_id,omitzero"`
}

// ApprovalContact is a way to reach a payee. Earlier is its value 30 days ago, if it has changed since. Call back on the earlier value.
type ApprovalContact struct {
	Field   string `json:"field"`
	Now     string `json:"now"`
	Earlier string `json:"earlier,omitzero"`
}

// ApprovalChange is another change of the same payee in the last 30 days.
type ApprovalChange struct {
	Action      string        `json:"action"`
	Description string        `json:"description"`
	ActorName   string        `json:"actor_name"`
	Timestamp   int64         `json:"timestamp"`
	Changes     []AuditChange `json:"changes,omitzero"`
}

// ApprovalFieldChange compares a field of the payee with its value 30 days ago. It has the number of changes since then and who made the
// last one.
type ApprovalFieldChange struct {
	Field     string `json:"field"`
	Before    string `json:"before"`
	After     string `json:"after"`
	Times     int    `json:"times"`
	ActorName string `json:"actor_name"`
	Timestamp int64  `json:"timestamp"`
}

// MaxLeaveOut is the maximum number of lines that an approver can exclude from an import.
const MaxLeaveOut = 1000

// ApprovalApprove approves what was shown.
type ApprovalApprove struct {
	Digest       string `json:"digest" required:"true"`
	Verification string `json:"verification" required:"true"`
	// LeaveOut lists the line numbers of an import or a bulk change that are not approved.
	LeaveOut []int64 `json:"leave_out,omitempty"`
}

// ApprovalReject rejects the request.
type ApprovalReject struct {
	Reason string `json:"reason" required:"true"`
}

// Results of deciding many approvals.
const (
	DecideApprove = "approve"
	DecideReject  = "reject"
)

// MaxDecide is the maximum number of approvals in one ApprovalDecide.
const MaxDecide = 100

// ApprovalDecide decides many approvals of one kind, with one verification or one reason.
type ApprovalDecide struct {
	WorkspaceID  string          `json:"workspace_id" required:"true"`
	Decision     string          `json:"decision" required:"true"` // DecideApprove or DecideReject
	Approvals    []ApprovalShown `json:"approvals" required:"true"`
	Verification string          `json:"verification,omitzero"` // how they were verified; required to approve
	Reason       string          `json:"reason,omitzero"`       // required to reject
}

// ApprovalShown identifies an approval. Its digest of what was shown is needed to approve.
type ApprovalShown struct {
	ID     string `json:"id"`
	Digest string `json:"digest,omitzero"`
}

// ApprovalsDecided contains a result for each approval, in the order of the request.
type ApprovalsDecided struct {
	Results []ApprovalResult `json:"results"`
}

// ApprovalResult is the result of one approval. Error is set if it was not decided.
type ApprovalResult struct {
	ID    string      `json:"id"`
	OK    bool        `json:"ok"`
	State string      `json:"state,omitzero"`
	Error *BatchError `json:"error,omitzero"`
}

// How many people a change of receiving methods needs in a workspace.
const (
	ReceivingAutomatic  = "automatic" // two once two people are eligible
	ReceivingTwoPersons = "two_persons"
	ReceivingOnePerson  = "one_person"
)

// ReceivingPolicy is how a workspace protects changes of receiving methods.
type ReceivingPolicy struct {
	WorkspaceID string `json:"workspace_id"`
	// ReceivingApproval is ReceivingAutomatic, ReceivingTwoPersons or ReceivingOnePerson.
	ReceivingApproval string `json:"receiving_approval"`
	// ReceivingCoolingHours is nil if the workspace has not set it.
	ReceivingCoolingHours *int64 `json:"receiving_cooling_hours,omitzero"`
	// SecondPersonHours is how long a second person is required after the last one has left. It is nil if the workspace has not set it.
	SecondPersonHours *int64 `json:"second_person_hours,omitzero"`
	// Persons and CoolingHours are the values in effect.
	Persons      int   `json:"persons"`
	CoolingHours int64 `json:"cooling_hours"`
	// ApprovalID is the approval that a looser policy waits for.
	ApprovalID string              `json:"approval_id,omitzero"`
	Approvers  []ReceivingApprover `json:"approvers"`
	// DemandedUntil is when a second person is no longer required after the last one has left. Extendable reports whether that time can be
	// extended, or the waiting period of an approver whom one person added.
	DemandedUntil int64 `json:"demanded_until,omitzero"`
	Extendable    bool  `json:"extendable,omitzero"`
	// Suspended is a change that one person made alone. It takes effect once a second person confirms it.
	Suspended *SuspendedPolicy `json:"suspended,omitzero"`
}

// SuspendedPolicy is a policy that waits for confirmation by a second person.
type SuspendedPolicy struct {
	ReceivingApproval     string `json:"receiving_approval"`
	ReceivingCoolingHours *int64 `json:"receiving_cooling_hours,omitzero"`
	SecondPersonHours     *int64 `json:"second_person_hours,omitzero"`
}

// SecondPersonExtended is the result of extending one of two times. The first is how long a workspace requires a second person after the
// last one has left. The second is how long an approver whom one person added does not count. Extended is false if there is a second
// person, the time is over, or it was extended before.
type SecondPersonExtended struct {
	WorkspaceID   string `json:"workspace_id"`
	DemandedUntil int64  `json:"demanded_until,omitzero"`
	Extended      bool   `json:"extended"`
}

// ReceivingApprover is a person who may approve. They count as an approver from CountsFrom on, or always if it is 0.
type ReceivingApprover struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Email      string `json:"email"`
	CountsFrom int64  `json:"counts_from"`
	// EmailProved reports whether the person has verified the email address.
	EmailProved bool `json:"email_proved"`
}

// ReceivingPolicyUpdate changes a receiving policy. Nil fields stay as they are.
type ReceivingPolicyUpdate struct {
	ReceivingApproval     *string `json:"receiving_approval,omitzero"`
	ReceivingCoolingHours *int64  `json:"receiving_cooling_hours,omitzero"`
	SecondPersonHours     *int64  `json:"second_person_hours,omitzero"`
}

// The states of a receiving method.
const (
	MethodPending  = "pending"  // waits for approval by a second person
	MethodActive   = "active"   // payable from payable_at on
	MethodRetired  = "retired"  // replaced by its successor
	MethodRejected = "rejected" // not approved
)

// SecondPersonDetails are the details of SECOND_PERSON_REQUIRED.
type SecondPersonDetails struct {
	ApprovalID string `json:"approval_id"`
}
