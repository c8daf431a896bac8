package console

import (
	"testing"

	"bursar/internal/access"
)

func TestBuiltInRolesHaveWhatTheirPermissionsNeed(t *testing.T) {
	t.Parallel()
	for _, role := range access.BuiltInRoles() {
		for _, p := range role.Permissions.List() {
			if missing, lacks := role.Permissions.Lacks(impliedBy(p)); lacks {
				t.Errorf("%s has %s without %s", role.Key, p, missing)
			}
		}
	}
}

func TestNeedsOfNeedsAreIncluded(t *testing.T) {
	t.Parallel()
	for _, p := range allPermissions().List() {
		for _, needed := range impliedBy(p).List() {
			if missing, lacks := impliedBy(p).Lacks(impliedBy(needed)); lacks {
				t.Errorf("%s needs %s, which needs %s", p, needed, missing)
			}
		}
		if impliedBy(p).Has(p) {
			t.Errorf("%s needs itself", p)
		}
	}
}

func TestEveryPermissionIsDescribed(t *testing.T) {
	t.Parallel()
	for _, area := range areasOf(allPermissions()) {
		if area.Name == "Other" {
			t.Errorf("these have no description: %v", area.Permissions)
		}
	}
}
