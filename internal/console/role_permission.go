package console

import (
	"slices"
	"strings"

	"bursar/internal/access"
)

// permissionArea is a group of permissions.
type permissionArea struct {
	Name        string
	Permissions []permission
}

// permission is a permission with its description.
type permission struct {
	Key  string
	Text string
}

// Needs returns the permissions without which this one is useless, separated by spaces. The form's script ticks them as well.
func (p permission) Needs() string { return access.Permission(p.Key).Needs().String() }

// areasOf groups the permissions of a set. Permissions without a description come
// last, under their own names.
func areasOf(set access.Set) []permissionArea {
	var areas []permissionArea
	var described access.Set
	for _, area := range describedAreas() {
		for _, p := range area.Permissions {
			described |= access.SetOf(access.Permission(p.Key))
		}
		area.Permissions = slices.DeleteFunc(area.Permissions, func(p permission) bool { return !set.Has(access.Permission(p.Key)) })
		if len(area.Permissions) > 0 {
			areas = append(areas, area)
		}
	}
	var others []permission
	for _, p := range (set &^ described).List() {
		others = append(others, permission{string(p), string(p)})
	}
	if len(others) > 0 {
		areas = append(areas, permissionArea{"Other", others})
	}
	return areas
}

// allPermissions returns every workspace permission, which the admin role has.
func allPermissions() access.Set {
	admin, _ := access.BuiltInRole(access.Admin)
	return admin.Permissions
}

// usablePermissions returns the permissions that Bursar checks. It omits those of webhooks, which do not exist yet.
func usablePermissions() access.Set {
	return allPermissions() &^ access.SetOf(access.WebhooksRead, access.WebhooksWrite)
}

// describe lists permissions in words, such as "See the workspace; See the audit log".
func describe(set access.Set) string {
	var texts []string
	for _, area := range areasOf(set) {
		for _, p := range area.Permissions {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "; ")
}

func describedAreas() []permissionArea {
	say := func(p access.Permission, text string) permission { return permission{string(p), text} }
	return []permissionArea{
		{"Workspace", []permission{
			say(access.WSRead, "See the workspace"),
			say(access.WSWrite, "Change the workspace, its rules and its limits"),
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
			say(access.ReceivingApprove, "Approve what others change about receiving methods"),
		}},
		{"Payouts", []permission{
			say(access.PayoutsRead, "See payouts, rules and limits"),
			say(access.PayoutsCreate, "Make and cancel payouts"),
			say(access.PayoutsApprove, "Approve payouts"),
		}},
		{"Accounts", []permission{
			say(access.AccountsRead, "See accounts, balances and statements"),
			say(access.AccountsWrite, "Open, rename, freeze and close accounts, and move money between them"),
		}},
		{"Audit", []permission{
			say(access.AuditRead, "See the audit log"),
			say(access.AuditExport, "Export the audit log"),
		}},
		{"Machine clients", []permission{
			say(access.KeysRead, "See machine clients"),
			say(access.KeysWrite, "Create, rotate and revoke machine clients"),
		}},
		{"Webhooks", []permission{
			say(access.WebhooksRead, "See webhooks"),
			say(access.WebhooksWrite, "Edit webhooks"),
		}},
	}
}
