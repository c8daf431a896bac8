package payout

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/ledger"
	"bursar/internal/mail"
	"bursar/internal/rail"
)

// KindResolve is the kind of approvals of resolutions.
const KindResolve = "payout_resolve"

// staleResolution is why an approval of a resolution is void.
const staleResolution = "the payout has changed since this was asked for"

// standing is what an attempt means to people who resolve its payout. It does not change when a rail is asked without result.
type standing struct {
	state                         rail.State // the state of an attempt that has ended
	submission, accepted, notPaid int64
	settled                       bool
	resolved                      string
}

func (a *attempt) standing() standing {
	s := standing{submission: a.submission, accepted: a.accepted, notPaid: a.notPaid, settled: a.settledAt != 0, resolved: a.resolved}
	if !a.open() {
		s.state = a.state
	}
	return s
}

// waits reports whether the attempt will be submitted again because the rail has not received it.
func (a *attempt) waits() bool {
	return a.state == rail.NotReceived && a.resolved == "" && a.payout.Status == Pending
}

// neverSent reports whether the store has no attempt of a payout that is not pending yet.
func (a *attempt) neverSent() bool {
	return a.id == "" && (a.payout.Status == Draft || a.payout.Status == Initiated)
}

// outcome describes how the attempt has ended, for messages.
func (a *attempt) outcome() string {
	if a.resolved != "" {
		return "resolved as " + plain(a.resolved)
	}
	return string(a.state)
}

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
		Payment: p.to(number), Rail: p.Rail, EndToEndID: last.endToEndID}
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

// lockLast locks a payout and its last attempt, in the order of the dispatcher. A payout that was never sent has an attempt
// without id: after a restore its rail may have one that the store does not know.
func lockLast(tx *db.Tx, id string) (*attempt, error) {
	p, err := Find(tx.Q, id)
	if err != nil {
		return nil, err
	}
	name := EndToEndID(id, p.Attempts)
	found, err := findAttempts(tx.Q, []any{name}, tx.ForUpdate)
	if err != nil {
		return nil, err
	}
	if p, err = lock(tx, id); err != nil {
		return nil, err
	}
	if now := EndToEndID(id, p.Attempts); now != name { // it was claimed meanwhile
		name = now
		if found, err = findAttempts(tx.Q, []any{name}, tx.ForUpdate); err != nil {
			return nil, err
		}
	}
	a := found[name]
	if a == nil {
		a = &attempt{number: p.Attempts + 1, endToEndID: EndToEndID(id, p.Attempts+1), state: rail.NotReceived, submission: 1,
			accepted: unidentified, createdAt: p.CreatedAt}
	}
	a.payout = &p
	return a, nil
}

// checkResolve returns a fault if a payout cannot be resolved as paid or as not paid.
func checkResolve(now int64, last *attempt, as string) error {
	p := *last.payout
	refused := func(format string, args ...any) error {
		return &fault.Fault{Code: api.CodePayoutState, Message: fmt.Sprintf(format, args...), Details: api.PayoutStateDetails{Status: p.Status}}
	}
	switch {
	case p.Attention != Contradicted && p.Attention != OutcomeUnknown:
		return refused("the payout is %s, and there is nothing to resolve", p.Status)
	case as == api.ResolvePaid && (p.Status == Draft || p.Status == Initiated):
		return refused("the payout is %s, and could be paid once more: cancel it, and then resolve it as paid", p.Status)
	case as == api.ResolveNotPaid && last.open() && last.accepted == 0 && now < last.claimedAt+(sendWindow+2*MaxSkew).Milliseconds():
		return refused("a server may still be sending the payout: try again in a minute")
	case as == api.ResolveNotPaid && p.Status == Completed && last.settledAt != 0:
		return refused("the bank's statement shows that the payout was paid: wait until the bank returns it")
	}
	return nil
}

