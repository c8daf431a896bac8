package console

import (
	"fmt"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
)

// scopeForm is the part of a form that limits a new credential.
type scopeForm struct {
	Workspaces []api.Workspace  // to choose from; none for a machine client
	Areas      []permissionArea // the permissions to choose from
}

// scopeForm offers workspaces, and the permissions that the visitor holds.
func (v *visit) scopeForm(workspaces []api.Workspace, held access.Set) scopeForm {
	v.preset("mode", audit.BothModes)
	return scopeForm{workspaces, areasOf(held & usablePermissions())}
}

// addNeeds adds the permissions that the chosen ones need to the form.
func (v *visit) addNeeds() (added access.Set) {
	if chosen := v.form["permissions"]; len(chosen) > 0 {
		v.form["permissions"], added = access.WithNeeds(chosen)
	}
	return added
}

// limits describes a scope, a few words for each limit.
func (v *visit) limits(s api.Scope) []string {
	var list []string
	switch s.Mode {
	case audit.SandboxMode:
		list = append(list, "Sandbox only")
	case audit.LiveMode:
		list = append(list, "Live only")
	}
	switch n := len(s.WorkspaceIDs); {
	case n == 1:
		name := "1 workspace"
		for _, w := range v.workspaces {
			if w.ID == s.WorkspaceIDs[0] {
				name = w.Name
			}
		}
		list = append(list, name)
	case s.WorkspaceIDs != nil:
		list = append(list, fmt.Sprintf("%d workspaces", n))
	}
	switch n := len(s.Permissions); {
	case n == 1:
		list = append(list, "1 permission")
	case s.Permissions != nil:
		list = append(list, fmt.Sprintf("%d permissions", n))
	}
	if s.Administer {
		list = append(list, "Can administer")
	}
	return list
}
