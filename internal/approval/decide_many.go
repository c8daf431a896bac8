package approval

import (
	"context"
	"errors"
	"fmt"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// DecideInput decides many approvals with one statement of how they were checked.
type DecideInput struct {
	api.ApprovalDecide
}

// Validate checks the request without reading the database.
func (in *DecideInput) Validate(v *fault.Violations) {
	web.CheckText(v, "workspace_id", in.WorkspaceID, 1, 100)
	web.CheckOneOf(v, "decision", &in.Decision, api.DecideApprove, api.DecideReject)
	toApprove, toReject := 0, 1 // the least length of what only one of the decisions requires
	if in.Decision == api.DecideApprove {
		toApprove, toReject = 1, 0
	}
	web.CheckText(v, "verification", in.Verification, toApprove, maxText)
	web.CheckText(v, "reason", in.Reason, toReject, maxText)
	if len(in.Approvals) == 0 || len(in.Approvals) > api.MaxDecide {
		v.Add("approvals", fmt.Sprintf("must have 1 to %d elements", api.MaxDecide))
	}
	seen := map[string]bool{}
	for i, a := range in.Approvals {
		field := fmt.Sprintf("approvals.%d", i)
		web.CheckText(v, field+".id", a.ID, 1, 100)
		web.CheckText(v, field+".digest", a.Digest, toApprove, 100)
		if seen[a.ID] {
			v.Add(field+".id", "must be different from the others")
		}
		seen[a.ID] = true
	}
}

// Cost returns how many requests the decisions count as for the rate limit.
func (in *DecideInput) Cost() int { return max(1, (len(in.Approvals)+9)/10) }

// DecideMany decides approvals of one kind and workspace, each in its own transaction as if it were decided alone. The response has a
// result for each. A retry finds its earlier decisions and reports them as done.
func (s *Service) DecideMany(ctx context.Context, by db.Caller, in DecideInput) (api.ApprovalsDecided, error) {
	var none api.ApprovalsDecided
	rows, err := s.findMany(ctx, by, in)
	if err != nil {
		return none, err
	}
	one := by
	one.IdempotencyKey = nil // it belongs to the whole request
	done := api.ApprovalsDecided{Results: make([]api.ApprovalResult, len(in.Approvals))}
	for i, chosen := range in.Approvals {
		if done.Results[i], err = s.decideOne(ctx, one, in, chosen, rows[chosen.ID]); err != nil {
			return none, err
		}
	}
	return db.Write(ctx, s.db, by, func(*db.Tx) (api.ApprovalsDecided, audit.Event, error) {
		return done, audit.None("each decision has a row of its own"), nil
	})
}

// findMany reads the approvals to decide, requires the permission for it, and returns an error unless all are of one kind. An approval of
// another workspace, or of a mode that the credential is not for, is not found.
func (s *Service) findMany(ctx context.Context, by db.Caller, in DecideInput) (map[string]row, error) {
	rows, kind := map[string]row{}, ""
	mixed := false
	err := s.db.Read(ctx, func(q db.Q) error {
		for _, chosen := range in.Approvals {
			r, err := findRow(q, s.db.Integrity(), chosen.ID)
			if err != nil {
				return err
			}
			if r.ID != "" && r.WorkspaceID == in.WorkspaceID && (r.Mode == "" || by.Scope.InMode(r.Mode)) {
				mixed = mixed || kind != "" && kind != r.Kind
				rows[r.ID], kind = r, r.Kind
			}
		}
		return nil
	})
	if err == nil && kind == "" {
		if _, err = s.authority.Permissions(ctx, by.Actor, in.WorkspaceID); err == nil {
			err = fault.Missing("approval")
		}
	}
	if err == nil {
		_, err = s.authority.Held(ctx, by.Actor, in.WorkspaceID, s.kinds[kind].Pair.Approve)
	}
	if err == nil && mixed {
		err = fault.Invalid("approvals", "must be of one kind")
	}
	if err == nil && in.Decision == api.DecideApprove {
		err = access.RequireRecentLogin(by.Actor, s.db.Now())
	}
	return rows, err
}

// errLines is the fault for an import or a bulk among several approvals: the caller was shown the number of its lines, not the lines.
var errLines = fault.New(api.CodeValidation, "this has lines: read them with GET /v1/approvals/{id}/lines, then approve it alone with POST /v1/approvals/{id}/approve")

// decideOne decides one of many approvals. A fault is its result, and leaves a row in the audit log like a refused request of its own.
func (s *Service) decideOne(ctx context.Context, by db.Caller, in DecideInput, chosen api.ApprovalShown, found row) (api.ApprovalResult, error) {
	out := api.ApprovalResult{ID: chosen.ID}
	d := decision{state: api.ApprovalRejected, reason: in.Reason}
	if in.Decision == api.DecideApprove {
		d = decision{state: api.ApprovalApproved, digest: chosen.Digest, verification: in.Verification}
	}
	var now api.Approval
	err := error(fault.Missing("approval"))
	switch {
	case found.ID != "" && d.state == api.ApprovalApproved && s.kinds[found.Kind].HasLines:
		err = errLines
	case found.ID != "":
		now, err = decide(ctx, s, by, chosen.ID, d, itself)
	}
	if err == nil {
		out.OK, out.State = true, now.State
		return out, nil
	}
	var no *fault.Fault
	if !errors.As(err, &no) {
		return out, err
	}
	own := ""
	if err = nil; found.ID != "" {
		own, err = s.decidedBy(ctx, by, chosen.ID, d.state)
	}
	if err != nil || own != "" {
		out.OK, out.State = err == nil, own
		return out, err
	}
	out.Error = &api.BatchError{Code: string(no.Code), Message: no.Message}
	if no.Code == api.CodeForbidden {
		err = db.Record(ctx, s.db, by, audit.Event{Action: audit.Action(no.Action), Outcome: audit.Denied, WorkspaceID: in.WorkspaceID, ResourceID: no.ResourceID,
			Description: "Refused to decide an approval: " + no.Message}, nil)
	}
	return out, err
}

// decidedBy returns the state of an approval that the caller has already decided or voted for, or "".
func (s *Service) decidedBy(ctx context.Context, by db.Caller, id, state string) (string, error) {
	var r row
	err := s.db.Read(ctx, func(q db.Q) (err error) {
		r, err = findRow(q, s.db.Integrity(), id)
		return err
	})
	switch {
	case err != nil:
		return "", err
	case r.State == state && r.decider != nil && r.decider.ID == by.ID:
		return state, nil
	case state == api.ApprovalApproved && (r.State == api.ApprovalPending || r.State == state) && r.voted(by.ID):
		return r.State, nil
	}
	return "", nil
}
