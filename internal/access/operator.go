package access

import (
	"slices"
	"strings"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// Permissions of an operator of the store. No role has them.
const (
	OpsRead   Permission = "ops.read"   // see organizations, users, rails and the audit log of the operator
	OpsMoney  Permission = "ops.money"  // confirm deposits
	OpsAccess Permission = "ops.access" // disable and reset users, and appoint approvers
)

// OperatorPermissions returns the permissions of operators.
func OperatorPermissions() []Permission { return []Permission{OpsRead, OpsMoney, OpsAccess} }

// OperatorHolds returns the operator permissions of an active person, or nil if they are not an operator.
func OperatorHolds(q db.Q, userID string) (held []Permission, err error) {
	var text string
	_, err = q.Row(`SELECT o.permissions FROM operator o JOIN account a ON a.id = o.account_id
		WHERE o.account_id = $1 AND a.kind = 'person' AND a.status = 'active'`, userID).Scan(&text)
	for name := range strings.FieldsSeq(text) {
		held = append(held, Permission(name))
	}
	return held, err
}

// RequireOperator returns an error unless the caller is an operator who holds a permission. They must also have signed in recently, or use
// a key that administers and is not limited. To everyone else, the resource does not exist.
func RequireOperator(q db.Q, by audit.Actor, need Permission, now int64) error {
	held, err := OperatorHolds(q, by.ID)
	switch {
	case err != nil:
		return err
	case by.Type == audit.Client || len(held) == 0:
		return fault.Foreign("page", fault.Scope{})
	case !slices.Contains(held, need):
		return fault.Denied(string(need), fault.Scope{})
	}
	if err := RequireSecondFactor(by); err != nil {
		return err
	}
	if err := RequireAdministration(by, now); err != nil {
		return err
	}
	if s := by.Scope; s.WorkspaceIDs != nil || !s.InMode(audit.LiveMode) || s.Permissions != nil && !slices.Contains(s.Permissions, string(need)) {
		return fault.Denied(string(need), fault.Scope{})
	}
	return nil
}

// MayApproveAnywhere reports whether a user may approve changes of receiving methods, or payouts, in any workspace.
func MayApproveAnywhere(q db.Q, userID string) (bool, error) {
	workspaces, err := approverIn(q, userID)
	return len(workspaces) > 0, err
}

// approverIn lists the workspaces in which a user may approve something.
func approverIn(q db.Q, userID string) (list []string, err error) {
	all, err := db.Collect(q, func(r db.Rows) string { return r.Text(0) }, `SELECT workspace_id FROM live_member WHERE account_id = $1 ORDER BY workspace_id`, userID)
	for _, id := range all {
		var held Set
		if err == nil {
			held, err = HeldBy(q, id, userID)
		}
		if held.Has(ReceivingApprove) || held.Has(PayoutsApprove) {
			list = append(list, id)
		}
	}
	return list, err
}

// RestartApprover restarts the waiting period of a user as an approver in every workspace where it may approve. It returns those
// workspaces. Call it before the user is locked.
func RestartApprover(tx *db.Tx, userID string) ([]string, error) {
	list, err := approverIn(tx.Q, userID)
	for _, id := range list {
		if err == nil {
			_, _, err = LockMembers(tx, id)
		}
	}
	if err != nil {
		return nil, err
	}
	return list, tx.Exec(`UPDATE approver SET since = $2 WHERE account_id = $1 AND workspace_id IN (SELECT workspace_id FROM live_member WHERE account_id = $1)`,
		userID, tx.Now())
}
