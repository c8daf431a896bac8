package access

import (
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// ModeOf returns the mode of money that the caller's credential is limited to, or "" for both. Accounts, payouts and deposits of another
// mode do not exist for the caller.
func ModeOf(by audit.Actor) string {
	if by.Scope.Mode == audit.BothModes {
		return ""
	}
	return by.Scope.Mode
}

// RequireMode returns an error unless the caller's credential covers money of all these modes.
func RequireMode(by audit.Actor, workspaceID string, modes ...string) error {
	for _, mode := range modes {
		if !by.Scope.InMode(mode) {
			f := fault.Denied("mode:"+mode, fault.Scope{WorkspaceID: workspaceID})
			f.Message = "this credential is not for " + mode + " money"
			return f
		}
	}
	return nil
}

// RequireModeOfWorkspace returns an error if the caller's credential does not cover live money and the workspace has a live account. A
// setting of the whole workspace also affects that money. Call it in the transaction that makes the change.
func RequireModeOfWorkspace(q db.Q, by audit.Actor, workspaceID string) error {
	if by.Scope.InMode(audit.LiveMode) {
		return nil
	}
	live, err := q.Row(`SELECT id FROM ledger_account WHERE workspace_id = $1 AND mode = 'live' LIMIT 1`, workspaceID).Scan(new(string))
	if err != nil || !live {
		return err
	}
	return RequireMode(by, workspaceID, audit.LiveMode)
}

// RequireModeToGrant is RequireModeOfWorkspace for a grant that includes one of the decisive permissions. The recipient is not limited to
// the mode of the caller.
func RequireModeToGrant(q db.Q, by audit.Actor, workspaceID string, given Set) error {
	if given&Decisive() == 0 {
		return nil
	}
	return RequireModeOfWorkspace(q, by, workspaceID)
}

// RequireModeOfPayee is RequireModeOfWorkspace for a change of an entry that has a payable receiving method, or is about to get one.
func RequireModeOfPayee(q db.Q, by audit.Actor, workspaceID, entryID string, gets bool) error {
	if by.Scope.InMode(audit.LiveMode) {
		return nil
	}
	if !gets {
		payable, err := q.Row(`SELECT id FROM receiving_method WHERE entry_id = $1 AND status = 'active' LIMIT 1`, db.PackID("entry", entryID)).Scan(new(string))
		if err != nil || !payable {
			return err
		}
	}
	return RequireModeOfWorkspace(q, by, workspaceID)
}
