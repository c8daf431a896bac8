package api

// The states of an approval. All but ApprovalPending are final.
const (
	ApprovalPending   = "pending"
	ApprovalApproved  = "approved"
	ApprovalRejected  = "rejected"
	ApprovalWithdrawn = "withdrawn"
	ApprovalExpired   = "expired"
	ApprovalVoid      = "void" // what it was for has changed
)

// ApprovalStates lists the states that an approval can be in.
func ApprovalStates() []string {
	return []string{ApprovalPending, ApprovalApproved, ApprovalRejected, ApprovalWithdrawn, ApprovalExpired, ApprovalVoid}
}

// Approval is something that one person asks for and another one has to allow.
type Approval struct {
	ID          string `json:"id"`
	WorkspaceID string `json:"workspace_id"`
	Kind        string `json:"kind"`
	State       string `json:"state"`
	// SubjectID is what changes, in which version, and EntryID the directory entry that it
	// belongs to.
	SubjectID      string `json:"subject_id"`
	SubjectVersion int64  `json:"subject_version"`
	EntryID        string `json:"entry_id,omitzero"`
	Summary        string `json:"summary"`
	// Fields are the old values beside the new ones. Lists mask account numbers in them.
	Fields []ApprovalField `json:"fields"`
	// Lines counts the lines of an import or a bulk. Lists leave it out.
	Lines *ApprovalLines `json:"lines,omitzero"`
	// Digest stands for all that was shown. Whoever approves sends it.
	Digest      string        `json:"digest"`
	RequestedBy ApprovalMaker `json:"requested_by"`
	CreatedAt   int64         `json:"created_at"`
	ExpiresAt   int64         `json:"expires_at"`

	// ApprovalsNeeded is how many people have to approve, and Approvals who has. With Role each of
	// them must hold that role, and with KeysMayApprove an API key of theirs may do it.
	ApprovalsNeeded int64          `json:"approvals_needed"`
	Approvals       []ApprovalVote `json:"approvals,omitzero"`
	Role            string         `json:"role,omitzero"`
	KeysMayApprove  bool           `json:"keys_may_approve,omitzero"`

	DecidedBy    *User  `json:"decided_by,omitzero"`
	DecidedAt    int64  `json:"decided_at,omitzero"`
	Verification string `json:"verification,omitzero"` // how they checked
	Reason       string `json:"reason,omitzero"`

	// CanApprove says whether the caller could approve it now, and CannotBecause why not.
	CanApprove    bool   `json:"can_approve"`
	CannotBecause string `json:"cannot_because,omitzero"`

	// Contacts and RecentChanges are left out of lists.
	Contacts      []ApprovalContact `json:"contacts,omitzero"`
	RecentChanges []ApprovalChange  `json:"recent_changes,omitzero"`
	// ChangedFields are the fields of the payee that changed in the last 30 days, each once, however often it
	// changed. RoleChanges are those of the requester and of those who decide.
	ChangedFields []ApprovalFieldChange `json:"changed_fields,omitzero"`
	RoleChanges   []ApprovalChange      `json:"role_changes,omitzero"`
}

// ApprovalVote is that a person has approved, when, and how they checked.
type ApprovalVote struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Email        string `json:"email"`
	At           int64  `json:"at"`
	Verification string `json:"verification"`
	// EmailProved says whether they have shown that the address is theirs.
	EmailProved bool `json:"email_proved"`
}

// What an approver should look at in a line of an import.
const (
	FlagNewPayee      = "new_payee"      // the payee has no approved account yet
	FlagSharedAccount = "shared_account" // another payee has the same account
	FlagChanged       = "changed"        // the payee has been paid otherwise so far
	FlagNameDiffers   = "name_differs"   // the account is in another name than the payee's
)

// ApprovalFlags lists the flags of lines, the most telling first.
func ApprovalFlags() []string {
	return []string{FlagSharedAccount, FlagChanged, FlagNameDiffers, FlagNewPayee}
}

