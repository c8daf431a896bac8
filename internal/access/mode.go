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
			return errMode(mode, fault.Scope{WorkspaceID: workspaceID})
		}
	}
	return nil
}

func errMode(mode string, scope fault.Scope) error {
	f := fault.Denied("mode:"+mode, scope)
	f.Message = "this credential is not for " + mode + " money"
	return f
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

// RequireModeOfOrganization is RequireModeOfWorkspace for a change of owners or of settings, which affect all workspaces of an organization.
// Closed accounts do not count.
func RequireModeOfOrganization(q db.Q, by audit.Actor, organizationID string) error {
	if by.Scope.InMode(audit.LiveMode) {
		return nil
	}
	live, err := q.Row(`SELECT l.id FROM workspace w JOIN ledger_account l ON l.workspace_id = w.id
		WHERE w.organization_id = $1 AND l.mode = 'live' AND l.status <> 'closed' LIMIT 1`, organizationID).Scan(new(string))
	if err == nil && live {
		err = errMode(audit.LiveMode, fault.Scope{OrganizationID: organizationID})
	}
	return err
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
