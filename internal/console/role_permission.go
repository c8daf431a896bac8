package console

import "bursar/internal/access"

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
	var seen access.Set
	for _, area := range areas {
		for _, p := range area.Permissions {
			seen |= access.SetOf(access.Permission(p.Key))
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
func allPermissions() access.Set {
	admin, _ := access.BuiltInRole(access.Admin)
	return admin.Permissions
}

func describedAreas() []permissionArea {
	say := func(p access.Permission, text string) permission { return permission{string(p), text} }
	return []permissionArea{
		{"Workspace", []permission{
			say(access.WSRead, "See the workspace"),
			say(access.WSWrite, "Rename it"),
		}},
		{"Members and roles", []permission{
			say(access.MembersRead, "See members and roles"),
			say(access.MembersWrite, "Invite, remove, give and take roles"),
			say(access.RolesWrite, "Define roles"),
		}},
		{"Directory", []permission{
			say(access.DirectoryRead, "See entries and tags"),
			say(access.DirectoryWrite, "Add and change entries"),
			say(access.DirectoryDelete, "Delete and restore entries"),
			say(access.TagsWrite, "Make, rename and delete tags"),
			say(access.ReceivingRead, "See how somebody is paid"),
			say(access.ReceivingWrite, "Change how somebody is paid"),
		}},
		{"Payouts", []permission{
			say(access.PayoutsRead, "See payouts"),
			say(access.PayoutsCreate, "Prepare payouts"),
			say(access.PayoutsApprove, "Approve payouts"),
		}},
		{"Audit", []permission{
			say(access.AuditRead, "Read the audit log"),
			say(access.AuditExport, "Export the audit log"),
		}},
		{"Keys and webhooks", []permission{
			say(access.KeysRead, "See machine clients"),
			say(access.KeysWrite, "Make, rotate and revoke machine clients"),
			say(access.WebhooksRead, "See webhooks"),
			say(access.WebhooksWrite, "Change webhooks"),
		}},
	}
}
