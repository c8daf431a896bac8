package payout

import (
	"cmp"
	"context"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/ledger"
	"bursar/internal/payout/control"
)

// wrongState returns the fault for a payout whose state does not allow a step.
func wrongState(p Payout, step string) error {
	return &fault.Fault{Code: api.CodePayoutState, Message: "the payout is " + p.Status + ": it cannot be " + step, Details: api.PayoutStateDetails{Status: p.Status}}
}

// notContradicted returns a fault if a rail's answers about a payout conflict: it may have been paid, so paying it again may pay it twice.
func notContradicted(p Payout) error {
	if p.Attention != Contradicted {
		return nil
	}
	return &fault.Fault{Code: api.CodePayoutState, Details: api.PayoutStateDetails{Status: p.Status},
		Message: "the rail contradicts itself about this payout, so it may have been paid: ask the bank, and resolve the payout as paid or not paid"}
}

// change performs a step with a payout that is in one of the given states. The function gets the locked payout.
func (s *Service) change(ctx context.Context, by db.Caller, p Payout, step string, from []string,
	do func(tx *db.Tx, d *draft) (audit.Event, error)) (api.Payout, error) {
	if !slices.Contains(from, p.Status) {
		return api.Payout{}, wrongState(p, step)
	}
	if err := s.vault.Ready(ctx, p.WorkspaceNumber); err != nil {
		return api.Payout{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Payout, audit.Event, error) {
		if p.Batch != "" {
			if err := lockBatch(tx, p.Batch); err != nil {
				return api.Payout{}, audit.Event{}, err
			}
		}
		now, err := lock(tx, p.ID)
		if err == nil && !slices.Contains(from, now.Status) {
			err = wrongState(now, step)
		}
		if err != nil {
			return api.Payout{}, audit.Event{}, err
		}
		number, err := number(s.vault, now)
		if err != nil {
			return api.Payout{}, audit.Event{}, err
		}
		d := &draft{Payout: now, number: number}
		event, err := do(tx, d)
		if err == nil && now.Attention != "" {
			_, err = approval.VoidKind(tx, by, KindResolve, p.ID, staleResolution)
		}
		if err != nil {
			return api.Payout{}, event, err
		}
		return wire(d.Payout, d.number), event, nil
	})
}

// changed returns the fault for a payout that was changed between its check and its lock.
func changed() error {
	return fault.New(api.CodePayoutState, "the payout has just been changed: look at it again")
}

// Update changes a draft.
func (s *Service) Update(ctx context.Context, by db.Caller, in UpdateInput) (api.Payout, error) {
	p, after, a, err := s.reopen(ctx, by, in.ID)
	if err == nil && p.Status != Draft {
		err = wrongState(p, "changed: only a draft can")
	}
	if err != nil {
		return api.Payout{}, err
	}
	set(&after.Amount, in.AmountCents)
	set(&after.Description, in.Description)
	set(&after.RailAsked, in.SettlementRail)
	after.setDestination(in.ReceivingMethodID, in.SettlementAccount)
	if err := s.check(ctx, by, a, []*draft{after}, false); err != nil {
		return api.Payout{}, err
	}
	if len(after.faults) > 0 {
		return api.Payout{}, after.faults[0]
	}
	after.Status, after.SendAt, after.ExpectedAt = Draft, 0, 0
	after.Version++
	return s.change(ctx, by, p, "changed", []string{Draft}, func(tx *db.Tx, d *draft) (audit.Event, error) {
		if d.Version != p.Version {
			return audit.Event{}, changed()
		}
		e := after.event(audit.PayoutUpdated, "Changed a draft:")
		e.Changes.Add("amount_cents", d.Amount, after.Amount)
		e.Changes.Add("description", d.Description, after.Description)
		e.Changes.Add("settlement_rail", d.Rail, after.Rail)
		e.Changes.Add("receiving_method_id", d.MethodID, after.MethodID)
		e.Changes.Add("bank_account_name", d.AccountName, after.AccountName)
		e.Changes.AddMasked("bank_account_number", d.number, after.number)
		e.Changes.Add("bank_code", d.Institution, after.Institution)
		if len(e.Changes) == 0 {
			return audit.None("nothing changed"), nil
		}
		*d = *after
		return e, store(tx, d)
	})
}

// reopen finds a payout that is checked again, and returns it as stored and as a draft.
func (s *Service) reopen(ctx context.Context, by db.Caller, id string) (p Payout, d *draft, a ledger.Account, err error) {
	if p, _, err = s.authorize(ctx, by, id, access.PayoutsCreate); err != nil {
		return p, nil, a, err
	}
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		a, err = ledger.FindAccount(q, p.AccountID)
		return err
	})
	d = &draft{Payout: p}
	d.KeyID = cmp.Or(by.KeyID, p.KeyID)
	if err == nil {
		d.number, err = number(s.vault, p)
	}
	return p, d, a, err
}

// Publish checks a draft and submits it.
func (s *Service) Publish(ctx context.Context, by db.Caller, in Input) (api.Payout, error) {
	return s.goOn(ctx, by, in.ID, step{name: "published", from: Draft, action: audit.PayoutPublished, text: "Asked to pay"})
}

