package identity

import (
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// maxScopeWorkspaces is the maximum number of workspaces in a scope.
const maxScopeWorkspaces = 100

// checkScope checks the form of a requested scope.
func checkScope(v *fault.Violations, in api.ScopeRequest) {
	if in.Mode != nil && !slices.Contains([]string{audit.SandboxMode, audit.LiveMode, audit.BothModes}, *in.Mode) {
		v.Add("mode", "must be sandbox, live or both")
	}
	if in.Permissions != nil && len(in.Permissions) == 0 {
		v.Add("permissions", "must have at least one element; leave it out for all that you hold")
	}
	for _, name := range in.Permissions {
		if access.SetOf(access.Permission(name)) == 0 {
			v.Add("permissions", "must be permissions of a workspace, such as ws.directory.read")
			break
		}
	}
	if in.WorkspaceIDs != nil && len(in.WorkspaceIDs) == 0 || len(in.WorkspaceIDs) > maxScopeWorkspaces {
		v.Add("workspace_ids", "must have from 1 to 100 elements; leave it out for all of your workspaces")
	}
}

// parseScope returns a requested scope, whose form checkScope has checked.
func parseScope(in api.ScopeRequest) audit.Scope {
	s := audit.Scope{Administer: in.Administer}
	if in.Permissions != nil {
		var set access.Set
		for _, name := range in.Permissions {
			set |= access.SetOf(access.Permission(name))
		}
		s.Permissions = set.Names()
	}
	if in.WorkspaceIDs != nil {
		s.WorkspaceIDs = slices.Compact(slices.Sorted(slices.Values(in.WorkspaceIDs)))
	}
	if in.Mode != nil && *in.Mode != audit.BothModes {
		s.Mode = *in.Mode
	}
	return s
}

// scopeWithin returns the scope of a new credential, which is within that of its creator. The creator must belong to the requested
// workspaces, and hold the permissions in one of their workspaces.
func scopeWithin(q db.Q, by audit.Actor, in api.ScopeRequest) (audit.Scope, error) {
	s := parseScope(in)
	var v fault.Violations
	if s.Permissions != nil {
		held, err := access.HeldAnywhere(q, by)
		if err != nil {
			return s, err
		}
		for _, name := range s.Permissions {
			if !held.Has(access.Permission(name)) {
				v.Add("permissions", "must be permissions that you hold, which "+name+" is not")
				break
			}
		}
	}
	all, err := access.BelongsToAll(q, by, s.WorkspaceIDs)
	if err != nil {
		return s, err
	}
	if !all {
		v.Add("workspace_ids", "must be workspaces that you belong to")
	}
	if s.Mode != "" && !by.Scope.InMode(s.Mode) {
		v.Add("mode", "must be a mode that the credential you are logged in with is good for")
	}
	return s.Within(scopeOf(by)), v.Err()
}

// scopeOf returns the maximum scope of what an actor creates. A person who signed in, and an operator, may create what administers.
func scopeOf(by audit.Actor) audit.Scope {
	s := by.Scope
	s.Administer = s.Administer || by.Type == audit.System || by.Type == audit.User && by.KeyID == ""
	return s
}

// scopeWire returns a scope as in responses.
func scopeWire(s audit.Scope) api.Scope {
	out := api.Scope{Permissions: s.Permissions, WorkspaceIDs: s.WorkspaceIDs, Mode: s.Mode, Administer: s.Administer}
	if out.Mode == "" {
		out.Mode = audit.BothModes
	}
	return out
}

// addScope adds the scope of a new credential to its logged changes.
func addScope(c *audit.Changes, s api.Scope) {
	c.AddItems("scope_permissions", nil, s.Permissions)
	c.AddItems("scope_workspaces", nil, s.WorkspaceIDs)
	if s.Mode != audit.BothModes {
		c.Add("mode", nil, s.Mode)
	}
	if s.Administer {
		c.Add("administer", nil, true)
	}
}

// requireOwnWorkspaces returns an error unless the owner of a key belongs to all workspaces that it is limited to.
func requireOwnWorkspaces(q db.Q, key NewKey) error {
	all, err := access.BelongsToAll(q, audit.Actor{ID: key.UserID}, key.Scope.WorkspaceIDs)
	if err == nil && !all {
		err = fault.Invalid("workspace", "must be a workspace that the user belongs to")
	}
	return err
}
