package access

import (
	"context"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// Within returns what the scope of a credential leaves of a set of permissions.
func Within(scope audit.Scope, held Set) Set {
	if scope.Permissions == nil {
		return held
	}
	var limit Set
	for _, name := range scope.Permissions {
		limit |= SetOf(Permission(name))
	}
	return held & limit
}

// byCredential reports whether an actor is a program: it acts by a key or as a machine client, or in a session that a key approved.
func byCredential(by audit.Actor) bool {
	return by.Type != audit.System && (by.Type != audit.User || by.KeyID != "")
}

// RequireOrganizationLog returns an error unless the caller may read the audit log of an organization: an owner, by a key only if its
// scope has the permission and is not limited to workspaces.
func (a *Authority) RequireOrganizationLog(ctx context.Context, by audit.Actor, organizationID string, need Permission) error {
	got, err := a.inOrganization(ctx, by, organizationID)
	if err != nil {
		return err
	}
	if !got.owner {
		return fault.Denied(string(OrgSettingsWrite), fault.Scope{OrganizationID: organizationID})
	}
	if !Within(by.Scope, SetOf(need)).Has(need) {
		return fault.Denied(string(need), fault.Scope{OrganizationID: organizationID})
	}
	return nil
}

// RequireToLeave returns an error unless the caller may leave a workspace. A person may always, also without the second factor that the
// organization demands: its rule keeps no one in. The scope of a credential must allow it to change members.
func (a *Authority) RequireToLeave(ctx context.Context, by audit.Actor, workspaceID string) error {
	if _, err := a.membership(ctx, by, workspaceID); err != nil {
		return err
	}
	if !Within(by.Scope, SetOf(MembersWrite)).Has(MembersWrite) {
		return fault.Denied(string(MembersWrite), fault.Scope{WorkspaceID: workspaceID})
	}
	return nil
}

// RequireUnlimited returns an error if the credential of the caller is limited to permissions or workspaces: what is about the whole
// account is not in its scope.
func RequireUnlimited(by audit.Actor, need Permission) error {
	if by.Scope.Permissions == nil && by.Scope.WorkspaceIDs == nil {
		return nil
	}
	return fault.Denied(string(need), fault.Scope{})
}

// inScope returns what a caller whose credential is limited to workspaces is in an organization: a member by one of those, never an
// owner.
func (a *Authority) inScope(ctx context.Context, by audit.Actor, organizationID string) (access, error) {
	for _, id := range by.Scope.WorkspaceIDs {
		got, err := a.lookUp(ctx, accessKey{aWorkspace, by.ID, id}, workspaceAccess)
		if err != nil {
			return access{}, err
		}
		if got.member && got.organization == organizationID {
			return access{member: true, factor: got.factor}, nil
		}
	}
	return access{}, nil
}

// HeldAnywhere returns the permissions that the caller holds in at least one of the workspaces that the scope of their credential
// includes, and those workspaces.
func HeldAnywhere(q db.Q, by audit.Actor) (held Set, workspaceIDs []string, err error) {
	ids, err := db.Collect(q, func(r db.Rows) string { return r.Text(0) }, `SELECT workspace_id FROM live_member WHERE account_id = $1`, by.ID)
	if err != nil {
		return 0, nil, err
	}
	for _, id := range ids {
		if !by.Scope.InWorkspace(id) {
			continue
		}
		workspaceIDs = append(workspaceIDs, id)
		has, err := HeldBy(q, id, by.ID)
		if err != nil {
			return 0, nil, err
		}
		held |= Within(by.Scope, has)
	}
	return held, workspaceIDs, nil
}
