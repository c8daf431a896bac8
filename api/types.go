// Package api contains the types of requests and responses. The server, the client package and the command line share them. It depends on
// no YAML parser; the OpenAPI document and its parser are in package openapi.
package api

import "encoding/json"

// Response types: the `data` of a response.

// DeviceCode is a login that a command line requested.
type DeviceCode struct {
	Code            string `json:"code"`
	VerificationURL string `json:"verification_url"`
	ExpiresAt       int64  `json:"expires_at"` // Unix seconds
	Interval        int    `json:"interval"`
}

// Flat marks a response whose fields are also beside those of the envelope.
func (DeviceCode) Flat() {}

// DeviceCodeStatus is the status of a device login.
type DeviceCodeStatus struct {
	Status string `json:"status"`
	Token  string `json:"token,omitzero"`
}

// Flat marks a response whose fields are also beside those of the envelope.
func (DeviceCodeStatus) Flat() {}

// DeviceDecision is the result of approving or denying a device code.
type DeviceDecision struct {
	Code   string `json:"code"`
	Status string `json:"status"`
}

// Session is the result of exchanging a key.
type Session struct {
	Token     string `json:"token"`
	UserID    string `json:"user_id"`
	ExpiresAt int64  `json:"expires_at"`
}

// ActorID returns the id of the user who logged in.
func (s Session) ActorID() string { return s.UserID }

// Logout is the result of ending one's session.
type Logout struct {
	SessionID string `json:"session_id"`
	Revoked   bool   `json:"revoked"`
}

// User is a person or a machine client, such as the caller.
type User struct {
	ID    string `json:"id"`
	Email string `json:"email"`
	Name  string `json:"name"`
}

// Me is the user of a session.
type Me struct {
	User
	Scope *Scope `json:"scope,omitzero"` // set if the credential is limited or does not administer
}

// APIKey is a key without its secret.
type APIKey struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	CreatedAt    int64    `json:"created_at"`
	ExpiresAt    int64    `json:"expires_at,omitzero"`
	LastUsedAt   int64    `json:"last_used_at,omitzero"`
	AllowedCIDRs []string `json:"allowed_cidrs"`
	Scope
}

// NewAPIKey is a key with its secret, which is shown once.
type NewAPIKey struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	APIKey       string   `json:"api_key"`
	CreatedAt    int64    `json:"created_at"`
	ExpiresAt    int64    `json:"expires_at,omitzero"`
	AllowedCIDRs []string `json:"allowed_cidrs"`
	Scope
	Previous *PreviousAPIKey `json:"previous,omitzero"`
}

// PreviousAPIKey reports how long a rotated key stays valid.
type PreviousAPIKey struct {
	ID        string `json:"id"`
	ExpiresAt int64  `json:"expires_at"`
}

// Workspace is a tenant's separate area, with its own directory, accounts and members.
type Workspace struct {
	ID             string `json:"id"`
	Name           string `json:"name"`
	Slug           string `json:"slug"`
	OrganizationID string `json:"organization_id"`
	// OnDuplicate is OnDuplicateWarn or OnDuplicateRefuse. It is absent if duplicates are allowed.
	OnDuplicate string `json:"on_duplicate,omitzero"`
}

// Member is a member of a workspace, with the keys of their roles. Until they accept, they are listed by the id of the invitation, without
// a name.
type Member struct {
	ID     string   `json:"id"`
	Name   string   `json:"name"`
	Email  string   `json:"email"`
	Roles  []string `json:"roles"`
	Status string   `json:"status"`
	// EmailProved reports whether a person has verified the email address. It is nil for machine clients, and before the person accepts.
	EmailProved *bool `json:"email_proved,omitzero"`
}

// MemberAdded is the result of adding a member.
type MemberAdded struct {
	WorkspaceID string `json:"workspace_id"`
	Email       string `json:"email"`
	Role        string `json:"role"`
	UserID      string `json:"user_id"` // the id of the invitation if they have to accept first
	// InvitationURL is the link for accepting the invitation. It is returned only here, and only if the server sends no mail.
	InvitationURL string `json:"invitation_url,omitzero"`
}

