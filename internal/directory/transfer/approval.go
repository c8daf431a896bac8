package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/mail"
)

// jobChange is what the approval of a job is for. The lines are rows. The digest binds them, and each is sealed under its own id, as the
// account numbers are under those of their methods.
type jobChange struct {
	File   string `json:"file,omitzero"`
	Bulk   string `json:"bulk,omitzero"` // its action
	Lines  int64  `json:"lines"`
	Digest string `json:"digest"`
}

// called returns the name of the job for people.
func (c jobChange) called() string {
	switch {
	case c.Bulk != "":
		return "bulk change (" + c.Bulk + ")"
	case c.File != "":
		return "import of " + c.File
	}
	return "import"
}

func (s *Service) jobApprovals(name string, actions map[string]audit.Action) approval.Kind {
	return approval.KindOf[jobChange]{
		Kind: approval.Kind{
			Name: name, Read: access.ReceivingRead, Make: access.ReceivingWrite, Pair: access.Receiving, Mail: mail.BankDetailsChange,
			Actions: actions, HasLines: true,
			Lock:    func(*db.Tx, approval.Approval) error { return nil }, // lines are dropped under the lock of the approval
			Decided: s.carryOut, Complete: s.completeJob,
		},
		Apply: s.approveJob, Drop: s.dropJob, Show: jobChange.show,
	}.Decoding()
}

// endJob ends an import or a bulk as endImport does, and requests the approval of its lines, if there are any. The id is empty if another
// node has ended it.
func (s *Service) endJob(tx *db.Tx, id, claim, status, reason string) (job, error) {
	done, err := end(tx, id, claim, status, reason)
	if err != nil || done.ID == "" {
		return done, err
	}
	lines, err := digestLines(tx.Q, id)
	if err != nil || lines.pending == 0 {
		return done, err
	}
	c := done.kind().change()
	c.Lines, c.Digest = lines.total, lines.digest
	by := db.Caller{Actor: done.actor, CoInitiators: done.options.Behind} // regardless of who ends it
	done.approvalID, err = s.approvals.Make(tx, by, approval.Request{Kind: done.kind().name(), WorkspaceID: done.WorkspaceID, Workspace: done.Workspace,
		SubjectID: id, Version: 1, Payload: c})
	return done, err
}

// jobLines is a summary of the lines of a job.
type jobLines struct {
	total, pending int64
	digest         string
}

// digestLines computes the digest of all lines of a job, in any state.
func digestLines(q db.Q, importID string) (jobLines, error) {
	var lines jobLines
	sum := sha256.New()
	err := q.Each(func(r db.Rows) error {
		lines.total++
		if r.Text(6) == api.ApprovalPending {
			lines.pending++
		}
		fmt.Fprintf(sum, "%s\n%d\n%s\n%s\n%d\n%s\n", r.Text(0), r.Int(1), r.Text(2), r.Text(3), r.Int(4), r.Text(5))
		return nil
	}, `SELECT id, line, kind, subject_id, subject_version, entry_id, state FROM directory_import_line WHERE import_id = $1 ORDER BY line, id`, importID)
	lines.digest = hex.EncodeToString(sum.Sum(nil))
	return lines, err
}

// show describes a job. Its lines are read separately.
func (c jobChange) show(bool) (string, []api.ApprovalField) {
	var fields []api.ApprovalField
	if c.Bulk != "" {
		fields = append(fields, api.ApprovalField{Field: "action", After: c.Bulk})
	} else {
		fields = append(fields, api.ApprovalField{Field: "file", After: c.File})
	}
	fields = append(fields, api.ApprovalField{Field: "lines", After: fmt.Sprint(c.Lines)})
	return fmt.Sprintf("%s: %s", sentenceCase(c.called()), countLines(c.Lines)), fields
}

func sentenceCase(text string) string { return string(text[0]-'a'+'A') + text[1:] }

func countLines(n int64) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

