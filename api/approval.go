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

// ApprovalField is one value that changes. An empty text is that there was, or will be, none.
type ApprovalField struct {
	Field  string `json:"field"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// ApprovalMaker is who asked, and from where.
type ApprovalMaker struct {
	ID      string `json:"id"`
	Type    string `json:"type"` // user, api_key or client
	Name    string `json:"name"`
	Email   string `json:"email,omitzero"`
	IP      string `json:"ip,omitzero"`
	Program string `json:"program,omitzero"`
	KeyID   string `json:"key_id,omitzero"`
	KeyName string `json:"key_name,omitzero"`
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

// ApprovalApprove allows what was shown.
type ApprovalApprove struct {
	Digest       string `json:"digest" required:"true"`
	Verification string `json:"verification" required:"true"`
}

// ApprovalReject refuses it.
type ApprovalReject struct {
	Reason string `json:"reason" required:"true"`
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
	// DemandedUntil is until when a second person is demanded though the last one has gone, and Extendable whether that can be extended.
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

// SecondPersonExtended is until when a workspace demands a second person after the last one has gone. Extended is false if that could
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
