package console

import "bursar/internal/identity"

// permissionArea is what a few permissions have in common.
type permissionArea struct {
	Name        string
	Permissions []permission
}

// permission is what a role can allow, in words.
type permission struct {
	Key  string
	Text string
}

// permissionAreas are all permissions of a workspace, as they are shown. One that
// nobody has described yet stands at the end under its own name.
func permissionAreas() []permissionArea {
	areas := describedAreas()
	var seen identity.Set
	for _, area := range areas {
		for _, p := range area.Permissions {
			seen |= identity.SetOf(identity.Permission(p.Key))
		}
	}
	var others []permission
	for _, p := range (allPermissions() &^ seen).List() {
		others = append(others, permission{string(p), string(p)})
	}
	if len(others) > 0 {
		areas = append(areas, permissionArea{"Other", others})
	}
	return areas
}

// allPermissions are what the admin holds: everything.
func allPermissions() identity.Set {
	admin, _ := identity.BuiltInRole(identity.Admin)
	return admin.Permissions
}

func describedAreas() []permissionArea {
	say := func(p identity.Permission, text string) permission { return permission{string(p), text} }
	return []permissionArea{
		{"Workspace", []permission{
			say(identity.WSRead, "See the workspace"),
			say(identity.WSWrite, "Rename it"),
		}},
		{"Members and roles", []permission{
			say(identity.MembersRead, "See members and roles"),
			say(identity.MembersWrite, "Invite, remove, give and take roles"),
			say(identity.RolesWrite, "Define roles"),
		}},
		{"Directory", []permission{
			say(identity.DirectoryRead, "See entries and tags"),
			say(identity.DirectoryWrite, "Add and change entries"),
			say(identity.DirectoryDelete, "Delete and restore entries"),
			say(identity.TagsWrite, "Make, rename and delete tags"),
			say(identity.ReceivingRead, "See how somebody is paid"),
			say(identity.ReceivingWrite, "Change how somebody is paid"),
		}},
		{"Payouts", []permission{
			say(identity.PayoutsRead, "See payouts"),
			say(identity.PayoutsCreate, "Prepare payouts"),
			say(identity.PayoutsApprove, "Approve payouts"),
		}},
		{"Audit", []permission{
			say(identity.AuditRead, "Read the audit log"),
			say(identity.AuditExport, "Export the audit log"),
		}},
		{"Keys and webhooks", []permission{
			say(identity.KeysRead, "See machine clients"),
			say(identity.KeysWrite, "Make, rotate and revoke machine clients"),
			say(identity.WebhooksRead, "See webhooks"),
			say(identity.WebhooksWrite, "Change webhooks"),
		}},
	}
}
