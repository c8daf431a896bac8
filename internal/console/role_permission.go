package console

import "bursar/internal/access"

// permissionArea is a group of permissions.
type permissionArea struct {
	Name        string
	Permissions []permission
}

// permission is a permission and what it allows, in words.
type permission struct {
	Key  string
	Text string
}

// permissionAreas lists all workspace permissions in groups. Permissions without a
// description come last, under their own names.
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

// allPermissions is every workspace permission: what the admin role has.
func allPermissions() access.Set {
	admin, _ := access.BuiltInRole(access.Admin)
	return admin.Permissions
}

func describedAreas() []permissionArea {
	say := func(p access.Permission, text string) permission { return permission{string(p), text} }
	return []permissionArea{
		{"Workspace", []permission{
			say(access.WSRead, "See the workspace"),
			say(access.WSWrite, "Rename the workspace"),
		}},
		{"Members and roles", []permission{
			say(access.MembersRead, "See members and roles"),
			say(access.MembersWrite, "Invite and remove members, assign roles"),
			say(access.RolesWrite, "Create, edit and delete roles"),
		}},
		{"Directory", []permission{
			say(access.DirectoryRead, "See entries and tags"),
			say(access.DirectoryWrite, "Add and edit entries"),
			say(access.DirectoryDelete, "Delete and restore entries"),
			say(access.TagsWrite, "Create, rename and delete tags"),
			say(access.ReceivingRead, "See receiving methods"),
			say(access.ReceivingWrite, "Add, edit and remove receiving methods"),
		}},
		{"Payouts", []permission{
			say(access.PayoutsRead, "See payouts"),
			say(access.PayoutsCreate, "Prepare payouts"),
			say(access.PayoutsApprove, "Approve payouts"),
		}},
		{"Audit", []permission{
			say(access.AuditRead, "See the audit log"),
			say(access.AuditExport, "Export the audit log"),
		}},
		{"Keys and webhooks", []permission{
			say(access.KeysRead, "See machine clients"),
			say(access.KeysWrite, "Create, rotate and revoke machine clients"),
			say(access.WebhooksRead, "See webhooks"),
			say(access.WebhooksWrite, "Edit webhooks"),
		}},
	}
}
