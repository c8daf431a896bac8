package ledger

import (
	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/mail"
)

// unfreezeKind is the kind of approvals to make a frozen live account active again.
const unfreezeKind = "account_unfreeze"

// unfreezing is what such an approval is for.
type unfreezing struct {
	Before string `json:"before"` // the name of the account
	After  string `json:"after"`
}

// askToUnfreeze returns the approval that a change of a frozen account waits for, or "" if one person suffices. The account is locked. A
// request for another change replaces one that waits. So does the same request by another person, if no one can approve the one that waits.
func (s *Service) askToUnfreeze(tx *db.Tx, by db.Caller, number int64, before, after Account, event audit.Event) (waits string, _ audit.Event, err error) {
	people, err := access.ObserveSecondPerson(tx, access.Payouts, before.WorkspaceID)
	if err != nil {
		return "", event, err
	}
	pending, err := s.approvals.FindPending(tx.Q, unfreezeKind, before.ID)
	if err != nil {
		return "", event, err
	}
	want, asked := unfreezing{before.Name, after.Name}, unfreezing{}
	if pending.ID != "" {
		if err := pending.Payload(&asked); err != nil {
			return "", event, err
		}
		if asked == want && (pending.Maker.ID == by.ID || pending.Approvable(people)) {
			return pending.ID, audit.None("it waits already"), nil
		}
		if _, err := s.approvals.Void(tx, by, before.ID, "another request takes its place"); err != nil {
			return "", event, err
		}
	}
	waits, err = s.approvals.AskToRelease(tx, by, people, approval.Request{Kind: unfreezeKind, Mode: before.Mode, WorkspaceID: before.WorkspaceID, Workspace: number,
		SubjectID: before.ID, Version: before.Version, Payload: want})
	if waits != "" {
		event.Action, event.Description = audit.LedgerUnfreezeRequested, "Requested to unfreeze account "+before.Name
		event.Changes.Add("approval_id", nil, waits)
	}
	return waits, event, err
}

func unfreezeApproval() approval.Kind {
	of := func(u unfreezing) string { return "to unfreeze account " + u.Before }
	return approval.KindOf[unfreezing]{
		Kind: approval.Kind{
			Name: unfreezeKind, Read: access.AccountsRead, Make: access.AccountsWrite, Pair: access.Payouts, Mail: mail.APayoutChange,
			Actions: approval.Actions(audit.LedgerUnfreezeApproved, audit.LedgerUnfreezeRejected,
				audit.LedgerUnfreezeWithdrawn, audit.LedgerUnfreezeExpired),
			Lock: func(tx *db.Tx, a approval.Approval) error {
				_, err := LockAccount(tx, a.SubjectID)
				return err
			},
		},
		Apply: func(tx *db.Tx, a approval.Approval, u unfreezing) (audit.Changes, string, error) {
			before, err := LockAccount(tx, a.SubjectID)
			if err == nil && (before.Version != a.Version || before.Status != api.AccountFrozen || before.Name != u.Before) {
				err = fault.New(api.CodeApprovalChanged, "the account has changed since this was requested: look at it, then request it again")
			}
			if err != nil {
				return nil, "", err
			}
			after := before
			after.Name, after.Status = u.After, api.AccountActive
			_, err = saveAccount(tx, after)
			return changed(before, after).Changes, of(u), err
		},
		Drop: func(_ *db.Tx, _ approval.Approval, u unfreezing) (audit.Changes, string, error) {
			return nil, of(u), nil
		},
		Show: func(u unfreezing, _ bool) (string, []api.ApprovalField) {
			fields := []api.ApprovalField{{Field: "status", Before: api.AccountFrozen, After: api.AccountActive}}
			if u.Before != u.After {
				fields = append(fields, api.ApprovalField{Field: "name", Before: u.Before, After: u.After})
			}
			return "Unfreeze account " + u.Before, fields
		},
	}.Decoding()
}
