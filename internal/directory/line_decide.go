package directory

import (
	"errors"
	"slices"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// LineDecision is the decision about the lines of an import or a bulk.
type LineDecision struct {
	ApprovalID   string
	JobID        string
	WorkspaceID  string
	Workspace    int64 // its number
	State        string
	RequestedBy  string
	Verification string
	Reason       string
	LeftOut      []int64
	Hours        int64 // how long methods cool
}

// DecideLines carries out a decision for the next lines, up to a number of them. It returns the events, and whether the lines were the last.
func (s *Service) DecideLines(tx *db.Tx, d LineDecision, most int) (events []audit.Event, done bool, err error) {
	// Receiving methods come first: they were shown with the previous identity of the payee.
	lines, err := db.Collect(tx.Q, lineColumns.Read, `SELECT `+lineColumns.Columns+` FROM directory_import_line
		WHERE import_id = $1 AND state = 'pending' ORDER BY kind DESC, line, id LIMIT $2`, d.JobID, most)
	if err != nil {
		return nil, false, err
	}
	for _, l := range lines {
		event, err := s.decideLine(tx, d, l)
		if err != nil {
			return nil, false, err
		}
		if event.Action != "" {
			events = append(events, event)
		}
	}
	return events, len(lines) < most, nil
}

// decideLine carries out a decision for one line. The event has no action if the line was dropped meanwhile.
func (s *Service) decideLine(tx *db.Tx, d LineDecision, l importLine) (event audit.Event, err error) {
	c, err := s.openLine(d.Workspace, l)
	if err != nil {
		return event, err
	}
	e, err := lock(tx, entryRef{id: l.EntryID, workspaceID: d.WorkspaceID, workspace: d.Workspace})
	var gone *fault.Fault
	if err != nil && !errors.As(err, &gone) {
		return event, err
	}
	state := d.State
	if state == api.ApprovalApproved && slices.Contains(d.LeftOut, l.Line) {
		state = api.LineLeftOut
	}
	if state == api.ApprovalApproved {
		same := false
		if gone == nil {
			if same, err = s.unchanged(tx, e, l, &c); err != nil {
				return event, err
			}
		}
		if !same {
			state = api.ApprovalVoid
		}
	}
	mine, err := tx.Row(`UPDATE directory_import_line SET state = $2 WHERE id = $1 AND state = 'pending' RETURNING id`, l.ID, state).Scan(new(string))
	if err != nil || !mine {
		return event, err
	}
	event = audit.Event{WorkspaceID: d.WorkspaceID, ResourceID: l.Subject}
	switch {
	case l.Kind == identityKind:
		event.Changes, err = s.decideIdentity(tx, e, l, c, state)
	default:
		event.Changes, err = s.decideMethod(tx, d, e, l, c, state)
	}
	event.Changes.Add("approval", api.ApprovalPending, state)
	event.Changes.Add("approval_id", nil, d.ApprovalID)
	event.Changes.Add("line", nil, l.Line)
	event.Changes.Add("requested_by", nil, d.RequestedBy)
	event.Changes.Add("verification", nil, d.Verification)
	event.Changes.Add("reason", nil, d.Reason)
	var verb string
	event.Action, verb = lineAction(l.Kind, state)
	event.Description = verb + " " + map[string]string{identityKind: "a change of the identity of ", methodKind: "a receiving method of "}[l.Kind] + c.label()
	return event, err
}

// unchanged reports whether a payee is as the approver saw it in a line. Changes by other lines of the same approval are ignored.
func (s *Service) unchanged(tx *db.Tx, e entry, l importLine, c *lineChange) (bool, error) {
	switch {
	case c.Identity != nil:
		with, err := db.Collect(tx.Q, func(r db.Rows) api.ReceivingMethod { return api.ReceivingMethod{ID: r.Text(0)} },
			`SELECT subject_id FROM directory_import_line WHERE entry_id = $1 AND state = 'approved' AND import_id = $2`, l.EntryID, l.JobID)
		if err != nil {
			return false, err
		}
		c.Identity.Change.Methods = append(c.Identity.Change.Methods, with...)
		_, err = s.checkIdentity(tx, e, c.Identity.Change, l.ID)
		var no *fault.Fault
		if errors.As(err, &no) {
			return false, nil
		}
		return err == nil, err
	case c.Method == nil:
		return false, nil
	}
	same, err := tx.Row(`SELECT id FROM receiving_method WHERE id = $1 AND version = $2 AND status = 'pending'`, l.Subject, l.Version).Scan(new(string))
	if err != nil || !same || c.Method.Method.ID != l.Subject || !c.Method.isOf(e) {
		return false, err
	}
	if !c.Method.Default {
		return true, nil
	}
	methods, err := s.lockedMethods(tx, e)
	chosen := defaultOf(methods).ID
	if err != nil || chosen == c.Method.OldDefault.ID {
		return err == nil, err
	}
	return tx.Row(`SELECT id FROM directory_import_line WHERE subject_id = $1 AND state = 'approved' AND import_id = $2`, chosen, l.JobID).Scan(new(string))
}

// decideMethod makes the receiving method of a line payable, or ends it. It returns the changes for the audit log.
func (s *Service) decideMethod(tx *db.Tx, d LineDecision, e entry, l importLine, c lineChange, state string) (changes audit.Changes, err error) {
	changes.Add("entry_id", nil, l.EntryID)
	if state != api.ApprovalApproved {
		err = reject(tx, l.Subject, &changes)
		return changes, err
	}
	methods, err := s.lockedMethods(tx, e)
	if err != nil {
		return changes, err
	}
	err = s.approve(tx, e, *c.Method, methods, d.Hours, &changes)
	return changes, err
}

// decideIdentity changes the identity of the payee of a line, or deletes the waiting change.
func (s *Service) decideIdentity(tx *db.Tx, e entry, l importLine, c lineChange, state string) (audit.Changes, error) {
	if state != api.ApprovalApproved {
		return nil, dropIdentity(tx, l.EntryID, l.ID)
	}
	return s.applyIdentity(tx, e, c.Identity.Change, l.ID)
}

// lineAction returns the action and the words in the audit log for the decision about a line.
func lineAction(kind, state string) (audit.Action, string) {
	type pair struct{ method, identity audit.Action }
	actions, verb := pair{audit.ReceivingMethodRejected, audit.PayeeIdentityRejected}, "Rejected"
	switch state {
	case api.ApprovalApproved:
		actions, verb = pair{audit.ReceivingMethodApproved, audit.PayeeIdentityApproved}, "Approved"
	case api.ApprovalWithdrawn:
		actions, verb = pair{audit.ReceivingMethodWithdrawn, audit.PayeeIdentityWithdrawn}, "Withdrew"
	case api.ApprovalExpired:
		actions, verb = pair{audit.ReceivingMethodExpired, audit.PayeeIdentityExpired}, "Let expire"
	case api.LineLeftOut:
		verb = "Left out"
	case api.ApprovalVoid:
		verb = "Voided"
	}
	if kind == identityKind {
		return actions.identity, verb
	}
	return actions.method, verb
}
