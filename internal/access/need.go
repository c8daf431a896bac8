package access

import "slices"

// Needs returns the permissions without which a permission is useless. Everything in a workspace needs the permission to see the workspace,
// and every change needs the permission to see what it changes.
func (p Permission) Needs() Set {
	switch p {
	case WSRead:
		return 0
	case MembersWrite, RolesWrite:
		return SetOf(WSRead, MembersRead)
	case DirectoryWrite, DirectoryDelete, TagsWrite, ReceivingRead:
		return SetOf(WSRead, DirectoryRead)
	case ReceivingWrite, ReceivingApprove:
		return SetOf(WSRead, DirectoryRead, ReceivingRead)
	case AuditExport:
		return SetOf(WSRead, AuditRead)
	case KeysWrite:
		return SetOf(WSRead, KeysRead)
	case WebhooksWrite:
		return SetOf(WSRead, WebhooksRead)
	case PayoutsCreate, PayoutsApprove:
		return SetOf(WSRead, PayoutsRead)
	case AccountsWrite:
		return SetOf(WSRead, AccountsRead)
	}
	return SetOf(WSRead)
}

// WithNeeds adds the permissions that the named ones need, and returns which were added. It keeps unknown names, so that the service can
// refuse them.
func WithNeeds(names []string) (all []string, added Set) {
	var chosen Set
	for _, name := range names {
		chosen |= SetOf(Permission(name))
	}
	for _, p := range chosen.List() {
		added |= p.Needs() &^ chosen
	}
	all = slices.Clone(names)
	for _, p := range added.List() {
		all = append(all, string(p))
	}
	return all, added
}