// resolve applies what people have determined about a payout and its last attempt.
func (c *change) resolve(last *attempt, as string) {
	p := last.payout
	c.touch(p)
	inLedger := p.isReserved()
	switch {
	case as == api.ResolvePaid && (p.Status == Pending || p.Status == Processing):
		if inLedger {
			c.complete = append(c.complete, p.reserved())
		}
		c.become(p, Completed)
	case as == api.ResolvePaid && (p.Status == Failed || p.Status == Cancelled):
		p.ReservedAt = c.now
		c.pay = append(c.pay, p)
		c.become(p, Completed)
	case as == api.ResolveNotPaid && (p.Status == Pending || p.Status == Processing):
		if inLedger {
			c.release = append(c.release, p)
		}
		c.notPaid(p)
	case as == api.ResolveNotPaid && p.Status == Completed:
		if inLedger {
			c.reopen = append(c.reopen, p)
		}
		c.notPaid(p)
	}
	if p.Status == Completed {
		p.FailureCode, p.FailureReason, p.FailureText = "", "", ""
	}
	p.Attention, p.UpdatedAt = "", c.now
	if p.Status == Reversed || last.neverSent() {
		return // the resolution is about no attempt
	}
	last.resolved, last.answeredAt = as, c.now
	if last.state = rail.Completed; as == api.ResolveNotPaid {
		last.state, last.notPaid = rail.NotReceived, last.submission
	}
	p.Attempts = last.number
	if last.id != "" {
		c.attempts[last.id] = last
	}
}

// notPaid ends a payout that was sent or completed and that people have determined not to be paid.
func (c *change) notPaid(p *Payout) {
	c.become(p, Failed)
	p.FailureCode, p.FailureReason, p.FailureText = string(api.CodeProcessingFailed), "", "resolved as not paid"
}

// unlikeLedger returns what the ledger holds for a payout whose row was changed in the store and differs from that. The money is released
// if the payout was not paid. Resolving the payout as paid is refused. It returns nil for any other payout.
func unlikeLedger(tx *db.Tx, p *Payout, as string) ([]ledger.Reserved, error) {
	if p.Status == Completed && as == api.ResolveNotPaid {
		all, err := ledger.Held(tx.Q, tx.Integrity(), []any{p.ID})
		if why := p.notInLedger(tx.Integrity(), all[p.ID]); err == nil && why != "" {
			err = &fault.Fault{Code: api.CodePayoutState, Details: api.PayoutStateDetails{Status: p.Status},
				Message: "the payout was changed in the store: " + why}
		}
		return nil, err
	}
	if p.Status != Pending && p.Status != Processing || !p.isReserved() {
		return nil, nil
	}
	held, forged, err := p.held(tx)
	switch {
	case err == nil && forged:
		return nil, p.forgedLedger()
	case err != nil || held == p.reserved():
		return nil, err
	case as == api.ResolvePaid:
		return nil, &fault.Fault{Code: api.CodePayoutState, Details: api.PayoutStateDetails{Status: p.Status},
			Message: "the ledger holds " + api.FormatAmount(held.Amount, p.Currency) + " for this payout, because it was changed in the store: it can only be resolved as not paid"}
	case held.Amount > 0:
		return []ledger.Reserved{held}, nil
	}
	return []ledger.Reserved{}, nil
}

// resolved stores a resolution, and returns the payout after it.
func (s *Service) resolved(tx *db.Tx, last *attempt, as string) (*Payout, error) {
	if err := checkResolve(tx.Now(), last, as); err != nil {
		return nil, err
	}
	c := newChange(tx.Now(), nil)
	forged, err := unlikeLedger(tx, last.payout, as)
	if err != nil {
		return nil, err
	}
	was := draft{Payout: *last.payout}
	if c.resolve(last, as); forged != nil {
		c.release, c.forged = nil, forged
	}
	if last.id == "" && last.resolved != "" {
		if err := tx.Exec(`INSERT INTO payout_attempt (id, payout_id, number, end_to_end_id, state, code, text, reference, node, ask_at, asked,
				created_at, claimed_at, answered_at, settled_at, submission, accepted, resolved, not_paid)
			VALUES ($1, $2, $3, $4, $5, '', '', '', '', 0, 0, $6, $7, $7, 0, $8, $9, $10, $11)`,
			tx.NewID("att"), last.payout.ID, last.number, last.endToEndID, string(last.state), last.createdAt, c.now, last.submission,
			last.accepted, last.resolved, last.notPaid); err != nil {
			return nil, err
		}
	}
	if err := c.store(tx, s.rules); err != nil {
		return nil, err
	}
	return last.payout, s.recode(tx, &was, last.payout)
}

