package identity

import (
	"bursar/internal/access"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// HeldNow returns the caller's permissions in a workspace. It returns an error unless they include the needed one and the session is live.
// It reads both in the transaction, with the user locked, because access may have ended after the request was authorized, also on
// another node. A caller who locks members or other rows does that first.
func HeldNow(tx *db.Tx, by db.Caller, workspaceID string, need access.Permission) (held access.Set, err error) {
	if err := LockCaller(tx, by); err != nil {
		return 0, err
	}
	return heldNow(tx, by, workspaceID, need)
}

// StillHolds is HeldNow for a transaction that gives no access. It does not lock a person's account, so accounts of the ledger may be locked
// before. It does lock that of a machine client without a session. The store repeats the transaction if that makes a deadlock.
func StillHolds(tx *db.Tx, by db.Caller, workspaceID string, need access.Permission) error {
	if err := RequireSession(tx, by); err != nil {
		return err
	}
	_, err := heldNow(tx, by, workspaceID, need)
	return err
}

func heldNow(tx *db.Tx, by db.Caller, workspaceID string, need access.Permission) (held access.Set, err error) {
	member, err := tx.Row(`SELECT m.workspace_id FROM live_member m JOIN account a ON a.id = m.account_id
		WHERE m.workspace_id = $1 AND m.account_id = $2 AND a.status = 'active'`, workspaceID, by.ID).Scan(new(string))
	if err == nil && !member {
		err = fault.Foreign("workspace", fault.Scope{WorkspaceID: workspaceID})
	}
	if err == nil {
		held, err = access.HeldBy(tx.Q, workspaceID, by.ID)
	}
	if held = access.Within(by.Scope, held); err == nil && !held.Has(need) {
		err = fault.Denied(string(need), fault.Scope{WorkspaceID: workspaceID})
	}
	return held, err
}
