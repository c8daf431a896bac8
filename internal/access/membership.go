package access

import "bursar/internal/db"

// FindRole finds a role of a workspace by its key, either built in or defined there.
func FindRole(q db.Q, workspaceID, key string) (role Role, found bool, err error) {
	if role, found = BuiltInRole(key); found {
		return role, true, nil
	}
	var permissions string
	found, err = q.Row(`SELECT role, name, color, permissions FROM workspace_role WHERE workspace_id = $1 AND role = $2`, workspaceID, key).
		Scan(&role.Key, &role.Name, &role.Color, &permissions)
	role.Permissions = ParseSet(permissions)
	return role, found, err
}

// RolesOf are the roles of a member, whether they have accepted the invitation or not.
func RolesOf(q db.Q, workspaceID, accountID string) ([]Role, error) {
	keys, err := db.Collect(q, func(r db.Rows) string { return r.Text(0) },
		`SELECT role FROM member_role WHERE workspace_id = $1 AND account_id = $2 ORDER BY role`, workspaceID, accountID)
	if err != nil {
		return nil, err
	}
	var roles []Role
	for _, key := range keys {
		role, found, err := FindRole(q, workspaceID, key)
		if err != nil {
			return nil, err
		}
		if found {
			roles = append(roles, role)
		}
	}
	return roles, nil
}

// HeldBy is what a member may do, whether they have accepted the invitation or not.
func HeldBy(q db.Q, workspaceID, accountID string) (held Set, err error) {
	roles, err := RolesOf(q, workspaceID, accountID)
	if err != nil {
		return 0, err
	}
	for _, role := range roles {
		held |= role.Permissions
	}
	machine, err := q.Row(`SELECT id FROM account WHERE id = $1 AND kind = 'client'`, accountID).Scan(new(string))
	if machine {
		held = held.OfMachine()
	}
	return held, err
}

// LockMembers serializes changes of a workspace's members and roles. Rules such as
// "a workspace keeps an admin" cannot be decided by two transactions at once.
func LockMembers(tx *db.Tx, workspaceID string) (organizationID string, found bool, err error) {
	found, err = tx.Row(`UPDATE workspace SET member_version = member_version + 1 WHERE id = $1 RETURNING organization_id`, workspaceID).
		Scan(&organizationID)
	return organizationID, found, err
}

// Join makes an account a member of a workspace with a role. An account whose address
// is not verified has no access until it accepts: see the view live_member.
func Join(tx *db.Tx, workspaceID, accountID, role string) error {
	if err := tx.Exec(`INSERT INTO workspace_member (workspace_id, account_id, joined_at) VALUES ($1, $2, $3)
		ON CONFLICT (workspace_id, account_id) DO NOTHING`, workspaceID, accountID, tx.Now()); err != nil {
		return err
	}
	return tx.Exec(`INSERT INTO member_role (workspace_id, account_id, role) VALUES ($1, $2, $3)
		ON CONFLICT (workspace_id, account_id, role) DO NOTHING`, workspaceID, accountID, role)
}

// AcceptMembership records that an invited person accepted their membership. It counts
// whether or not their address is verified.
func AcceptMembership(tx *db.Tx, workspaceID, accountID string) error {
	return tx.Exec(`UPDATE workspace_member SET accepted = TRUE WHERE workspace_id = $1 AND account_id = $2`, workspaceID, accountID)
}

// AcceptIfKnown accepts the membership for an active account that was completed by a
// link of the workspace's own organization.
func AcceptIfKnown(tx *db.Tx, workspaceID, accountID string) error {
	return tx.Exec(`UPDATE workspace_member SET accepted = TRUE WHERE workspace_id = $1 AND account_id = $2 AND EXISTS (
		SELECT 1 FROM account a JOIN workspace w ON w.organization_id = a.email_proof
		WHERE a.id = $2 AND a.status = 'active' AND w.id = $1)`, workspaceID, accountID)
}

// InvitationPending reports whether a member of a workspace has yet to accept.
func InvitationPending(q db.Q, workspaceID, accountID string) (bool, error) {
	live, err := q.Row(`SELECT l.account_id FROM live_member l JOIN account a ON a.id = l.account_id
		WHERE l.workspace_id = $1 AND l.account_id = $2 AND a.status <> 'invited'`, workspaceID, accountID).Scan(new(string))
	return !live, err
}

// UpdateHomeOrg chooses the organization whose owners read what an account does outside
// of workspaces, such as its logins, and returns it: the present one while the account
// belongs to it, else the one that it joined first. An account that is only invited
// gets none: anybody can invite any address, and an invitation must not show the
// inviter somebody's logins.
func UpdateHomeOrg(tx *db.Tx, accountID string) (organizationID string, err error) {
	_, err = tx.Row(`UPDATE account SET home_org_id = COALESCE(
			(SELECT o.id FROM organization o WHERE o.id = account.home_org_id AND (
				EXISTS (SELECT 1 FROM organization_member x WHERE x.account_id = account.id AND x.organization_id = o.id) OR
				EXISTS (SELECT 1 FROM live_member m WHERE m.account_id = account.id AND m.organization_id = o.id))),
			(SELECT m.organization_id FROM live_member m WHERE m.account_id = account.id ORDER BY m.joined_at, m.workspace_id LIMIT 1),
			(SELECT x.organization_id FROM organization_member x WHERE x.account_id = account.id ORDER BY x.organization_id LIMIT 1))
		WHERE id = $1 AND status <> 'invited' RETURNING home_org_id`, accountID).Scan(&organizationID)
	return organizationID, err
}

// AuditOrganization is the organization whose audit log records what an operator
// did: the one that it concerns, or else the first one of the store, which is the
// operator's own.
func AuditOrganization(q db.Q, organizationID string) (string, error) {
	if organizationID != "" {
		return organizationID, nil
	}
	_, err := q.Row(`SELECT id FROM organization ORDER BY id LIMIT 1`).Scan(&organizationID)
	return organizationID, err
}
