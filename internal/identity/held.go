package identity

import (
	"bursar/internal/access"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// HeldNow returns what the caller may do in a workspace, and an error unless that includes a permission and their session is live. It reads
// both in the transaction, with the account locked: the caller may have lost access, or been signed out, after the request was authorized,
// on another node also a moment before. A caller who locks members or other things does that first.
func HeldNow(tx *db.Tx, by db.Caller, workspaceID string, need access.Permission) (held access.Set, err error) {
	if err := lockKeysOf(tx, by); err != nil {
		return 0, err
	}
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
