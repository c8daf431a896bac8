package console

import "testing"

func TestEveryPermissionIsDescribed(t *testing.T) {
	t.Parallel()
	for _, area := range areasOf(allPermissions()) {
		if area.Name == "Other" {
			t.Errorf("these have no description: %v", area.Permissions)
		}
	}
}
