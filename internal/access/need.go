package access

import "slices"

// Needs is the set of permissions that a permission is useless without. Nothing
// can be done in a workspace that one cannot see, and nothing can be changed without
// seeing it.
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

// WithNeeds adds what the named permissions need, and returns what was added. It
// keeps unknown names, so that the service can refuse them.
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