// Retry submits a failed payout again, by the same rail. Earlier approvals count if they are recent, would still be enough, and were given
// by people who may still approve. Otherwise approval is requested again.
func (s *Service) Retry(ctx context.Context, by db.Caller, in Input) (api.Payout, error) {
	return s.goOn(ctx, by, in.ID, step{name: "retried: only one that failed can", from: Failed, action: audit.PayoutRetried, text: "Asked to pay once more",
		before: func(tx *db.Tx, was, d *draft) error {
			if _, err := was.asReserved(tx); err != nil {
				return err
			}
			if err := was.notOpen(tx.Q); err != nil {
				return err
			}
			if err := was.unpaid(tx); err != nil {
				return err
			}
			holds, err := approval.Holds(tx, access.Payouts, d.ApprovalID, d.need.Approvals, d.need.Role, d.need.KeysMay)
			d.ApprovalsNeeded = int64(d.need.Approvals)
			d.TermsMAC = nil
			if holds && was.sameTerms(d) {
				d.need = control.Need{Why: "it was approved before"}
			}
			d.Version++
			d.FailureCode, d.FailureReason, d.FailureText, d.EndedAt = "", "", "", 0
			return err
		}})
}

// step describes how a payout continues from a state.
type step struct {
	name, from string
	action     audit.Action
	text       string
	before     func(tx *db.Tx, was, d *draft) error // changes it before it is published; nil for no change
}

// goOn checks a payout again and publishes it.
func (s *Service) goOn(ctx context.Context, by db.Caller, id string, to step) (api.Payout, error) {
	return retryOnConflict(func() (api.Payout, error) { return s.tryToGoOn(ctx, by, id, to) })
}

func (s *Service) tryToGoOn(ctx context.Context, by db.Caller, id string, to step) (api.Payout, error) {
	p, checked, a, err := s.reopen(ctx, by, id)
	if err == nil && p.Status != to.from {
		err = wrongState(p, to.name)
	}
	if err == nil {
		err = s.notRecovered(ctx, checked)
	}
	if err != nil {
		return api.Payout{}, err
	}
	if p.Status == Failed {
		checked.RailAsked = p.Rail
	}
	if err := s.check(ctx, by, a, []*draft{checked}, true); err != nil {
		return api.Payout{}, err
	}
	if len(checked.faults) > 0 {
		return api.Payout{}, checked.faults[0]
	}
	if p.Status == Failed {
		checked.RailAsked, checked.RailWhy = p.RailAsked, p.RailWhy
	}
	defer s.wake()
	return s.change(ctx, by, p, to.name, []string{to.from}, func(tx *db.Tx, d *draft) (audit.Event, error) {
		if d.Version != p.Version || d.Attempts != p.Attempts {
			return audit.Event{}, changed()
		}
		if err := notContradicted(d.Payout); err != nil { // in its current state, not that of the check
			return audit.Event{}, err
		}
		was := *d
		*d = *checked
		if to.before != nil {
			if err := to.before(tx, &was, d); err != nil {
				return audit.Event{}, err
			}
		}
		refused, err := s.publish(tx, by, a, []*draft{d})
		if err == nil {
			err = refused[0]
		}
		return d.createdEvent(to.action, to.text, to.from), err
	})
}

// Cancel cancels a payout that was not handed to its rail.
func (s *Service) Cancel(ctx context.Context, by db.Caller, in CancelInput) (api.Payout, error) {
	p, _, err := s.authorize(ctx, by, in.ID, access.PayoutsCreate)
	if err != nil {
		return api.Payout{}, err
	}
	return s.change(ctx, by, p, "cancelled", []string{Draft, Initiated, Pending}, func(tx *db.Tx, d *draft) (audit.Event, error) {
		e := d.event(audit.PayoutCancelled, "Cancelled the payout of")
		e.Changes.Add("status", d.Status, Cancelled)
		e.Changes.Add("reason", nil, in.Reason)
		switch d.Status {
		case Initiated:
			if err := s.voidApproval(tx, by, d.Payout); err != nil {
				return e, err
			}
			if err := s.rules.DiscountSums(tx, d.spending()); err != nil {
				return e, err
			}
		case Pending:
			if err := d.notOpen(tx.Q); err != nil {
				return e, err
			}
			if d.Attention == Recheck {
				if err := endHold(tx, by, d.Payout, "the payout was cancelled"); err != nil {
					return e, err
				}
			}
			if err := s.release(tx, d); err != nil {
				return e, err
			}
		}
		if _, err := cancel(tx, d.ID, d.Status, in.Reason); err != nil {
			return e, err
		}
		var err error
		d.Payout, err = Find(tx.Q, d.ID)
		return e, err
	})
}

// voidApproval voids the approval of a cancelled payout. The approval of a batch stays for the other payouts, if there are any.
func (s *Service) voidApproval(tx *db.Tx, by db.Caller, p Payout) error {
	const why = "the payout was cancelled"
	if _, err := approval.VoidKind(tx, by, KindResolve, p.ID, why); err != nil {
		return err
	}
	voided, err := s.approvals.Void(tx, by, p.ID, why)
	if err != nil || voided || p.Batch == "" {
		return err
	}
	others, err := tx.Row(`SELECT id FROM payout WHERE batch_id = $1 AND status = 'initiated' AND id <> $2 LIMIT 1`, p.Batch, p.ID).Scan(new(string))
	if err == nil && !others {
		_, err = s.approvals.Void(tx, by, p.Batch, why)
	}
	return err
}
