package console

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
)

// scopeForm is the part of a form that limits a new credential, with the typed values.
type scopeForm struct {
	Mode         string
	Workspaces   []api.Workspace // to choose from; none for a machine client
	WorkspaceIDs []string
	Areas        []permissionArea // the permissions to choose from
	Permissions  []string
	Administer   bool
}

// Has reports whether a permission is ticked.
func (s scopeForm) Has(permission string) bool { return slices.Contains(s.Permissions, permission) }

// In reports whether a workspace is ticked.
func (s scopeForm) In(workspaceID string) bool { return slices.Contains(s.WorkspaceIDs, workspaceID) }

// scopeForm returns the form with the typed values. It offers the permissions that the visitor holds in the workspace.
func (v *visit) scopeForm(typed url.Values, workspaces []api.Workspace, held access.Set) scopeForm {
	return scopeForm{
		Mode: cmp.Or(typed.Get("mode"), audit.BothModes), Workspaces: workspaces, WorkspaceIDs: typed["workspace_ids"],
		Areas: areasOf(held & usablePermissions()), Permissions: typed["permissions"], Administer: typed.Get("administer") != "",
	}
}

// request returns the scope of the form, with the permissions that the chosen ones need.
func (s scopeForm) request() api.ScopeRequest {
	out := api.ScopeRequest{Administer: s.Administer, WorkspaceIDs: s.WorkspaceIDs}
	if len(s.Permissions) > 0 {
		out.Permissions, _ = access.WithNeeds(s.Permissions)
	}
	if s.Mode != audit.BothModes {
		out.Mode = &s.Mode
	}
	return out
}

// scopeFields returns the fields of the form, from top to bottom.
func scopeFields() []string { return []string{"mode", "workspace_ids", "permissions"} }

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