// Invitation is an invitation of the caller to a workspace.
type Invitation struct {
	ID               string `json:"id"`
	WorkspaceID      string `json:"workspace_id"`
	WorkspaceName    string `json:"workspace_name"`
	OrganizationID   string `json:"organization_id"`
	OrganizationName string `json:"organization_name"`
	Roles            []Role `json:"roles"`
	InvitedBy        string `json:"invited_by"`
	CreatedAt        int64  `json:"created_at"`
	ExpiresAt        int64  `json:"expires_at"`
}

// InvitationDecision is the result of accepting or declining an invitation.
type InvitationDecision struct {
	ID          string `json:"id"`
	WorkspaceID string `json:"workspace_id"`
	Status      string `json:"status"` // accepted or declined
}

// MemberRemoved is the result of removing a member.
type MemberRemoved struct {
	WorkspaceID string `json:"workspace_id"`
	UserID      string `json:"user_id"`
	// ApprovalsWaiting is the number of pending approvals that no remaining member can decide.
	ApprovalsWaiting int `json:"approvals_waiting,omitzero"`
}

// Role is a named set of permissions.
type Role struct {
	ID          string   `json:"id,omitzero"` // the key; set in the result of defining a role
	Key         string   `json:"key"`
	Name        string   `json:"name"`
	Color       string   `json:"color"`
	Permissions []string `json:"permissions"`
	BuiltIn     bool     `json:"built_in"`
}

// RoleAssignment is the result of assigning or removing a role.
type RoleAssignment struct {
	WorkspaceID string `json:"workspace_id"`
	UserID      string `json:"user_id"`
	Role        string `json:"role"`
	// ApprovalsWaiting is the number of pending approvals that no remaining member can decide after a role is removed.
	ApprovalsWaiting int `json:"approvals_waiting,omitzero"`
}

// RoleDeleted is the result of deleting a role.
type RoleDeleted struct {
	WorkspaceID string `json:"workspace_id"`
	Role        string `json:"role"`
	Deleted     bool   `json:"deleted"`
}

// MachineClient is the identity of a program in a workspace, without its secret.
type MachineClient struct {
	ID    string   `json:"id"`
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
	// Permissions are its effective permissions: those of its roles within its scope, except those that no machine client can hold.
	Permissions []string `json:"permissions"`
	// WorkspaceIDs, Mode and Administer are the rest of its scope: see Scope.
	WorkspaceIDs []string `json:"workspace_ids,omitzero"`
	Mode         string   `json:"mode"`
	Administer   bool     `json:"administer"`
	CreatedAt    int64    `json:"created_at"`
	LastUsedAt   int64    `json:"last_used_at,omitzero"`
	// SecretSeenBy is the person who was shown its present secret, when they created the client or last rotated it. It is nil if that was
	// an operator.
	SecretSeenBy *User `json:"secret_seen_by,omitzero"`
	// SecretEnded means that the client has no secret, because the person who knew it has left. Rotate the client to give it one.
	SecretEnded bool `json:"secret_ended,omitzero"`
}

// NewMachineClient is a machine client with its secret, which is shown once.
type NewMachineClient struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Secret string `json:"secret"`
}

// Organization owns workspaces. Its settings have the same form.
type Organization struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Slug string `json:"slug"`
	// RequireSecondFactor means that the people of the organization must sign in with a second factor.
	RequireSecondFactor bool `json:"require_second_factor,omitzero"`
	// AuditRetentionDays is the number of days after which personal data in its audit log is erased, or 0 for never.
	AuditRetentionDays int64 `json:"audit_retention_days,omitzero"`
}

// Ownership is the result of adding or removing an owner of an organization.
type Ownership struct {
	OrganizationID string `json:"organization_id"`
	UserID         string `json:"user_id"`
}

