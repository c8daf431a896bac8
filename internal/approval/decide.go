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
	"bursar/internal/identity"
)

// decision is a vote for an approval, or how it ends.
type decision struct {
	state                        string
	digest, verification, reason string
	leaveOut                     []int64
}

// permission is what a decision needs.
func (d decision) permission(k Kind) access.Permission {
	if d.state == api.ApprovalWithdrawn {
		return k.Make
	}
	return k.Pair.Approve
}

// Approve approves what was shown. The last vote needed carries it out.
func (s *Service) Approve(ctx context.Context, by db.Caller, in ApproveInput) (api.Approval, error) {
	return ApproveAs(ctx, s, by, in, itself)
}

// Reject rejects a request.
func (s *Service) Reject(ctx context.Context, by db.Caller, in RejectInput) (api.Approval, error) {
	return RejectAs(ctx, s, by, in, itself)
}

// Withdraw withdraws a request. Everyone who may make the same request may withdraw it.
func (s *Service) Withdraw(ctx context.Context, by db.Caller, in Input) (api.Approval, error) {
	return decide(ctx, s, by, in.ID, decision{state: api.ApprovalWithdrawn}, itself)
}

// As returns the response for a decided approval, in the transaction that decides it. So a retry with the same idempotency key gets the
// same response.
type As[T any] func(tx *db.Tx, a api.Approval) (T, error)

func itself(_ *db.Tx, a api.Approval) (api.Approval, error) { return a, nil }

// ApproveAs is Approve with a response of its own.
func ApproveAs[T any](ctx context.Context, s *Service, by db.Caller, in ApproveInput, answer As[T]) (T, error) {
	return decide(ctx, s, by, in.ID, decision{state: api.ApprovalApproved, digest: in.Digest, verification: in.Verification, leaveOut: in.LeaveOut}, answer)
}

// RejectAs is Reject with a response of its own.
func RejectAs[T any](ctx context.Context, s *Service, by db.Caller, in RejectInput, answer As[T]) (T, error) {
	return decide(ctx, s, by, in.ID, decision{state: api.ApprovalRejected, reason: in.Reason}, answer)
}

// decide decides an approval. It also adds to a refusal the action and the subject for the audit log, since the route is the same for all
// kinds.
func decide[T any](ctx context.Context, s *Service, by db.Caller, id string, d decision, as As[T]) (answer T, err error) {
	a, _, err := s.enter(ctx, by, id, d.permission)
	if err == nil {
		answer, err = decideHeld(ctx, s, by, a, d, as)
	}
	var f *fault.Fault
	if errors.As(err, &f) && f.Code == api.CodeForbidden && a.ID != "" {
		named := *f
		named.Action, named.ResourceID = string(s.kinds[a.Kind].Actions[d.state]), a.SubjectID
		err = &named
	}
	return answer, err
}

func decideHeld[T any](ctx context.Context, s *Service, by db.Caller, a Approval, d decision, as As[T]) (answer T, err error) {
	kind := s.kinds[a.Kind]
	if len(d.leaveOut) > 0 && !kind.HasLines {
		return answer, fault.Invalid("leave_out", "must be absent: this approval has no lines")
	}
	if err := s.vault.Ready(ctx, a.Number); err != nil {
		return answer, err
	}
	answer, err = db.Write(ctx, s.db, by, func(tx *db.Tx) (answer T, event audit.Event, err error) {
		if _, err := s.stillPending(tx, a.ID); err != nil {
			return answer, event, err
		}
		if err := kind.Lock(tx, a); err != nil {
			return answer, event, s.endedOr(tx, a.ID, err)
		}
		if _, err := access.ObserveSecondPerson(tx, kind.Pair, a.WorkspaceID); err != nil {
			return answer, event, err
		}
		held, err := identity.HeldNow(tx, by, a.WorkspaceID, d.permission(kind))
		if err != nil {
			return answer, event, err
		}
		who, err := view(tx.Q, by, held, a.WorkspaceID, tx.Now(), access.Pairs()...)
		if err != nil {
			return answer, event, err
		}
		if event, err = s.settle(tx, who, a, d); err != nil {
			return answer, event, err
		}
		now, err := s.find(tx.Q, a.ID)
		if err != nil {
			return answer, event, err
		}
		shown, err := s.wire(who, now, false)
		if err == nil {
			answer, err = as(tx, shown)
		}
		return answer, event, err
	})
	if err == nil && kind.Decided != nil {
		kind.Decided(ctx, a)
	}
	return answer, err
}

