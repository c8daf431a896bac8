package directory

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"bursar/api"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/work"
)

const (
	// decisionBatch is how many lines of a decision one transaction carries out, and politeDecision how many while people write.
	decisionBatch  = 100
	politeDecision = 25
)

// decision is the decision about the approval of a job, until it was carried out for all lines.
type decision struct {
	approvalID   string
	importID     string
	workspaceID  string
	workspace    int64 // its number
	state        string
	actor        audit.Actor
	requestedBy  string
	verification string
	reason       string
	leftOut      []int64
	hours        int64 // how long methods cool
	claim        string
}

const decisionColumns = `approval_id, import_id, workspace_id, workspace_number, state, actor, requested_by, verification, reason, left_out, cooling_hours, claim`

func readDecision(r db.Rows) (d decision, err error) {
	d = decision{approvalID: r.Text(0), importID: r.Text(1), workspaceID: r.Text(2), workspace: r.Int(3), state: r.Text(4), requestedBy: r.Text(6),
		verification: r.Text(7), reason: r.Text(8), hours: r.Int(10), claim: r.Text(11)}
	if err = json.Unmarshal([]byte(r.Text(5)), &d.actor); err == nil {
		err = json.Unmarshal([]byte(r.Text(9)), &d.leftOut)
	}
	return d, err
}

// insertDecision stores a decision to be carried out, which begins when it is on disk.
func insertDecision(tx *db.Tx, a approval.Approval, hours int64) error {
	actor, err := json.Marshal(a.By)
	if err != nil {
		return fmt.Errorf("write who decides: %w", err)
	}
	leftOut, err := json.Marshal(a.LeaveOut)
	if err != nil {
		return fmt.Errorf("write what is left out: %w", err)
	}
	return tx.Exec(`INSERT INTO directory_import_decision (`+decisionColumns+`, lease_until) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, '', 0)`,
		a.ID, a.SubjectID, a.WorkspaceID, a.Workspace(), a.State, string(actor), a.Maker.Name, a.Verification, a.Reason, string(leftOut), hours)
}

// RunDecisions carries out decisions about imports and bulks until ctx ends.
func (s *Service) RunDecisions(ctx context.Context, log *slog.Logger) {
	work.Loop{
		Step: s.DecisionTurn, Interval: importInterval, Wake: s.imports.decided,
		Log: log, Failure: "the decision about an import has stopped and will go on",
	}.Run(ctx)
}

// DecisionTurn carries out one decision completely, and reports whether there was one.
func (s *Service) DecisionTurn(ctx context.Context) (worked bool, err error) {
	var id string
	err = s.db.Read(ctx, func(q db.Q) error {
		id = ""
		_, err := q.Row(`SELECT approval_id FROM directory_import_decision WHERE lease_until <= $1 ORDER BY lease_until, approval_id LIMIT 1`, s.db.Now()).Scan(&id)
		return err
	})
	if err != nil || id == "" {
		return false, err
	}
	d, err := s.claimDecision(ctx, id)
	if err != nil || d.approvalID == "" {
		return d.approvalID != "", err
	}
	for done := false; !done && err == nil; {
		begun, polite := time.Now(), s.yielding()
		if done, err = s.decideLines(ctx, d, polite); polite && !done && err == nil {
			err = work.Sleep(ctx, time.Since(begun)) // others have the writer for as long as the transaction took
		}
	}
	if errors.Is(err, errNotMine) {
		err = nil
	}
	return true, err
}

// decided carries out the first lines of a decision that is on disk, so that a small one is complete before the response. The background
// carries out the rest, and retries failures.
func (s *Service) decided(ctx context.Context, a approval.Approval) {
	d, err := s.claimDecision(ctx, a.ID)
	if err != nil || d.approvalID == "" {
		return
	}
	if done, err := s.decideLines(ctx, d, false); err == nil && !done {
		_, _ = db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
			return struct{}{}, audit.None("a lease is no change that the log tells of"),
				tx.Exec(`UPDATE directory_import_decision SET lease_until = 0 WHERE approval_id = $1 AND claim = $2`, d.approvalID, d.claim)
		})
	}
	s.imports.decided.Send()
}

// claimDecision takes the lease of a decision; its approval's id is empty if another slot or node has it, or it was carried out.
func (s *Service) claimDecision(ctx context.Context, id string) (decision, error) {
	return db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) (d decision, event audit.Event, err error) {
		err = tx.Each(func(r db.Rows) (err error) {
			d, err = readDecision(r)
			return err
		}, `UPDATE directory_import_decision SET claim = $2, lease_until = $3 WHERE approval_id = $1 AND lease_until <= $4 RETURNING `+decisionColumns,
			id, rand.Text(), tx.Now()+importLease.Milliseconds(), tx.Now())
		return d, audit.None("a lease is no change that the log tells of"), err
	})
}

// decideLines carries out the next lines of a decision, and reports whether they were the last.
func (s *Service) decideLines(ctx context.Context, d decision, polite bool) (done bool, err error) {
	if err := s.vault.Ready(ctx, d.workspace); err != nil {
		return false, err
	}
	most := decisionBatch
	if polite {
		most = politeDecision
	}
	done, err = db.Write(ctx, s.db, db.Caller{Actor: d.actor}, func(tx *db.Tx) (bool, audit.Event, error) {
		none := audit.None("none of the lines was left")
		mine, err := tx.Row(`UPDATE directory_import_decision SET lease_until = $3 WHERE approval_id = $1 AND claim = $2 RETURNING approval_id`,
			d.approvalID, d.claim, tx.Now()+importLease.Milliseconds()).Scan(new(string))
		if err == nil && !mine {
			err = errNotMine
		}
		if err != nil {
			return false, none, err
		}
		// Receiving methods come first: they were shown with the previous identity of the payee.
		lines, err := db.Collect(tx.Q, readLine, `SELECT `+lineColumns+` WHERE import_id = $1 AND state = 'pending' ORDER BY kind DESC, line, id LIMIT $2`, d.importID, most)
		if err != nil {
			return false, none, err
		}
		var events []audit.Event
		for _, l := range lines {
			event, err := s.decideLine(tx, d, l)
			if err != nil {
				return false, none, err
			}
			if event.Action != "" {
				events = append(events, event)
			}
		}
		if len(events) > 0 {
			none = audit.All(events...)
		}
		if len(lines) == most {
			return false, none, nil
		}
		return true, none, tx.Exec(`DELETE FROM directory_import_decision WHERE approval_id = $1`, d.approvalID)
	})
	s.imports.own.Add(1)
	return done, err
}