// Tag is a label that entries can have.
type Tag struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	AppliesTo string `json:"applies_to"`
}

// ReceivingMethod is a destination for payouts to an entry, such as a bank account.
type ReceivingMethod struct {
	ID          string `json:"id"`
	Provider    string `json:"provider"`
	AccountName string `json:"account_name"`
	AccountID   string `json:"account_id"`
	IsDefault   bool   `json:"is_default"`
	// Status is MethodPending, MethodActive, MethodRetired or MethodRejected.
	Status          string `json:"status"`
	InstitutionCode string `json:"institution_code,omitzero"`
	Replaces        string `json:"replaces,omitzero"`    // the method that it replaces
	PayableAt       int64  `json:"payable_at,omitzero"`  // for an active method in its cooling period
	ApprovalID      string `json:"approval_id,omitzero"` // the approval that it waits for
}

// Created is the result of creating or changing something.
type Created struct {
	ID string `json:"id"`
	// Duplicates lists possible duplicates of a new entry, if the request asked for them.
	Duplicates []Duplicate `json:"duplicates,omitempty"`
	// ApprovalID and PendingChange are set if part of the change waits for a second person.
	ApprovalID    string         `json:"approval_id,omitzero"`
	PendingChange *PendingChange `json:"pending_change,omitzero"`
}

// Deleted is the result of deleting something.
type Deleted struct {
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"`
}

// Revoked is the result of revoking something.
type Revoked struct {
	ID      string `json:"id"`
	Revoked bool   `json:"revoked"`
}

// Restored is the result of restoring something.
type Restored struct {
	ID       string `json:"id"`
	Restored bool   `json:"restored"`
}

// AuditEntry is a row of the audit log: who did what, when, and whether it was
// allowed.
type AuditEntry struct {
	ID           string `json:"id"`
	Action       string `json:"action"`
	ActorName    string `json:"actor_name"`
	ActorEmail   string `json:"actor_email"`
	Description  string `json:"description"`
	Outcome      string `json:"outcome"`
	Timestamp    int64  `json:"timestamp"`
	ActorID      string `json:"actor_id"`
	ActorType    string `json:"actor_type"`
	ResourceType string `json:"resource_type"`
	ResourceID   string `json:"resource_id"`
	RequestID    string `json:"request_id"`
	IP           string `json:"ip"`
	// Changes lists the fields that an update changed.
	Changes []AuditChange `json:"changes,omitempty"`
	Seq     int64         `json:"seq,omitzero"` // its position in the log of its workspace or organization; 0 until it has one
	// Erased means that the names, the addresses, the description and the changes were removed.
	Erased bool `json:"erased,omitzero"`
}

// AuditChange is a field before and after an update, as JSON. A null stands for no value. A long value is an object with its start, its
// length and its sha256.
type AuditChange struct {
	Field  string          `json:"field"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// CutValue replaces a value that is too long for a row of the audit log.
type CutValue struct {
	Start  string `json:"start"`
	Length int    `json:"length"` // in bytes
	SHA256 string `json:"sha256"`
}

// Cut returns the replacement for a value of an AuditChange, if the value was too long.
func (AuditChange) Cut(value json.RawMessage) (cut CutValue, ok bool) {
	if len(value) == 0 || value[0] != '{' || len(SplitFields(value)) != 3 {
		return cut, false
	}
	err := json.Unmarshal(value, &cut)
	return cut, err == nil && cut.Length > 0 && cut.SHA256 != ""
}

// AuditFeed contains rows of the audit log, oldest first. After is the position to continue from.
type AuditFeed struct {
	Entries []AuditEntry `json:"entries"`
	After   int64        `json:"after"`
	HasMore bool         `json:"has_more"`
}

// OutcomeDetails are the details of an error that leaves it unknown whether the request was carried out.
type OutcomeDetails struct {
	Outcome string `json:"outcome"`
}
