// Package api holds the wire types: what the server answers, and what the client
// package and the command line decode. It depends on no YAML parser; the contract
// itself, with its parser, is package openapi.
package api

import "encoding/json"

// The wire types: what stands in `data` of an answer.

// DeviceCode is a login that a command line asked for.
type DeviceCode struct {
	Code            string `json:"code"`
	VerificationURL string `json:"verification_url"`
	ExpiresAt       int64  `json:"expires_at"` // Unix seconds
	Interval        int    `json:"interval"`
}

// Flat marks an answer whose fields stand beside the envelope's as well.
func (DeviceCode) Flat() {}

// DeviceCodeStatus tells how a device login stands.
type DeviceCodeStatus struct {
	Status string `json:"status"`
	Token  string `json:"token,omitzero"`
}

// Flat marks an answer whose fields stand beside the envelope's as well.
func (DeviceCodeStatus) Flat() {}

// DeviceDecision is the answer to approving or denying a device code.
type DeviceDecision struct {
	Code   string `json:"code"`
	Status string `json:"status"`
}

// Session is what a key exchange gives.
type Session struct {
	Token     string `json:"token"`
	UserID    string `json:"user_id"`
	ExpiresAt int64  `json:"expires_at"`
}

// ActorID is who logged in.
func (s Session) ActorID() string { return s.UserID }

// Logout is the answer to ending one's session.
type Logout struct {
	SessionID string `json:"session_id"`
	Revoked   bool   `json:"revoked"`
}

// User is whoever calls.
type User struct {
	ID    string `json:"id"`
	Email string `json:"email"`
	Name  string `json:"name"`
}

// Me is the user of a session.
type Me struct {
	User
	Scope *Scope `json:"scope,omitzero"` // of a credential that is limited or does not administer
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

// PreviousAPIKey tells until when a rotated key stays good.
type PreviousAPIKey struct {
	ID        string `json:"id"`
	ExpiresAt int64  `json:"expires_at"`
}

// Workspace is a tenant's room.
type Workspace struct {
	ID             string `json:"id"`
	Name           string `json:"name"`
	Slug           string `json:"slug"`
	OrganizationID string `json:"organization_id"`
	// OnDuplicate is OnDuplicateWarn or OnDuplicateRefuse, or absent if doubles are allowed.
	OnDuplicate string `json:"on_duplicate,omitzero"`
}

// Member is somebody in a workspace, with the keys of their roles. Until they accept,
// they are listed by the id of the invitation, without a name.
type Member struct {
	ID     string   `json:"id"`
	Name   string   `json:"name"`
	Email  string   `json:"email"`
	Roles  []string `json:"roles"`
	Status string   `json:"status"`
	// EmailProved says whether a person has shown that the address is theirs. It is nil for machine clients and before they accept.
	EmailProved *bool `json:"email_proved,omitzero"`
}

// MemberAdded is the answer to adding a member.
type MemberAdded struct {
	WorkspaceID string `json:"workspace_id"`
	Email       string `json:"email"`
	Role        string `json:"role"`
	UserID      string `json:"user_id"` // the id of the invitation, if they have to accept first
	// InvitationURL is the link by which somebody who is invited accepts. It is shown here
	// and never again, and only if the server sends no mail.
	InvitationURL string `json:"invitation_url,omitzero"`
}

// Invitation is a workspace that the caller is invited to.
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

// InvitationDecision is the answer to accepting or declining an invitation.
type InvitationDecision struct {
	ID          string `json:"id"`
	WorkspaceID string `json:"workspace_id"`
	Status      string `json:"status"` // accepted or declined
}

// MemberRemoved is the answer to removing a member.
type MemberRemoved struct {
	WorkspaceID string `json:"workspace_id"`
	UserID      string `json:"user_id"`
	// ApprovalsWaiting is how many approvals no one who is left could decide.
	ApprovalsWaiting int `json:"approvals_waiting,omitzero"`
}

// Role is a named set of permissions.
type Role struct {
	ID          string   `json:"id,omitzero"` // the key, where a role was just defined
	Key         string   `json:"key"`
	Name        string   `json:"name"`
	Color       string   `json:"color"`
	Permissions []string `json:"permissions"`
	BuiltIn     bool     `json:"built_in"`
}

// RoleAssignment is the answer to giving or taking a role.
type RoleAssignment struct {
	WorkspaceID string `json:"workspace_id"`
	UserID      string `json:"user_id"`
	Role        string `json:"role"`
	// ApprovalsWaiting is how many approvals no one who is left could decide, after a role was removed.
	ApprovalsWaiting int `json:"approvals_waiting,omitzero"`
}

// RoleDeleted is the answer to deleting a role.
type RoleDeleted struct {
	WorkspaceID string `json:"workspace_id"`
	Role        string `json:"role"`
	Deleted     bool   `json:"deleted"`
}

// MachineClient is an account of a program in a workspace, without its secret.
type MachineClient struct {
	ID    string   `json:"id"`
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
	// Permissions are what it holds: what its roles allow within its scope, without what no
	// machine client can hold.
	Permissions []string `json:"permissions"`
	// WorkspaceIDs, Mode and Administer are the rest of its scope, as in Scope.
	WorkspaceIDs []string `json:"workspace_ids,omitzero"`
	Mode         string   `json:"mode"`
	Administer   bool     `json:"administer"`
	CreatedAt    int64    `json:"created_at"`
	LastUsedAt   int64    `json:"last_used_at,omitzero"`
	// SecretSeenBy is who was shown its present secret: who created it, or gave it a new
	// secret last. It is nil where that was an operator.
	SecretSeenBy *User `json:"secret_seen_by,omitzero"`
	// SecretEnded means that the client has no secret, because the person who knew it has left: rotate the client to give it one.
	SecretEnded bool `json:"secret_ended,omitzero"`
}

// NewMachineClient is a machine client with its secret, which is shown once.
type NewMachineClient struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Secret string `json:"secret"`
}

