package access

import (
	"slices"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// PeopleWith lists the active people who hold a permission in a workspace.
func PeopleWith(q db.Q, workspaceID string, need Permission) (list []string, err error) {
	all, err := staffOf(q, workspaceID)
	for id, one := range all.people {
		if one.may.Has(need) {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list, err
}

// LeaveAll ends all memberships and invitations of a user in the workspaces of an organization, with their roles there. The
// caller must have locked the members of those workspaces.
func LeaveAll(tx *db.Tx, organizationID, userID string) error {
	if err := tx.Exec(`DELETE FROM workspace_member WHERE account_id = $1 AND workspace_id IN (SELECT id FROM workspace WHERE organization_id = $2)`,
		userID, organizationID); err != nil {
		return err
	}
	if err := DropAllSuspended(tx, organizationID, userID); err != nil {
		return err
	}
	return LeaveHome(tx, userID)
}

// LockAllMembers is LockMembers for all workspaces of an organization, in the order of their ids.
func LockAllMembers(tx *db.Tx, organizationID string) error {
	all, err := db.Collect(tx.Q, func(r db.Rows) string { return r.Text(0) }, `SELECT id FROM workspace WHERE organization_id = $1 ORDER BY id`, organizationID)
	for _, id := range all {
		if err == nil {
			_, _, err = LockMembers(tx, id)
		}
	}
	return err
}

// StillOwner returns an error unless the caller owns an organization. The ownership cannot end before the end of the transaction.
func StillOwner(tx *db.Tx, by audit.Actor, organizationID string) error {
	owns, err := tx.Row(tx.ForShare(`SELECT role FROM organization_member WHERE organization_id = $1 AND account_id = $2 AND role = 'owner'`), organizationID, by.ID).
		Scan(new(string))
	if err == nil && !owns {
		err = fault.Foreign("organization", fault.Scope{OrganizationID: organizationID})
	}
	return err
}
