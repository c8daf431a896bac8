package payout

import (
	"context"
	"errors"
	"fmt"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/ledger"
	"bursar/internal/rail"
)

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
		a = &attempt{Number: p.Attempts + 1, EndToEndID: EndToEndID(id, p.Attempts+1), State: rail.NotReceived, Submission: 1,
			Accepted: unidentified, CreatedAt: p.CreatedAt}
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
	case as == api.ResolveNotPaid && last.open() && last.Accepted == 0 && now < last.ClaimedAt+(sendWindow+2*MaxSkew).Milliseconds():
		return refused("a server may still be sending the payout: try again in a minute")
	case as == api.ResolveNotPaid && p.Status == Completed && last.SettledAt != 0:
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
	last.Resolved, last.AnsweredAt = as, c.now
	if last.State = rail.Completed; as == api.ResolveNotPaid {
		last.State, last.NotPaid = rail.NotReceived, last.Submission
	}
	p.Attempts = last.Number
	if last.ID != "" {
		c.attempts[last.ID] = last
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
	if last.ID == "" && last.Resolved != "" {
		last.ClaimedAt = c.now
		if err := last.insert(tx); err != nil {
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

// reservedFor returns the money of payouts.
func reservedFor(list []*Payout) (all []ledger.Reserved) {
	for _, p := range list {
		all = append(all, p.reserved())
	}
	return all
}
