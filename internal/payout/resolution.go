package payout

import (
	"errors"
	"fmt"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/mail"
)

// KindResolve is the kind of approvals of resolutions.
const KindResolve = "payout_resolve"

// staleResolution is why an approval of a resolution is void.
const staleResolution = "the payout has changed since this was asked for"

// resolution is what people have determined about a payout, and what an approval of it is for.
type resolution struct {
	As       string `json:"as"`
	Evidence string `json:"evidence"`
	// Subject identifies the payout and its last attempt at that time: the resolution is for nothing else.
	Subject string `json:"subject"`

	Status     string `json:"status"`
	Attention  string `json:"attention"`
	Payment    string `json:"payment"` // amount and payee, with a masked number
	Rail       string `json:"rail"`
	EndToEndID string `json:"end_to_end_id"`
}

func resolutionOf(last *attempt, number string, in api.PayoutResolve) resolution {
	p := last.payout
	return resolution{As: in.As, Evidence: in.Evidence, Subject: subjectOf(last), Status: p.Status, Attention: p.Attention,
		Payment: p.to(number), Rail: p.Rail, EndToEndID: last.EndToEndID}
}

// subjectOf returns what a resolution is bound to.
func subjectOf(last *attempt) string {
	p := last.payout
	return fmt.Sprintf("%s %s %s %d %d %+v", p.ID, p.Status, p.Attention, p.Version, p.Attempts, last.standing())
}

// String returns the payment and the result, such as "PHP 5.00 to Ada (…) as not paid".
func (r resolution) String() string { return r.Payment + " as " + plain(r.As) }

// plain returns a value of the API as text for people.
func plain(value string) string { return strings.ReplaceAll(value, "_", " ") }

// effect describes what the resolution does.
func (r resolution) effect() string {
	paid := r.As == api.ResolvePaid
	const retry = "The payout fails. Its money is available again, and it can be retried under the same end-to-end id."
	switch r.Status {
	case Pending, Processing:
		if paid {
			return "The payout is completed."
		}
		return retry
	case Failed, Cancelled:
		if paid {
			return "The payout is completed. Its money is taken from the account."
		}
	case Completed:
		if !paid {
			return retry
		}
	}
	return "The payout stays " + r.Status + " and no longer needs attention."
}

func (r resolution) changes(after string) (changes audit.Changes) {
	changes.Add("status", r.Status, after)
	changes.Add("attention", r.Attention, nil)
	changes.Add("resolved", nil, r.As)
	changes.Add("evidence", nil, r.Evidence)
	changes.Add("end_to_end_id", nil, r.EndToEndID)
	return changes
}

// ofSandbox reports whether a resolution moves no real money. The row of a payout alone does not decide that: the code of its terms covers
// the mode. The resolution of a payout that was not sent moves nothing.
func ofSandbox(tx *db.Tx, last *attempt, number string) (bool, error) {
	if !last.payout.sandbox() || last.neverSent() {
		return last.payout.sandbox(), nil
	}
	_, err := (&draft{Payout: *last.payout, number: number}).asReserved(tx)
	var f *fault.Fault
	if errors.As(err, &f) {
		return false, nil
	}
	return err == nil, err
}

// askToResolve requests the approval of a resolution, if it needs one. The approval replaces one that waits.
func (s *Service) askToResolve(tx *db.Tx, by db.Caller, last *attempt, number string, r resolution) (approvalID string, err error) {
	if alone, err := ofSandbox(tx, last, number); err != nil || alone {
		return "", err
	}
	p := last.payout
	people, err := access.ObserveSecondPerson(tx, access.Payouts, p.WorkspaceID)
	if err != nil {
		return "", err
	}
	if _, err := approval.VoidKind(tx, by, KindResolve, p.ID, "another resolution was requested"); err != nil {
		return "", err
	}
	return s.approvals.AskToRelease(tx, by, people, approval.Request{Kind: KindResolve, Mode: p.Mode, WorkspaceID: p.WorkspaceID, Workspace: p.WorkspaceNumber,
		SubjectID: p.ID, Version: p.Version, Payload: r})
}

// voidResolutions ends approvals of resolutions whose payouts have changed.
func (c *change) voidResolutions(tx *db.Tx) error {
	changed := map[string]bool{}
	for id, was := range c.marked {
		changed[id] = was
	}
	for _, a := range c.attempts {
		if a.payout.Attention != "" && a.standing() != a.was {
			changed[a.payout.ID] = true
		}
	}
	for id, is := range changed {
		if !is {
			continue
		}
		if _, err := approval.VoidKind(tx, db.SystemCaller(), KindResolve, id, staleResolution); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) resolveKind() approval.Kind {
	return approval.KindOf[resolution]{
		Kind: approval.Kind{
			Name: KindResolve, Read: access.PayoutsRead, Make: access.PayoutsApprove, Pair: access.Payouts, Mail: mail.APayoutResolution,
			Actions: approval.Actions(audit.PayoutResolved, audit.PayoutResolveRejected,
				audit.PayoutResolveWithdrawn, audit.PayoutResolveExpired),
			Lock: func(tx *db.Tx, a approval.Approval) error {
				_, err := lockLast(tx, a.SubjectID)
				return err
			},
		},
		Apply: func(tx *db.Tx, a approval.Approval, r resolution) (audit.Changes, string, error) {
			last, err := lockLast(tx, a.SubjectID)
			if err == nil && r.Subject != subjectOf(last) {
				err = fault.New(api.CodeApprovalChanged, staleResolution+": look at it again")
			}
			if err != nil {
				return nil, "", err
			}
			after, err := s.resolved(tx, last, r.As)
			if err != nil {
				return nil, "", err
			}
			return r.changes(after.Status), "the resolution of " + r.String(), nil
		},
		Drop: func(_ *db.Tx, _ approval.Approval, r resolution) (changes audit.Changes, of string, err error) {
			changes.Add("evidence", nil, r.Evidence)
			return changes, "the resolution of " + r.String(), nil
		},
		Show: func(r resolution, _ bool) (string, []api.ApprovalField) {
			return "Resolve " + r.String(), []api.ApprovalField{
				{Field: "resolved", After: plain(r.As)},
				{Field: "evidence", After: r.Evidence},
				{Field: "result", After: r.effect()},
				{Field: "status", After: r.Status},
				{Field: "attention", After: plain(r.Attention)},
				{Field: "settlement_rail", After: r.Rail},
				{Field: "end_to_end_id", After: r.EndToEndID},
			}
		},
	}.Decoding()
}

// resolutionWaits returns the approval that a resolution of a payout waits for, or "".
func resolutionWaits(q db.Q, p Payout) (id string, err error) {
	if p.Attention == "" {
		return "", nil
	}
	_, err = q.Row(`SELECT id FROM approval WHERE subject_id = $1 AND state = 'pending' AND kind = $2`, p.ID, KindResolve).Scan(&id)
	return id, err
}
