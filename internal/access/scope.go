package access

import (
	"context"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// Within returns the subset of permissions that the scope of a credential covers.
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

// byCredential reports whether an actor is a program. It is one if it uses a key, is a machine client, or has a session that a key
// approved.
func byCredential(by audit.Actor) bool {
	return by.Type != audit.System && (by.Type != audit.User || by.KeyID != "")
}

// RequireOrganizationLog returns an error unless the caller may read the audit log of an organization. The caller must be an owner. A key's
// scope must include the permission and not be limited to workspaces.
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

// RequireToLeave returns an error unless the caller may leave a workspace. A person always may, even without the second factor that the
// organization requires, because that rule must not keep anyone in. A credential's scope must allow it to change members.
func (a *Authority) RequireToLeave(ctx context.Context, by audit.Actor, workspaceID string) error {
	if _, err := a.membership(ctx, by, workspaceID); err != nil {
		return err
	}
	if !Within(by.Scope, SetOf(MembersWrite)).Has(MembersWrite) {
		return fault.Denied(string(MembersWrite), fault.Scope{WorkspaceID: workspaceID})
	}
	return nil
}

// RequireUnlimited returns an error if the caller's credential is limited to permissions or workspaces. Operations on the user itself are
// outside such a scope.
func RequireUnlimited(by audit.Actor, need Permission) error {
	if by.Scope.Permissions == nil && by.Scope.WorkspaceIDs == nil {
		return nil
	}
	return fault.Denied(string(need), fault.Scope{})
}

// inScope returns the access to an organization of a caller whose credential is limited to workspaces. They are a member through one of
// those, never an owner.
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

// HeldAnywhere returns the permissions that the caller holds in at least one workspace within the scope of their credential.
func HeldAnywhere(q db.Q, by audit.Actor) (held Set, err error) {
	err = q.Each(func(r db.Rows) error {
		if role, ok := BuiltInRole(r.Text(0)); ok {
			held |= role.Permissions
		} else {
			held |= ParseSet(r.Text(1))
		}
		return nil
	}, `SELECT DISTINCT m.role, r.permissions FROM live_member w JOIN member_role m ON m.workspace_id = w.workspace_id AND m.account_id = w.account_id
		LEFT JOIN workspace_role r ON r.workspace_id = m.workspace_id AND r.role = m.role
		WHERE w.account_id = $1 AND ($2 = '' OR $2 LIKE '%' || w.workspace_id || '%')`, by.ID, by.Scope.WorkspaceList())
	return Within(by.Scope, held), err
}

// BelongsToAll reports whether the caller belongs to all given workspaces, within the scope of their credential.
func BelongsToAll(q db.Q, by audit.Actor, workspaceIDs []string) (bool, error) {
	for _, id := range workspaceIDs {
		member, err := q.Row(`SELECT workspace_id FROM live_member WHERE workspace_id = $1 AND account_id = $2`, id, by.ID).Scan(new(string))
		if err != nil || !member || !by.Scope.InWorkspace(id) {
			return false, err
		}
	}
	return true, nil
}
