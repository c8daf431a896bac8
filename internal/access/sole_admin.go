package access

import (
	"bursar/api"
	"bursar/internal/db"
)

// soleAdmin selects the workspaces in which a user a is the only active admin.
const soleAdmin = ` FROM account a JOIN live_member l ON l.account_id = a.id
	JOIN member_role m ON m.workspace_id = l.workspace_id AND m.account_id = a.id AND m.role = 'admin'
	JOIN workspace w ON w.id = l.workspace_id
	WHERE a.status = 'active' AND NOT EXISTS (
		SELECT 1 FROM member_role o JOIN account b ON b.id = o.account_id
		JOIN live_member p ON p.workspace_id = o.workspace_id AND p.account_id = o.account_id
		WHERE o.workspace_id = w.id AND o.role = 'admin' AND o.account_id <> a.id AND b.kind = 'person' AND b.status = 'active')`

// SoleAdminOf returns the names of the workspaces whose only active admin is the person with a normalized email address.
func SoleAdminOf(q db.Q, email string) ([]string, error) {
	return db.Collect(q, func(r db.Rows) string { return r.Text(0) }, `SELECT w.name`+soleAdmin+` AND a.email = $1 AND a.email <> '' ORDER BY w.name`, email)
}

// SoleAdminIn returns the workspaces of an organization whose only active admin is a user.
func SoleAdminIn(q db.Q, organizationID, userID string) (list []api.NamedWorkspace, err error) {
	err = q.Each(func(r db.Rows) error {
		list = append(list, api.NamedWorkspace{WorkspaceID: r.Text(0), WorkspaceName: r.Text(1)})
		return nil
	}, `SELECT w.id, w.name`+soleAdmin+` AND a.id = $1 AND w.organization_id = $2 ORDER BY w.id`, userID, organizationID)
	return list, err
}

// IsLastAdmin reports whether no person other than a user can act as admin of a workspace. The caller has locked the members of the
// workspace.
func IsLastAdmin(q db.Q, workspaceID, userID string) (bool, error) {
	other, err := q.Row(`SELECT m.account_id FROM member_role m JOIN account a ON a.id = m.account_id
		JOIN live_member l ON l.workspace_id = m.workspace_id AND l.account_id = m.account_id
		WHERE m.workspace_id = $1 AND m.role = 'admin' AND m.account_id <> $2 AND a.kind = 'person' AND a.status = 'active' LIMIT 1`,
		workspaceID, userID).Scan(new(string))
	return !other, err
}
