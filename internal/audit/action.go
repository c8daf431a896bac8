package audit

import "strings"

// Action is the dotted name of something that was done.
type Action string

const (
	MemberAdded        Action = "iam.member.added"
	MemberRemoved      Action = "iam.member.removed"
	MemberRoleAssigned Action = "iam.member.role_assigned"
	MemberRoleRemoved  Action = "iam.member.role_removed"

	RoleCreated Action = "iam.role.created"
	RoleUpdated Action = "iam.role.updated"
	RoleDeleted Action = "iam.role.deleted"

	WorkspaceCreated Action = "iam.workspace.created"
	WorkspaceUpdated Action = "iam.workspace.updated"

	OrganizationCreated         Action = "iam.organization.created"
	OrganizationSettingsUpdated Action = "iam.organization.settings_updated"

	UserCreated  Action = "iam.user.created"
	UserDisabled Action = "iam.user.disabled"
	UserEnabled  Action = "iam.user.enabled"
	AccessDenied Action = "iam.access.denied"

	EntryCreated  Action = "directory.entry.created"
	EntryUpdated  Action = "directory.entry.updated"
	EntryDeleted  Action = "directory.entry.deleted"
	EntryRestored Action = "directory.entry.restored"
	EntryPurged   Action = "directory.entry.purged"

	TagCreated Action = "directory.tag.created"
	TagUpdated Action = "directory.tag.updated"
	TagDeleted Action = "directory.tag.deleted"

	ReceivingMethodAdded   Action = "directory.receiving_method.added"
	ReceivingMethodUpdated Action = "directory.receiving_method.updated"
	ReceivingMethodRemoved Action = "directory.receiving_method.removed"

	DeviceApproved    Action = "auth.device.approved"
	DeviceDenied      Action = "auth.device.denied"
	SessionCreated    Action = "auth.session.created"
	SessionRevoked    Action = "auth.session.revoked"
	KeyCreated        Action = "auth.key.created"
	KeyRotated        Action = "auth.key.rotated"
	KeyRevoked        Action = "auth.key.revoked"
	ClientCreated     Action = "auth.client.created"
	ClientRevoked     Action = "auth.client.revoked"
	SigningKeyRotated Action = "auth.signing_key.rotated"
	LoginFailed       Action = "auth.login.failed"
)

func (a Action) changesAccess() bool {
	switch a {
	case SessionRevoked, KeyRevoked, ClientRevoked, SigningKeyRotated:
		return true
	case UserCreated, AccessDenied:
		return false
	}
	return strings.HasPrefix(string(a), "iam.")
}

// ResourceType names the kind of thing that an action is about.
type ResourceType string

const (
	Member          ResourceType = "member"
	Role            ResourceType = "role"
	Workspace       ResourceType = "workspace"
	Organization    ResourceType = "organization"
	UserAccount     ResourceType = "user"
	DirectoryEntry  ResourceType = "directory_entry"
	DirectoryTag    ResourceType = "directory_tag"
	ReceivingMethod ResourceType = "receiving_method"
	DeviceCode      ResourceType = "device_code"
	Session         ResourceType = "session"
	Key             ResourceType = "api_key"
	ClientAccount   ResourceType = "client"
	SigningKey      ResourceType = "signing_key"
)

// Resource is the kind of thing that the action is about, which the middle of
// its name tells. A refused read or a failed login is about nothing in particular.
func (a Action) Resource() ResourceType {
	parts := strings.Split(string(a), ".")
	if len(parts) != 3 {
		return ""
	}
	switch parts[0] + "." + parts[1] {
	case "iam.member":
		return Member
	case "iam.role":
		return Role
	case "iam.workspace":
		return Workspace
	case "iam.organization":
		return Organization
	case "iam.user":
		return UserAccount
	case "directory.entry":
		return DirectoryEntry
	case "directory.tag":
		return DirectoryTag
	case "directory.receiving_method":
		return ReceivingMethod
	case "auth.device":
		return DeviceCode
	case "auth.session":
		return Session
	case "auth.key":
		return Key
	case "auth.client":
		return ClientAccount
	case "auth.signing_key":
		return SigningKey
	}
	return ""
}
