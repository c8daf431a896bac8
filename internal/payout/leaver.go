package payout

import "bursar/internal/db"

// DraftsBy returns the ids of the drafts of a workspace that an account has made, oldest first.
func DraftsBy(q db.Q, workspaceID, accountID string, take int) ([]string, error) {
	return db.Collect(q, func(r db.Rows) string { return r.Text(0) },
		`SELECT id FROM payout WHERE workspace_id = $1 AND status = 'draft' AND maker_id = $2 ORDER BY id LIMIT $3`, workspaceID, accountID, take)
}
