package access

import (
	"slices"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
)

// maxRemovals is the maximum number of removed owners that are searched for one.
const maxRemovals = 100

// removal identifies the audit rows of how a person lost their membership or ownership.
type removal struct {
	workspaceID string // empty for the log of an organization
	resourceID  string // the account, or the organization
	action      audit.Action
}

// onlyReports reports whether access through the keys stays in force until an admin decides, because the owner of the keys has left. A
// person who has left must not lock out the remaining members. A thief gains nothing by removing the owner, and an operator always
// suspends.
func (c Compromise) onlyReports(q db.Q, by audit.Actor, there bool, through map[string]bool, r removal) (bool, error) {
	if there || by.Type == audit.System {
		return false, nil
	}
	expelled, err := c.expelled(q, through, r)
	return !expelled, err
}

// expelled reports whether the owner of the keys was removed with one of them, or by a person who came through them.
func (c Compromise) expelled(q db.Q, through map[string]bool, r removal) (expelled bool, err error) {
	found := false
	err = q.Each(func(rows db.Rows) error {
		row, err := audit.ReadStored("", rows.Raw(0), rows.Raw(1), 0)
		if err != nil || found || r.workspaceID == "" && !removesOwner(row, c.OwnerID) {
			return err
		}
		found = true
		expelled = through[row.ActorID] || !rows.Null(2) && isOneOf(c.Keys, db.UnpackID("key", rows, 2))
		return nil
	}, `SELECT entry, personal, key_id FROM audit_log WHERE resource_id_key = $1 AND action_key + 0 = $2
		AND COALESCE(workspace_number, 0) = COALESCE((SELECT number FROM workspace WHERE id = $3), 0) ORDER BY id DESC LIMIT $4`,
		audit.FilterKey(audit.ByResource, r.workspaceID, r.resourceID), audit.FilterKey(audit.ByAction, r.workspaceID, string(r.action)), r.workspaceID, maxRemovals)
	return expelled, err
}

// removesOwner reports whether a row records the removal of an account as an owner.
func removesOwner(row api.AuditEntry, accountID string) bool {
	return slices.ContainsFunc(row.Changes, func(c api.AuditChange) bool { return c.Field == "owners" && string(c.Before) == `"`+accountID+`"` })
}
