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

// Join makes an account a member of a workspace with a role.
func Join(tx *db.Tx, workspaceID, accountID, role string) error {
	if err := tx.Exec(`INSERT INTO workspace_member (workspace_id, account_id, joined_at) VALUES ($1, $2, $3)
		ON CONFLICT (workspace_id, account_id) DO NOTHING`, workspaceID, accountID, tx.Now()); err != nil {
		return err
	}
	return tx.Exec(`INSERT INTO member_role (workspace_id, account_id, role) VALUES ($1, $2, $3)
		ON CONFLICT (workspace_id, account_id, role) DO NOTHING`, workspaceID, accountID, role)
}

// SettleHome files what somebody does outside of workspaces under an
// organization, unless they have a home already.
func SettleHome(tx *db.Tx, accountID, organizationID string) error {
	return tx.Exec(`UPDATE account SET home_org_id = $2 WHERE id = $1 AND home_org_id IS NULL`, accountID, organizationID)
}
