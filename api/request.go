package api

// The bodies of requests. A pointer is nil where the caller leaves something out,
// which differs from making it empty.

// DeviceCodeCreate asks for a device code.
type DeviceCodeCreate struct {
	Intent        *string `json:"intent,omitzero"` // shown to whoever approves
	CodeChallenge *string `json:"code_challenge,omitzero"`
}

// APIKeyCreate describes a new API key.
type APIKeyCreate struct {
	Name         string   `json:"name" required:"true"`
	ExpiresAt    *int64   `json:"expires_at,omitzero"` // Unix milliseconds; never if nil
	AllowedCIDRs []string `json:"allowed_cidrs,omitempty"`
	ScopeRequest
}

// APIKeyRotate says how a key is replaced.
type APIKeyRotate struct {
	GraceSeconds *int64 `json:"grace_seconds,omitzero"` // that the old key stays valid; a day if nil
}

// OrganizationCreate describes a new organization.
type OrganizationCreate struct {
	Name string  `json:"name" required:"true"`
	Slug *string `json:"slug,omitzero"` // derived from the name if nil
}

// SettingsUpdate says what to change about an organization. Whatever is nil stays
// as it is.
type SettingsUpdate struct {
	Name                *string `json:"name,omitzero"`
	Slug                *string `json:"slug,omitzero"`
	RequireSecondFactor *bool   `json:"require_second_factor,omitzero"`
	AuditRetentionDays  *int64  `json:"audit_retention_days,omitzero"` // 0 for ever
}

// WorkspaceCreate describes a new workspace.
type WorkspaceCreate struct {
	Name           string  `json:"name" required:"true"`
	OrganizationID string  `json:"organization_id" required:"true"`
	Slug           *string `json:"slug,omitzero"` // derived from the name if nil
}

// WorkspaceUpdate says what to change about a workspace. Whatever is nil stays as
// it is.
type WorkspaceUpdate struct {
	Name *string `json:"name,omitzero"`
	Slug *string `json:"slug,omitzero"`
	// OnDuplicate is what is done with a new entry that may be a double, unless the request says
	// it: OnDuplicateAllow, OnDuplicateWarn or OnDuplicateRefuse.
	OnDuplicate *string `json:"on_duplicate,omitzero"`
}

// MemberAdd says who joins a workspace, and with which role.
type MemberAdd struct {
	Email string `json:"email" required:"true"`
	Role  string `json:"role" required:"true"` // the key of a role
}

// OwnerAdd says who becomes an owner of an organization.
type OwnerAdd struct {
	UserID string `json:"user_id" required:"true"`
}

// RoleAssign gives a member one more role.
type RoleAssign struct {
	UserID string `json:"user_id" required:"true"`
	Role   string `json:"role" required:"true"` // the key of a role
}

// RoleDefine describes a role of a workspace.
type RoleDefine struct {
	Name  string  `json:"name" required:"true"`
	Color *string `json:"color,omitzero"` // such as #0f766e; chosen by the server if nil
	// Permissions are names such as ws.directory.read. Nobody can give what they do
	// not hold.
	Permissions []string `json:"permissions" required:"true"`
}

// AppliesToAll is for tags that entries of any type may have. The others apply to
// TypePerson or TypeOrganization.
const AppliesToAll = "all"

// TagCreate describes a new tag.
type TagCreate struct {
	WorkspaceID string  `json:"workspace_id" required:"true"`
	Name        string  `json:"name" required:"true"`
	AppliesTo   *string `json:"applies_to,omitzero"` // AppliesToAll if nil
}

// TagUpdate says what to change about a tag. Whatever is nil stays as it is.
type TagUpdate struct {
	Name      *string `json:"name,omitzero"`
	AppliesTo *string `json:"applies_to,omitzero"`
}

// ReceivingMethodCreate describes a new receiving method.
type ReceivingMethodCreate struct {
	Provider    string `json:"provider" required:"true"`
	AccountName string `json:"account_name" required:"true"`
	AccountID   string `json:"account_id" required:"true"`
	IsDefault   bool   `json:"is_default,omitzero"`
	// InstitutionCode is the code of the bank or wallet, which a rail pays by.
	InstitutionCode *string `json:"institution_code,omitzero"`
}

// ReceivingMethodUpdate says what to change about a receiving method. Whatever is
// nil stays as it is. A change of anything but IsDefault makes a successor, which is the answer.
type ReceivingMethodUpdate struct {
	Provider        *string `json:"provider,omitzero"`
	AccountName     *string `json:"account_name,omitzero"`
	AccountID       *string `json:"account_id,omitzero"`
	IsDefault       *bool   `json:"is_default,omitzero"`
	InstitutionCode *string `json:"institution_code,omitzero"` // "" removes it
}
