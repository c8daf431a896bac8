package identity

import (
	"bursar/internal/db"
)

// FindRole finds a role of a workspace by its key, built in or defined there.
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

// LockMembers lets one change of a workspace's members and roles go on at a time:
// rules about who is left, and what a role is, cannot be decided side by side.
func LockMembers(tx *db.Tx, workspaceID string) (organizationID string, found bool, err error) {
	found, err = tx.Row(`UPDATE workspace SET member_version = member_version + 1 WHERE id = $1 RETURNING organization_id`, workspaceID).
		Scan(&organizationID)
	return organizationID, found, err
}

// Join makes an account a member of a workspace with a role. Whoever the address
// is not settled for has yet to take the place: see the view live_member.
func Join(tx *db.Tx, workspaceID, accountID, role string) error {
	if err := tx.Exec(`INSERT INTO workspace_member (workspace_id, account_id, joined_at) VALUES ($1, $2, $3)
		ON CONFLICT (workspace_id, account_id) DO NOTHING`, workspaceID, accountID, tx.Now()); err != nil {
		return err
	}
	return tx.Exec(`INSERT INTO member_role (workspace_id, account_id, role) VALUES ($1, $2, $3)
		ON CONFLICT (workspace_id, account_id, role) DO NOTHING`, workspaceID, accountID, role)
}

// TakePlace makes a member of a workspace one by their own will, whoever it is
// settled for that the address is theirs.
func TakePlace(tx *db.Tx, workspaceID, accountID string) error {
	return tx.Exec(`UPDATE workspace_member SET accepted = TRUE WHERE workspace_id = $1 AND account_id = $2`, workspaceID, accountID)
}

// JoinKnown makes a member of who has an account that the workspace's organization
// knows: it was completed by one of its links, and is live.
func JoinKnown(tx *db.Tx, workspaceID, accountID string) error {
	return tx.Exec(`UPDATE workspace_member SET accepted = TRUE WHERE workspace_id = $1 AND account_id = $2 AND EXISTS (
		SELECT 1 FROM account a JOIN workspace w ON w.organization_id = a.email_proof
		WHERE a.id = $2 AND a.status = 'active' AND w.id = $1)`, workspaceID, accountID)
}

// Awaited says whether a member of a workspace has yet to take the invitation.
func Awaited(q db.Q, workspaceID, accountID string) (bool, error) {
	live, err := q.Row(`SELECT l.account_id FROM live_member l JOIN account a ON a.id = l.account_id
		WHERE l.workspace_id = $1 AND l.account_id = $2 AND a.status <> 'invited'`, workspaceID, accountID).Scan(new(string))
	return !live, err
}

// SettleHome decides under which organization is filed what somebody does outside
// of workspaces, and returns it: the one it was, for as long as they belong to it,
// else the one that they joined first. Whoever is only invited has none: anybody
// can invite anybody, and that must not open a view on their logins.
func SettleHome(tx *db.Tx, accountID string) (organizationID string, err error) {
	_, err = tx.Row(`UPDATE account SET home_org_id = COALESCE(
			(SELECT o.id FROM organization o WHERE o.id = account.home_org_id AND (
				EXISTS (SELECT 1 FROM organization_member x WHERE x.account_id = account.id AND x.organization_id = o.id) OR
				EXISTS (SELECT 1 FROM live_member m WHERE m.account_id = account.id AND m.organization_id = o.id))),
			(SELECT m.organization_id FROM live_member m WHERE m.account_id = account.id ORDER BY m.joined_at, m.workspace_id LIMIT 1),
			(SELECT x.organization_id FROM organization_member x WHERE x.account_id = account.id ORDER BY x.organization_id LIMIT 1))
		WHERE id = $1 AND status <> 'invited' RETURNING home_org_id`, accountID).Scan(&organizationID)
	return organizationID, err
}