// LineLeftOut is the state of a line that the approver left out. The other states are those of approvals.
const LineLeftOut = "left_out"

// ApprovalLines counts the lines of an approval of an import or a bulk.
type ApprovalLines struct {
	Total int64 `json:"total"`
	// Pending are those that an approval would be for, and Void those that have fallen out, because the payee has changed since.
	Pending  int64 `json:"pending"`
	Approved int64 `json:"approved"`
	LeftOut  int64 `json:"left_out"`
	Void     int64 `json:"void"`
	// Flags count the lines that have each flag, without those that have fallen out.
	Flags map[string]int64 `json:"flags"`
}

// ApprovalLine is one change that an import or a bulk makes with an approval.
type ApprovalLine struct {
	ID         string `json:"id"`
	Line       int64  `json:"line"` // of the file; one can change several things
	Kind       string `json:"kind"`
	SubjectID  string `json:"subject_id"`
	EntryID    string `json:"entry_id"`
	EntryLabel string `json:"entry_label"`
	State      string `json:"state"`
	// Flags are why the line deserves a closer look.
	Flags  []string        `json:"flags"`
	Fields []ApprovalField `json:"fields"`
	// Contacts are how to reach the payee.
	Contacts []ApprovalContact `json:"contacts"`
}

// ApprovalField is one value that changes. An empty text is that there was, or will be, none.
type ApprovalField struct {
	Field  string `json:"field"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// ApprovalMaker is who asked, and from where.
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
	// SessionID is the session that was used.
	SessionID string `json:"session_id,omitzero"`
}

// ApprovalContact is a way to reach a payee. Earlier is what it was 30 days ago, if it has
// changed since: that is the one to call back.
type ApprovalContact struct {
	Field   string `json:"field"`
	Now     string `json:"now"`
	Earlier string `json:"earlier,omitzero"`
}

// ApprovalChange is what else about the same payee changed in the last 30 days.
type ApprovalChange struct {
	Action      string        `json:"action"`
	Description string        `json:"description"`
	ActorName   string        `json:"actor_name"`
	Timestamp   int64         `json:"timestamp"`
	Changes     []AuditChange `json:"changes,omitzero"`
}

// ApprovalFieldChange is what a field of the payee was 30 days ago and is now, how often it changed since, and who changed it last.
type ApprovalFieldChange struct {
	Field     string `json:"field"`
	Before    string `json:"before"`
	After     string `json:"after"`
	Times     int    `json:"times"`
	ActorName string `json:"actor_name"`
	Timestamp int64  `json:"timestamp"`
}

// MaxLeaveOut is how many lines of an import can be left out of its approval.
const MaxLeaveOut = 1000

// ApprovalApprove allows what was shown.
type ApprovalApprove struct {
	Digest       string `json:"digest" required:"true"`
	Verification string `json:"verification" required:"true"`
	// LeaveOut are lines of an import or a bulk that are not approved, by their numbers.
	LeaveOut []int64 `json:"leave_out,omitempty"`
}

// ApprovalReject refuses it.
type ApprovalReject struct {
	Reason string `json:"reason" required:"true"`
}

// What becomes of many approvals.
const (
	DecideApprove = "approve"
	DecideReject  = "reject"
)

// MaxDecide is how many approvals one request decides.
const MaxDecide = 100

// ApprovalDecide decides many approvals of one kind with one statement.
type ApprovalDecide struct {
	WorkspaceID  string          `json:"workspace_id" required:"true"`
	Decision     string          `json:"decision" required:"true"` // DecideApprove or DecideReject
	Approvals    []ApprovalShown `json:"approvals" required:"true"`
	Verification string          `json:"verification,omitzero"` // how they were checked, to approve
	Reason       string          `json:"reason,omitzero"`       // to reject
}

// ApprovalShown names an approval and, to approve it, the digest of what was shown.
type ApprovalShown struct {
	ID     string `json:"id"`
	Digest string `json:"digest,omitzero"`
}

// ApprovalsDecided has a result for each approval, in their order.
type ApprovalsDecided struct {
	Results []ApprovalResult `json:"results"`
}

// ApprovalResult is what became of one of many approvals. Error is set where it was not decided.
type ApprovalResult struct {
	ID    string      `json:"id"`
	OK    bool        `json:"ok"`
	State string      `json:"state,omitzero"`
	Error *BatchError `json:"error,omitzero"`
}

// How many people a workspace demands for a change of receiving methods.
const (
	ReceivingAutomatic  = "automatic" // two as soon as there are two who could
	ReceivingTwoPersons = "two_persons"
	ReceivingOnePerson  = "one_person"
)

// ReceivingPolicy is how a workspace guards where money goes.
type ReceivingPolicy struct {
	WorkspaceID string `json:"workspace_id"`
	// ReceivingApproval is ReceivingAutomatic, ReceivingTwoPersons or ReceivingOnePerson.
	ReceivingApproval string `json:"receiving_approval"`
	// ReceivingCoolingHours is nil where the workspace has not decided.
	ReceivingCoolingHours *int64 `json:"receiving_cooling_hours,omitzero"`
	// SecondPersonHours is for how long a second person is demanded after the last one has gone, nil where the workspace has not decided.
	SecondPersonHours *int64 `json:"second_person_hours,omitzero"`
	// Persons and CoolingHours are what follows from it at present.
	Persons      int   `json:"persons"`
	CoolingHours int64 `json:"cooling_hours"`
	// ApprovalID is the approval that a looser policy waits for.
	ApprovalID string              `json:"approval_id,omitzero"`
	Approvers  []ReceivingApprover `json:"approvers"`
	// DemandedUntil is until when a second person is demanded though the last one has gone, and Extendable whether that can be extended,
	// or the wait of an approver whom one person has added.
	DemandedUntil int64 `json:"demanded_until,omitzero"`
	Extendable    bool  `json:"extendable,omitzero"`
	// Suspended is what one person decided alone. It holds once a second person confirms it.
	Suspended *SuspendedPolicy `json:"suspended,omitzero"`
}

// SuspendedPolicy is a policy that waits for a second person.
type SuspendedPolicy struct {
	ReceivingApproval     string `json:"receiving_approval"`
	ReceivingCoolingHours *int64 `json:"receiving_cooling_hours,omitzero"`
	SecondPersonHours     *int64 `json:"second_person_hours,omitzero"`
}

// SecondPersonExtended is until when a workspace demands a second person after the last one has gone, or an approver whom one person has
// added does not count. Extended is false if that could
// not be extended: there is a second person, the time is over, or it was extended before.
type SecondPersonExtended struct {
	WorkspaceID   string `json:"workspace_id"`
	DemandedUntil int64  `json:"demanded_until,omitzero"`
	Extended      bool   `json:"extended"`
}

// ReceivingApprover is a person who may approve. They count from a time on, 0 for always.
type ReceivingApprover struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Email      string `json:"email"`
	CountsFrom int64  `json:"counts_from"`
	// EmailProved says whether they have shown that the address is theirs.
	EmailProved bool `json:"email_proved"`
}

// ReceivingPolicyUpdate says what to change. Whatever is nil stays as it is.
type ReceivingPolicyUpdate struct {
	ReceivingApproval     *string `json:"receiving_approval,omitzero"`
	ReceivingCoolingHours *int64  `json:"receiving_cooling_hours,omitzero"`
	SecondPersonHours     *int64  `json:"second_person_hours,omitzero"`
}

// The states of a receiving method.
const (
	MethodPending  = "pending"  // a second person has to approve it
	MethodActive   = "active"   // it can be paid from payable_at on
	MethodRetired  = "retired"  // its successor is paid
	MethodRejected = "rejected" // it was never approved
)

// SecondPersonDetails are the details of SECOND_PERSON_REQUIRED.
type SecondPersonDetails struct {
	ApprovalID string `json:"approval_id"`
}
