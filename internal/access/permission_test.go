package access_test

import (
	"testing"

	"bursar/internal/access"
)

func TestPermissionSets(t *testing.T) {
	for name, c := range map[string]struct {
		set  access.Set
		text string
	}{
		"empty":                   {access.SetOf(), ""},
		"in the order of display": {access.SetOf(access.DirectoryRead, access.WSRead), "ws.read ws.directory.read"},
		"once":                    {access.SetOf(access.WSRead, access.WSRead), "ws.read"},
		"nothing of organizations": {
			access.SetOf(access.OrgRead, access.OrgSettingsRead, access.OrgSettingsWrite, access.WSRead), "ws.read",
		},
		"nothing unknown": {access.SetOf("ws.frobnicate", "", "ws.read "), ""},
	} {
		if got := c.set.String(); got != c.text {
			t.Errorf("%s: %q", name, got)
		}
		if got := access.ParseSet(c.text); got != c.set {
			t.Errorf("%s: %q is read as %s", name, c.text, got)
		}
	}
	if got := access.ParseSet(" ws.read  ws.frobnicate\torg.read "); got != access.SetOf(access.WSRead) {
		t.Errorf("what is not a workspace permission is read as %s", got)
	}
}

func TestPermissionInASet(t *testing.T) {
	set := access.SetOf(access.WSRead, access.DirectoryRead)
	for p, want := range map[access.Permission]bool{
		access.WSRead: true, access.DirectoryRead: true,
		access.WSWrite: false, access.DirectoryWrite: false,
		access.OrgRead: false, "ws.frobnicate": false, "": false,
	} {
		if set.Has(p) != want {
			t.Errorf("the set has %q: %t", p, !want)
		}
	}
	for name, c := range map[string]struct {
		other   access.Set
		missing access.Permission
	}{
		"nothing":      {0, ""},
		"itself":       {set, ""},
		"a part":       {access.SetOf(access.WSRead), ""},
		"more":         {set | access.SetOf(access.TagsWrite), access.TagsWrite},
		"the first of": {access.SetOf(access.TagsWrite, access.WSWrite), access.WSWrite},
	} {
		if missing, lacks := set.Lacks(c.other); missing != c.missing || lacks != (c.missing != "") {
			t.Errorf("%s: the set lacks %q, %t", name, missing, lacks)
		}
	}
}

func TestBuiltInRolesGrant(t *testing.T) {
	for key, want := range map[string]string{
		"viewer":                  "ws.read ws.members.read ws.directory.read ws.payouts.read ws.accounts.read",
		"member":                  "ws.read ws.members.read ws.directory.read ws.directory.write ws.receiving.read ws.payouts.read ws.accounts.read",
		"directory_manager":       "ws.read ws.members.read ws.directory.read ws.directory.write ws.directory.delete ws.receiving.read ws.receiving.write ws.tags.write ws.payouts.read ws.accounts.read",
		"disbursement_manager":    "ws.read ws.members.read ws.directory.read ws.receiving.read ws.payouts.read ws.payouts.create ws.accounts.read",
		"disbursement_authorizer": "ws.read ws.members.read ws.directory.read ws.receiving.read ws.receiving.approve ws.payouts.read ws.payouts.approve ws.accounts.read",
		"auditor":                 "ws.read ws.members.read ws.directory.read ws.audit.read ws.audit.export ws.payouts.read ws.accounts.read",
	} {
		if role, found := access.BuiltInRole(key); !found || !role.BuiltIn || role.Permissions.String() != want {
			t.Errorf("%s grants %s", key, role.Permissions)
		}
	}
	for _, role := range access.BuiltInRoles() {
		if missing, lacks := everything().Lacks(role.Permissions); lacks {
			t.Errorf("%s grants %s, which the admin lacks", role.Key, missing)
		}
	}
	if role, found := access.BuiltInRole("emperor"); found {
		t.Errorf("an unknown role is %+v", role)
	}
}