// decideLine carries out a decision for one line. The event has no action if the line was dropped meanwhile.
func (s *Service) decideLine(tx *db.Tx, d decision, l importLine) (event audit.Event, err error) {
	c, err := s.openLine(d.workspace, l)
	if err != nil {
		return event, err
	}
	e, err := lock(tx, entryRef{id: l.entryID, workspaceID: d.workspaceID, workspace: d.workspace})
	var gone *fault.Fault
	if err != nil && !errors.As(err, &gone) {
		return event, err
	}
	state := d.state
	if state == api.ApprovalApproved && slices.Contains(d.leftOut, l.line) {
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
	mine, err := tx.Row(`UPDATE directory_import_line SET state = $2 WHERE id = $1 AND state = 'pending' RETURNING id`, l.id, state).Scan(new(string))
	if err != nil || !mine {
		return event, err
	}
	event = audit.Event{WorkspaceID: d.workspaceID, ResourceID: l.subject}
	switch {
	case l.kind == identityKind:
		event.Changes, err = s.decideIdentity(tx, e, l, c, state)
	default:
		event.Changes, err = s.decideMethod(tx, d, e, l, c, state)
	}
	event.Changes.Add("approval", api.ApprovalPending, state)
	event.Changes.Add("approval_id", nil, d.approvalID)
	event.Changes.Add("line", nil, l.line)
	event.Changes.Add("requested_by", nil, d.requestedBy)
	event.Changes.Add("verification", nil, d.verification)
	event.Changes.Add("reason", nil, d.reason)
	var verb string
	event.Action, verb = lineAction(l.kind, state)
	event.Description = verb + " " + map[string]string{identityKind: "a change of the identity of ", methodKind: "a receiving method of "}[l.kind] + c.label()
	return event, err
}

// unchanged reports whether a payee is as the approver saw it in a line. Changes by other lines of the same approval are ignored.
func (s *Service) unchanged(tx *db.Tx, e entry, l importLine, c *lineChange) (bool, error) {
	switch {
	case c.Identity != nil:
		with, err := db.Collect(tx.Q, func(r db.Rows) api.ReceivingMethod { return api.ReceivingMethod{ID: r.Text(0)} },
			`SELECT subject_id FROM directory_import_line WHERE entry_id = $1 AND state = 'approved' AND import_id = $2`, l.entryID, l.importID)
		if err != nil {
			return false, err
		}
		c.Identity.Change.Methods = append(c.Identity.Change.Methods, with...)
		_, err = s.checkIdentity(tx, e, c.Identity.Change, l.id)
		var no *fault.Fault
		if errors.As(err, &no) {
			return false, nil
		}
		return err == nil, err
	case c.Method == nil:
		return false, nil
	}
	same, err := tx.Row(`SELECT id FROM receiving_method WHERE id = $1 AND version = $2 AND status = 'pending'`, l.subject, l.version).Scan(new(string))
	if err != nil || !same || c.Method.Method.ID != l.subject || !c.Method.isOf(e) {
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
	return tx.Row(`SELECT id FROM directory_import_line WHERE subject_id = $1 AND state = 'approved' AND import_id = $2`, chosen, l.importID).Scan(new(string))
}

// decideMethod makes the receiving method of a line payable, or ends it. It returns the changes for the audit log.
func (s *Service) decideMethod(tx *db.Tx, d decision, e entry, l importLine, c lineChange, state string) (changes audit.Changes, err error) {
	changes.Add("entry_id", nil, l.entryID)
	if state != api.ApprovalApproved {
		ended, err := tx.Row(`UPDATE receiving_method SET status = 'rejected', version = version + 1 WHERE id = $1 AND status = 'pending' RETURNING id`, l.subject).Scan(new(string))
		if ended {
			changes.Add("status", api.MethodPending, api.MethodRejected)
		}
		return changes, err
	}
	methods, err := s.lockedMethods(tx, e)
	if err != nil {
		return changes, err
	}
	m, err := s.activate(tx, e, methods, *c.Method, d.hours)
	changes.Add("status", c.Method.Method.Status, m.Status)
	changes.AddMasked("account_id", c.Method.Old.AccountID, m.AccountID)
	if c.Method.Default {
		changes.Add("default_method", c.Method.OldDefault.ID, m.ID)
	}
	changes.Add("payable_at", nil, m.PayableAt)
	return changes, err
}

// decideIdentity changes the identity of the payee of a line, or deletes the waiting change.
func (s *Service) decideIdentity(tx *db.Tx, e entry, l importLine, c lineChange, state string) (audit.Changes, error) {
	if state != api.ApprovalApproved {
		return nil, dropIdentity(tx, l.entryID, l.id)
	}
	return s.applyIdentity(tx, e, c.Identity.Change, l.id)
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

// revealEvery is how often the audit log gets a row when the same caller sees the same account numbers.
const revealEvery = time.Hour