// settle stores a decision, and carries it out unless it is a vote and others are missing.
func (s *Service) settle(tx *db.Tx, who viewer, a Approval, d decision) (audit.Event, error) {
	changed := func() error {
		if _, err := s.stillPending(tx, a.ID); err != nil {
			return err
		}
		return fault.New(api.CodeApprovalChanged, "this is not what waits for approval: look at it again")
	}
	votes := int64(0)
	if d.state == api.ApprovalApproved {
		now, err := s.stillPending(tx, a.ID)
		if err == nil {
			err = s.mayApprove(now, who, tx.Now())
		}
		if err != nil {
			return audit.Event{}, err
		}
		var first bool
		votes, first, err = vote(tx, a, d, who.Actor)
		switch {
		case err != nil:
			return audit.Event{}, err
		case votes == 0:
			return audit.Event{}, changed()
		case !first: // the person voted twice at the same moment
			now.votes = append(now.votes, api.ApprovalVote{ID: who.ID})
			return audit.Event{}, s.mayApprove(now, who, tx.Now())
		}
		// The approval is locked, so its votes are current.
		locked, err := findRow(tx.Q, tx.Integrity(), a.ID)
		if err != nil {
			return audit.Event{}, err
		}
		locked.Role = a.Role
		if votes = int64(len(locked.standing(who.people[s.kinds[a.Kind].Pair]))); votes < a.NeededVotes {
			return s.voted(a, d, votes)
		}
	}
	swapped, err := swap(tx, a, d, who.ID)
	if err == nil && !swapped {
		err = changed()
	}
	if err != nil {
		return audit.Event{}, err
	}
	return s.carryOut(tx, who.Actor, a, d, votes)
}

// voted returns the event of a vote after which others are missing.
func (s *Service) voted(a Approval, d decision, votes int64) (audit.Event, error) {
	summary, _, err := s.kinds[a.Kind].Show(a, false)
	event := audit.Event{Action: s.kinds[a.Kind].Actions[d.state], WorkspaceID: a.WorkspaceID, ResourceID: a.SubjectID,
		Description: fmt.Sprintf("Approved, as %d of %d: %s", votes, a.NeededVotes, summary)}
	event.Changes.Add("approvals", votes-1, votes)
	event.Changes.Add("approval_id", nil, a.ID)
	event.Changes.Add("requested_by", nil, a.Maker.Name)
	event.Changes.Add("verification", nil, d.verification)
	return event, err
}

// stillPending reads an approval and returns an error if it is decided, or has expired.
func (s *Service) stillPending(tx *db.Tx, id string) (Approval, error) {
	a, err := s.find(tx.Q, id)
	switch {
	case err != nil:
		return a, err
	case a.ID == "":
		return a, fault.Missing("approval")
	case a.State != api.ApprovalPending:
		return a, fault.New(api.CodeApprovalDecided, "this is no longer pending: it is %s", a.State)
	case a.ExpiresAt <= tx.Now():
		return a, fault.New(api.CodeApprovalDecided, "this is no longer pending: it is %s", api.ApprovalExpired)
	}
	return a, nil
}

// endedOr returns why an approval is no longer pending, if whatever made it impossible to lock its subject has ended it. Otherwise it
// returns the error.
func (s *Service) endedOr(tx *db.Tx, id string, err error) error {
	var f *fault.Fault
	if errors.As(err, &f) { // any other error ends the transaction
		if _, ended := s.stillPending(tx, id); ended != nil {
			return ended
		}
	}
	return err
}

// carryOut performs the effects of a decision, which may be the last of several votes. It returns the event of that, with those of its
// parts.
func (s *Service) carryOut(tx *db.Tx, by audit.Actor, a Approval, d decision, votes int64) (audit.Event, error) {
	kind := s.kinds[a.Kind]
	a.State, a.By, a.LeaveOut, a.Verification, a.Reason = d.state, by, d.leaveOut, d.verification, d.reason
	do := kind.Drop
	if d.state == api.ApprovalApproved {
		do = kind.Apply
	}
	var parts []audit.Event
	if kind.Parts != nil {
		var err error
		if parts, err = kind.Parts(tx, a, d.state); err != nil {
			return audit.Event{}, err
		}
	}
	changes, of, err := do(tx, a)
	event := audit.Event{Action: kind.Actions[d.state], WorkspaceID: a.WorkspaceID, ResourceID: a.SubjectID, Changes: changes}
	event.Changes.Add("approval", api.ApprovalPending, d.state)
	event.Changes.Add("approval_id", nil, a.ID)
	event.Changes.Add("requested_by", nil, a.Maker.Name)
	event.Changes.Add("verification", nil, d.verification)
	event.Changes.Add("reason", nil, d.reason)
	if a.NeededVotes > 1 && votes > 0 {
		event.Changes.Add("approvals", votes-1, votes)
	}
	words := map[string]string{
		api.ApprovalApproved: "Approved", api.ApprovalRejected: "Rejected", api.ApprovalWithdrawn: "Withdrew", api.ApprovalExpired: "Let expire",
	}
	event.Description = words[d.state] + " " + of
	for i := range parts {
		parts[i].Changes = event.Changes
	}
	return audit.All(append([]audit.Event{event}, parts...)...), err
}