// Organization is the owner of workspaces; its settings look the same.
type Organization struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Slug string `json:"slug"`
	// RequireSecondFactor means that its people must sign in with a second factor.
	RequireSecondFactor bool `json:"require_second_factor,omitzero"`
	// AuditRetentionDays is after how many days what is personal in its audit log is erased, 0
	// for never.
	AuditRetentionDays int64 `json:"audit_retention_days,omitzero"`
}

// Ownership is the answer to adding or removing an owner of an organization.
type Ownership struct {
	OrganizationID string `json:"organization_id"`
	UserID         string `json:"user_id"`
}

// Tag is a word that entries can have.
type Tag struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	AppliesTo string `json:"applies_to"`
}

// ReceivingMethod is a way to be paid.
type ReceivingMethod struct {
	ID          string `json:"id"`
	Provider    string `json:"provider"`
	AccountName string `json:"account_name"`
	AccountID   string `json:"account_id"`
	IsDefault   bool   `json:"is_default"`
	// Status is MethodPending, MethodActive, MethodRetired or MethodRejected.
	Status          string `json:"status"`
	InstitutionCode string `json:"institution_code,omitzero"`
	Replaces        string `json:"replaces,omitzero"`    // the method that it succeeds
	PayableAt       int64  `json:"payable_at,omitzero"`  // of an active one that cools
	ApprovalID      string `json:"approval_id,omitzero"` // that it waits for
}

// Created is the answer to making or changing something.
type Created struct {
	ID string `json:"id"`
	// Duplicates are entries of which a new entry may be a double, if the request asked for them.
	Duplicates []Duplicate `json:"duplicates,omitempty"`
	// ApprovalID and PendingChange are set if a part of the change waits for a second person.
	ApprovalID    string         `json:"approval_id,omitzero"`
	PendingChange *PendingChange `json:"pending_change,omitzero"`
}

// Deleted is the answer to deleting something.
type Deleted struct {
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"`
}

// Revoked is the answer to revoking something.
type Revoked struct {
	ID      string `json:"id"`
	Revoked bool   `json:"revoked"`
}

// Restored is the answer to restoring something.
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
	// Changes are what an update changed.
	Changes []AuditChange `json:"changes,omitempty"`
	Seq     int64         `json:"seq,omitzero"` // its place in the log of its workspace or organization; 0 until it has one
	// Erased means that the names, the addresses, the description and the changes were removed.
	Erased bool `json:"erased,omitzero"`
}

// AuditChange is a field before and after an update, as JSON: null where there was, or is, nothing.
// A long value is an object with its start, its length and its sha256.
type AuditChange struct {
	Field  string          `json:"field"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// CutValue stands for a value that is too long for a row of the audit log.
type CutValue struct {
	Start  string `json:"start"`
	Length int    `json:"length"` // in bytes
	SHA256 string `json:"sha256"`
}

// Cut returns what stands for a value of an AuditChange, if it was too long.
func (AuditChange) Cut(value json.RawMessage) (cut CutValue, ok bool) {
	if len(value) == 0 || value[0] != '{' || len(SplitFields(value)) != 3 {
		return cut, false
	}
	err := json.Unmarshal(value, &cut)
	return cut, err == nil && cut.Length > 0 && cut.SHA256 != ""
}

// AuditFeed holds rows of the audit log, oldest first. After is the place to go on from.
type AuditFeed struct {
	Entries []AuditEntry `json:"entries"`
	After   int64        `json:"after"`
	HasMore bool         `json:"has_more"`
}

// OutcomeDetails are the details of an error after which it is unknown whether the request was
// carried out.
type OutcomeDetails struct {
	Outcome string `json:"outcome"`
}
