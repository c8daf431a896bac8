package transfer

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/directory"
	"bursar/internal/work"
)

const (
	// decisionBatch is how many lines of a decision one transaction carries out, and politeDecision how many while people write.
	decisionBatch  = 100
	politeDecision = 25
)

// decision is the decision about the approval of a job, until it was carried out for all lines.
type decision struct {
	ApprovalID   string `db:"approval_id"`
	JobID        string `db:"import_id"`
	WorkspaceID  string `db:"workspace_id"`
	Workspace    int64  `db:"workspace_number"`
	State        string `db:"state"`
	Actor        string `db:"actor"`
	RequestedBy  string `db:"requested_by"`
	Verification string `db:"verification"`
	Reason       string `db:"reason"`
	LeftOut      string `db:"left_out"`
	Hours        int64  `db:"cooling_hours"` // how long methods cool
	Claim        string `db:"claim"`
	LeaseUntil   int64  `db:"lease_until"`
}

var (
	decisions   = db.Select[decision]("directory_import_decision", nil)
	newDecision = db.InsertInto[decision]("directory_import_decision")
)

// lines returns the decision about lines, and who has made it.
func (d decision) lines() (by db.Caller, about directory.LineDecision, err error) {
	about = directory.LineDecision{ApprovalID: d.ApprovalID, JobID: d.JobID, WorkspaceID: d.WorkspaceID, Workspace: d.Workspace, State: d.State,
		RequestedBy: d.RequestedBy, Verification: d.Verification, Reason: d.Reason, Hours: d.Hours}
	if err = json.Unmarshal([]byte(d.Actor), &by.Actor); err == nil {
		err = json.Unmarshal([]byte(d.LeftOut), &about.LeftOut)
	}
	return by, about, err
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
	return newDecision.Insert(tx, &decision{
		ApprovalID: a.ID, JobID: a.SubjectID, WorkspaceID: a.WorkspaceID, Workspace: a.Workspace(), State: a.State,
		Actor: string(actor), RequestedBy: a.Maker.Name, Verification: a.Verification, Reason: a.Reason, LeftOut: string(leftOut), Hours: hours,
	})
}

// RunDecisions carries out decisions about imports and bulks until ctx ends.
func (s *Service) RunDecisions(ctx context.Context, log *slog.Logger) {
	work.Loop{
		Step: s.DecisionTurn, Interval: importInterval, Wake: s.decided,
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
	if err != nil || d.ApprovalID == "" {
		return d.ApprovalID != "", err
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

// carryOut carries out the first lines of a decision that is on disk, so that a small one is complete before the response. The background
// carries out the rest, and retries failures.
func (s *Service) carryOut(ctx context.Context, a approval.Approval) {
	d, err := s.claimDecision(ctx, a.ID)
	if err != nil || d.ApprovalID == "" {
		return
	}
	if done, err := s.decideLines(ctx, d, false); err == nil && !done {
		_, _ = db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
			return struct{}{}, audit.None("a lease is no change that the log tells of"),
				tx.Exec(`UPDATE directory_import_decision SET lease_until = 0 WHERE approval_id = $1 AND claim = $2`, d.ApprovalID, d.Claim)
		})
	}
	s.decided.Send()
}

// claimDecision takes the lease of a decision; its approval's id is empty if another slot or node has it, or it was carried out.
func (s *Service) claimDecision(ctx context.Context, id string) (decision, error) {
	return db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) (d decision, event audit.Event, err error) {
		err = tx.Each(func(r db.Rows) error {
			d = decisions.Read(r)
			return nil
		}, `UPDATE directory_import_decision SET claim = $2, lease_until = $3 WHERE approval_id = $1 AND lease_until <= $4 RETURNING `+decisions.Columns,
			id, rand.Text(), tx.Now()+importLease.Milliseconds(), tx.Now())
		return d, audit.None("a lease is no change that the log tells of"), err
	})
}

// decideLines carries out the next lines of a decision, and reports whether they were the last.
func (s *Service) decideLines(ctx context.Context, d decision, polite bool) (done bool, err error) {
	by, about, err := d.lines()
	if err == nil {
		err = s.vault.Ready(ctx, d.Workspace)
	}
	if err != nil {
		return false, err
	}
	most := decisionBatch
	if polite {
		most = politeDecision
	}
	done, err = db.Write(ctx, s.db, by, func(tx *db.Tx) (bool, audit.Event, error) {
		none := audit.None("none of the lines was left")
		mine, err := tx.Row(`UPDATE directory_import_decision SET lease_until = $3 WHERE approval_id = $1 AND claim = $2 RETURNING approval_id`,
			d.ApprovalID, d.Claim, tx.Now()+importLease.Milliseconds()).Scan(new(string))
		if err == nil && !mine {
			err = errNotMine
		}
		if err != nil {
			return false, none, err
		}
		events, done, err := s.directory.DecideLines(tx, about, most)
		if err != nil {
			return false, none, err
		}
		if len(events) > 0 {
			none = audit.All(events...)
		}
		if !done {
			return false, none, nil
		}
		return true, none, tx.Exec(`DELETE FROM directory_import_decision WHERE approval_id = $1`, d.ApprovalID)
	})
	s.own.Add(1)
	return done, err
}
