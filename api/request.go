package api

// Request bodies. A nil pointer means that the caller omits the field, which differs from an empty value.

// DeviceCodeCreate requests a device code.
type DeviceCodeCreate struct {
	Intent        *string `json:"intent,omitzero"` // shown to the person who approves
	CodeChallenge *string `json:"code_challenge,omitzero"`
}

// APIKeyCreate describes a new API key.
type APIKeyCreate struct {
	Name         string   `json:"name" required:"true"`
	ExpiresAt    *int64   `json:"expires_at,omitzero"` // Unix milliseconds; never if nil
	AllowedCIDRs []string `json:"allowed_cidrs,omitempty"`
	ScopeRequest
}

// APIKeyRotate replaces a key.
type APIKeyRotate struct {
	GraceSeconds *int64 `json:"grace_seconds,omitzero"` // how long the old key stays valid; a day if nil
}

// OrganizationCreate describes a new organization.
type OrganizationCreate struct {
	Name string  `json:"name" required:"true"`
	Slug *string `json:"slug,omitzero"` // derived from the name if nil
}

// SettingsUpdate changes an organization. Nil fields stay as they are.
type SettingsUpdate struct {
	Name                *string `json:"name,omitzero"`
	Slug                *string `json:"slug,omitzero"`
	RequireSecondFactor *bool   `json:"require_second_factor,omitzero"`
	AuditRetentionDays  *int64  `json:"audit_retention_days,omitzero"` // 0 to keep permanently
}

// WorkspaceCreate describes a new workspace.
type WorkspaceCreate struct {
	Name           string  `json:"name" required:"true"`
	OrganizationID string  `json:"organization_id" required:"true"`
	Slug           *string `json:"slug,omitzero"` // derived from the name if nil
}

// WorkspaceUpdate changes a workspace. Nil fields stay as they are.
type WorkspaceUpdate struct {
	Name *string `json:"name,omitzero"`
	Slug *string `json:"slug,omitzero"`
	// OnDuplicate is how possible duplicates of a new entry are handled, unless the request sets it: OnDuplicateAllow, OnDuplicateWarn or
	// OnDuplicateRefuse.
	OnDuplicate *string `json:"on_duplicate,omitzero"`
}

// MemberAdd adds a person to a workspace with a role.
type MemberAdd struct {
	Email string `json:"email" required:"true"`
	Role  string `json:"role" required:"true"` // the key of a role
}

// OwnerAdd adds an owner to an organization.
type OwnerAdd struct {
	UserID string `json:"user_id" required:"true"`
}

// RoleAssign gives a member an additional role.
type RoleAssign struct {
	UserID string `json:"user_id" required:"true"`
	Role   string `json:"role" required:"true"` // the key of a role
}

// RoleDefine describes a role of a workspace.
type RoleDefine struct {
	Name  string  `json:"name" required:"true"`
	Color *string `json:"color,omitzero"` // such as #0f766e; chosen by the server if nil
	// Permissions are names such as ws.directory.read. A caller can grant only permissions that they hold.
	Permissions []string `json:"permissions" required:"true"`
}

// AppliesToAll marks tags for entries of any type. Other tags apply to TypePerson or TypeOrganization.
const AppliesToAll = "all"

// TagCreate describes a new tag.
type TagCreate struct {
	WorkspaceID string  `json:"workspace_id" required:"true"`
	Name        string  `json:"name" required:"true"`
	AppliesTo   *string `json:"applies_to,omitzero"` // AppliesToAll if nil
}

// TagUpdate changes a tag. Nil fields stay as they are.
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
	// InstitutionCode is the code of the bank or wallet. Rails need it to pay.
	InstitutionCode *string `json:"institution_code,omitzero"`
}

// ReceivingMethodUpdate changes a receiving method. Nil fields stay as they are. A change of anything except IsDefault creates a successor,
// which is returned.
type ReceivingMethodUpdate struct {
	Provider        *string `json:"provider,omitzero"`
	AccountName     *string `json:"account_name,omitzero"`
	AccountID       *string `json:"account_id,omitzero"`
	IsDefault       *bool   `json:"is_default,omitzero"`
	InstitutionCode *string `json:"institution_code,omitzero"` // "" removes it
}