// approveJob checks that the lines are those that were requested, and stores the decision to be carried out.
func (s *Service) approveJob(tx *db.Tx, a approval.Approval, c jobChange) (audit.Changes, string, error) {
	lines, err := digestLines(tx.Q, a.SubjectID)
	if err == nil && (lines.digest != c.Digest || lines.total != c.Lines) {
		err = fault.New(api.CodeApprovalChanged, "someone has changed the lines of this approval in the store: reject it, then import the file again")
	}
	if err != nil {
		return nil, "", err
	}
	left, err := checkLeftOut(tx, a, lines.pending)
	if err != nil {
		return nil, "", err
	}
	people, err := access.ObserveSecondPerson(tx, access.Receiving, a.WorkspaceID)
	if err != nil {
		return nil, "", err
	}
	var changes audit.Changes
	changes.Add("lines", nil, lines.pending-left)
	if left > 0 {
		changes.Add("left_out", nil, left)
	}
	return changes, c.called() + ": " + countLines(lines.pending-left), insertDecision(tx, a, people.CoolingHours())
}

// checkLeftOut counts the changes of the lines that an approver leaves out. Each of these lines must exist, and one other must be left to
// approve.
func checkLeftOut(tx *db.Tx, a approval.Approval, pending int64) (left int64, err error) {
	if len(a.LeaveOut) == 0 {
		return 0, nil
	}
	numbers := slices.Compact(slices.Sorted(slices.Values(a.LeaveOut)))
	found := map[int64]bool{}
	list := db.NewStatement(`SELECT line FROM directory_import_line WHERE import_id = `, a.SubjectID)
	list.AddList(` AND state = 'pending' AND line IN (`, db.Args(numbers))
	err = tx.EachOf(list, func(r db.Rows) error {
		left++
		found[r.Int(0)] = true
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, n := range numbers {
		if !found[n] {
			return 0, fault.Invalid("leave_out", fmt.Sprintf("has %d, which is no line of this approval", n))
		}
	}
	if left == pending {
		return 0, fault.Invalid("leave_out", "leaves no line to approve: reject the approval")
	}
	return left, nil
}

// dropJob stores a decision that approves nothing, to be carried out.
func (s *Service) dropJob(tx *db.Tx, a approval.Approval, c jobChange) (audit.Changes, string, error) {
	var changes audit.Changes
	changes.Add("lines", nil, c.Lines)
	return changes, c.called() + ": " + countLines(c.Lines), insertDecision(tx, a, 0)
}

// countJob counts the lines of an approval.
func countJob(q db.Q, importID string) (*api.ApprovalLines, error) {
	out := &api.ApprovalLines{Flags: map[string]int64{}}
	for _, flag := range api.ApprovalFlags() {
		out.Flags[flag] = 0
	}
	err := q.Each(func(r db.Rows) error {
		n := r.Int(1)
		out.Total += n
		switch r.Text(0) {
		case api.ApprovalPending:
			out.Pending = n
		case api.ApprovalApproved:
			out.Approved = n
		case api.LineLeftOut:
			out.LeftOut = n
		case api.ApprovalVoid:
			out.Void = n
			return nil
		}
		out.Flags[api.FlagNewPayee] += r.Int(2)
		out.Flags[api.FlagSharedAccount] += r.Int(3)
		out.Flags[api.FlagChanged] += r.Int(4)
		out.Flags[api.FlagNameDiffers] += r.Int(5)
		return nil
	}, `SELECT state, count(*), CAST(sum(CASE WHEN new_payee THEN 1 ELSE 0 END) AS BIGINT), CAST(sum(CASE WHEN shared_account THEN 1 ELSE 0 END) AS BIGINT),
			CAST(sum(CASE WHEN changed THEN 1 ELSE 0 END) AS BIGINT), CAST(sum(CASE WHEN name_differs THEN 1 ELSE 0 END) AS BIGINT)
		FROM directory_import_line WHERE import_id = $1 GROUP BY state`, importID)
	return out, err
}

// completeJob adds the numbers of the lines of an import or a bulk.
func (s *Service) completeJob(ctx context.Context, _ db.Caller, _ access.Set, a approval.Approval, shown *api.Approval) error {
	return s.db.Read(ctx, func(q db.Q) (err error) {
		shown.Lines, err = countJob(q, a.SubjectID)
		return err
	})
}