// recode gives a payout that was reserved again, and completed immediately, the code of that reservation.
func (s *Service) recode(tx *db.Tx, was *draft, now *Payout) (err error) {
	if now.ReservedAt == was.ReservedAt || len(was.TermsMAC) == 0 {
		return nil
	}
	if was.number, err = number(s.vault, was.Payout); err != nil {
		return err
	}
	pays, err := was.asReserved(tx)
	var f *fault.Fault
	if errors.As(err, &f) {
		return nil // it was changed in the store, and is not retried
	}
	if err != nil {
		return err
	}
	return tx.Exec(`UPDATE payout SET terms_mac = $2 WHERE id = $1`, now.ID, now.termsCode(tx.Integrity(), was.number, pays))
}

// authorizeResolve requires that the caller may approve payouts or create them. Denied is why a caller who may only create them cannot
// resolve one without an approval.
func (s *Service) authorizeResolve(ctx context.Context, by db.Caller, id string) (p Payout, denied, err error) {
	p, _, denied = s.authorize(ctx, by, id, access.PayoutsApprove)
	var f *fault.Fault
	if !errors.As(denied, &f) || f.Code != api.CodeForbidden {
		return p, nil, denied
	}
	held, err := s.authority.Permissions(ctx, by.Actor, p.WorkspaceID)
	if err == nil && !held.Has(access.PayoutsCreate) {
		err = denied
	}
	return p, denied, err
}

// Resolve settles whether a payout that needs attention was paid. A live payout takes two people, where there are two. One may approve or
// create payouts, the other may approve them, and the resolution waits for an approval.
func (s *Service) Resolve(ctx context.Context, by db.Caller, in ResolveInput) (api.Payout, error) {
	p, denied, err := s.authorizeResolve(ctx, by, in.ID)
	if err == nil {
		err = s.vault.Ready(ctx, p.WorkspaceNumber)
	}
	if err != nil {
		return api.Payout{}, err
	}
	done, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (out approval.Outcome[api.Payout], event audit.Event, err error) {
		last, err := lockLast(tx, p.ID)
		if err == nil {
			err = checkResolve(tx.Now(), last, in.As)
		}
		if err != nil {
			return out, event, err
		}
		number, err := number(s.vault, *last.payout)
		if err != nil {
			return out, event, err
		}
		r := resolutionOf(last, number, in.PayoutResolve)
		if out.ApprovalID, err = s.askToResolve(tx, by, last, number, r); err != nil {
			return out, event, err
		}
		if out.ApprovalID == "" && denied != nil {
			return out, event, denied
		}
		if out.ApprovalID != "" {
			event = audit.Event{Action: audit.PayoutResolveRequested, WorkspaceID: p.WorkspaceID, ResourceID: p.ID,
				Description: "Requested to resolve " + r.String()}
			event.Changes.Add("resolved", nil, r.As)
			event.Changes.Add("evidence", nil, r.Evidence)
			event.Changes.Add("approval_id", nil, out.ApprovalID)
			return out, event, nil
		}
		after, err := s.resolved(tx, last, in.As)
		if err != nil {
			return out, event, err
		}
		out.Answer = wire(*after, number)
		return out, audit.Event{Action: audit.PayoutResolved, WorkspaceID: p.WorkspaceID, ResourceID: p.ID, Description: "Resolved " + r.String(),
			Changes: r.changes(after.Status)}, identity.StillHolds(tx, by, p.WorkspaceID, access.PayoutsApprove)
	})
	if err != nil {
		return api.Payout{}, err
	}
	return done.Result()
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

// reservedFor returns the money of payouts.
func reservedFor(list []*Payout) (all []ledger.Reserved) {
	for _, p := range list {
		all = append(all, p.reserved())
	}
	return all
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
