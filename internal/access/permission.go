package access

import (
	"slices"
	"strings"
)

// Permission is the dotted name of something that a role allows.
type Permission string

const (
	WSRead           Permission = "ws.read"
	WSWrite          Permission = "ws.write"
	MembersRead      Permission = "ws.members.read"
	MembersWrite     Permission = "ws.members.write"
	RolesWrite       Permission = "ws.roles.write"
	DirectoryRead    Permission = "ws.directory.read"
	DirectoryWrite   Permission = "ws.directory.write"
	DirectoryDelete  Permission = "ws.directory.delete"
	ReceivingRead    Permission = "ws.receiving.read"
	ReceivingWrite   Permission = "ws.receiving.write"
	TagsWrite        Permission = "ws.tags.write"
	AuditRead        Permission = "ws.audit.read"
	AuditExport      Permission = "ws.audit.export"
	KeysRead         Permission = "ws.keys.read"
	KeysWrite        Permission = "ws.keys.write"
	WebhooksRead     Permission = "ws.webhooks.read"
	WebhooksWrite    Permission = "ws.webhooks.write"
	PayoutsRead      Permission = "ws.payouts.read"
	PayoutsCreate    Permission = "ws.payouts.create"
	PayoutsApprove   Permission = "ws.payouts.approve"
	ReceivingApprove Permission = "ws.receiving.approve"
	AccountsRead     Permission = "ws.accounts.read"
	AccountsWrite    Permission = "ws.accounts.write"
	OrgRead          Permission = "org.read"
	OrgSettingsRead  Permission = "org.settings.read"
	OrgSettingsWrite Permission = "org.settings.write"
)

// workspacePermissions returns the permissions that a role can hold, in display order. The index of a permission is its bit in a Set.
func workspacePermissions() []Permission {
	return []Permission{
		WSRead, WSWrite, MembersRead, MembersWrite, RolesWrite,
		DirectoryRead, DirectoryWrite, DirectoryDelete, ReceivingRead, ReceivingWrite, ReceivingApprove, TagsWrite,
		AuditRead, AuditExport, KeysRead, KeysWrite, WebhooksRead, WebhooksWrite,
		PayoutsRead, PayoutsCreate, PayoutsApprove, AccountsRead, AccountsWrite,
	}
}

// Set is a set of workspace permissions.
type Set uint64

// SetOf returns a set of permissions. It ignores anything that is not a workspace permission.
func SetOf(list ...Permission) Set {
	var s Set
	for _, p := range list {
		if i := slices.Index(workspacePermissions(), p); i >= 0 {
			s |= 1 << i
		}
	}
	return s
}

// ParseSet parses the format of String.
func ParseSet(text string) Set {
	var s Set
	for name := range strings.FieldsSeq(text) {
		s |= SetOf(Permission(name))
	}
	return s
}

// OfMachine returns the subset of permissions that a machine client can hold. A client cannot decide who may do something, because a person
// who knows its secret may have left. Nor is it a second person.
func (s Set) OfMachine() Set {
	return s &^ SetOf(MembersWrite, RolesWrite, KeysWrite, ReceivingApprove, PayoutsApprove)
}

// Has reports whether the permission is in the set.
func (s Set) Has(p Permission) bool { one := SetOf(p); return one != 0 && s&one == one }

// Lacks returns the first permission of other that is not in s, if there is one.
func (s Set) Lacks(other Set) (Permission, bool) {
	for _, p := range (other &^ s).List() {
		return p, true
	}
	return "", false
}

// List returns the permissions in the order of workspacePermissions.
func (s Set) List() []Permission {
	list := []Permission{}
	for i, p := range workspacePermissions() {
		if s&(1<<i) != 0 {
			list = append(list, p)
		}
	}
	return list
}

// Names returns the permissions in the format of the API.
func (s Set) Names() []string {
	names := []string{}
	for _, p := range s.List() {
		names = append(names, string(p))
	}
	return names
}

func (s Set) String() string { return strings.Join(s.Names(), " ") }

// Role is a named set of permissions.
type Role struct {
	Key         string
	Name        string
	Color       string
	Permissions Set
	BuiltIn     bool
}

// Admin is the key of the role that at least one member of a workspace must hold.
const Admin = "admin"

// BuiltInRoles returns the roles that every workspace has.
func BuiltInRoles() []Role {
	viewer := SetOf(WSRead, MembersRead, DirectoryRead, PayoutsRead, AccountsRead)
	member := viewer | SetOf(DirectoryWrite, ReceivingRead)
	return []Role{
		{Admin, "Admin", "#b42318", SetOf(workspacePermissions()...), true},
		{"member", "Member", "#175cd3", member, true},
		{"viewer", "Viewer", "#475467", viewer, true},
		{"directory_manager", "Directory manager", "#067647", member | SetOf(DirectoryDelete, ReceivingWrite, TagsWrite), true},
		{"disbursement_manager", "Disbursement manager", "#b54708", viewer | SetOf(ReceivingRead, PayoutsCreate), true},
		{"disbursement_authorizer", "Disbursement authorizer", "#6941c6", viewer | SetOf(ReceivingRead, ReceivingApprove, PayoutsApprove), true},
		{"auditor", "Auditor", "#0e7090", viewer | SetOf(AuditRead, AuditExport), true},
	}
}

// BuiltInRole finds a built-in role.
func BuiltInRole(key string) (Role, bool) {
	for _, r := range BuiltInRoles() {
		if r.Key == key {
			return r, true
		}
	}
	return Role{}, false
}
