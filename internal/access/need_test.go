package access_test

import (
	"slices"
	"testing"

	"bursar/internal/access"
)

// everything is the set of all permissions, which the admin role has.
func everything() access.Set {
	admin, _ := access.BuiltInRole(access.Admin)
	return admin.Permissions
}

func TestBuiltInRolesHaveWhatTheirPermissionsNeed(t *testing.T) {
	for _, role := range access.BuiltInRoles() {
		for _, p := range role.Permissions.List() {
			if missing, lacks := role.Permissions.Lacks(p.Needs()); lacks {
				t.Errorf("%s has %s without %s", role.Key, p, missing)
			}
		}
	}
}

func TestNeedsOfNeedsAreIncluded(t *testing.T) {
	for _, p := range everything().List() {
		for _, needed := range p.Needs().List() {
			if missing, lacks := p.Needs().Lacks(needed.Needs()); lacks {
				t.Errorf("%s needs %s, which needs %s", p, needed, missing)
			}
		}
		if p.Needs().Has(p) {
			t.Errorf("%s needs itself", p)
		}
	}
}

func TestPermissionsGetWhatTheyNeed(t *testing.T) {
	for name, c := range map[string]struct{ given, all []string }{
		"none":                   {nil, nil},
		"complete":               {[]string{"ws.directory.read", "ws.read"}, []string{"ws.directory.read", "ws.read"}},
		"a read":                 {[]string{"ws.directory.read"}, []string{"ws.directory.read", "ws.read"}},
		"a write":                {[]string{"ws.directory.write"}, []string{"ws.directory.write", "ws.read", "ws.directory.read"}},
		"two with the same need": {[]string{"ws.tags.write", "ws.directory.delete"}, []string{"ws.tags.write", "ws.directory.delete", "ws.read", "ws.directory.read"}},
		"a chain":                {[]string{"ws.receiving.write"}, []string{"ws.receiving.write", "ws.read", "ws.directory.read", "ws.receiving.read"}},
		"unknown":                {[]string{"ws.frobnicate"}, []string{"ws.frobnicate"}},
	} {
		all, added := access.WithNeeds(c.given)
		if !slices.Equal(all, c.all) || added != access.SetOf(permissions(c.all[len(c.given):])...) {
			t.Errorf("%s: %v, of which were added %v", name, all, added)
		}
	}
}

func permissions(names []string) []access.Permission {
	var list []access.Permission
	for _, name := range names {
		list = append(list, access.Permission(name))
	}
	return list
}
