package payout

import (
	"cmp"
	"context"
	"errors"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/ledger"
	"bursar/internal/payout/control"
	"bursar/internal/web"
)

// response returns the response to a request that may have created a payout.
func response(d *draft) web.Created[api.Payout] {
	return web.Created[api.Payout]{Value: wire(d.Payout, d.number), Existing: d.existed}
}

// Create stores a draft or submits the payout. If a payout with the same external id exists and all parameters are the same, it returns
// that payout.
func (s *Service) Create(ctx context.Context, by db.Caller, in CreateInput) (web.Created[api.Payout], error) {
	a, workspace, err := s.source(ctx, by, in.SourceAccountID, access.PayoutsCreate)
	if err == nil {
		err = inCurrency(a, in.Currency)
	}
	if err != nil {
		return web.Created[api.Payout]{}, err
	}
	publish := in.Status == nil || *in.Status != api.PayoutDraft
	defer s.wake()
	return retryOnConflict(func() (web.Created[api.Payout], error) {
		d := s.newDraft(by, a, workspace, in.PayoutTerms)
		if err := s.matchExternalIDs(ctx, []*draft{d}, publish); err != nil {
			return web.Created[api.Payout]{}, err
		}
		if len(d.faults) == 0 && !d.existed {
			if err := s.check(ctx, by, a, []*draft{d}, publish); err != nil {
				return web.Created[api.Payout]{}, err
			}
		}
		if len(d.faults) > 0 {
			return web.Created[api.Payout]{}, d.faults[0]
		}
		if publish && !d.existed && d.need.Approvals == 0 {
			return s.hot.Write(ctx, a.ID, by, funded{a, d})
		}
		return db.Write(ctx, s.db, by, func(tx *db.Tx) (web.Created[api.Payout], audit.Event, error) {
			d := *d // it may run more than once
			switch {
			case d.existed:
				return response(&d), audit.None("the payout was there"), nil
			case !publish:
				d.Status, d.SendAt, d.ExpectedAt = Draft, 0, 0
				return response(&d), d.createdEvent(audit.PayoutCreated, "Wrote down a draft:", ""), store(tx, &d)
			}
			refused, err := s.publish(tx, by, a, []*draft{&d})
			if err == nil {
				err = refused[0]
			}
			return response(&d), d.createdEvent(audit.PayoutCreated, "Asked to pay", ""), err
		})
	})
}

// funded is a checked payout that needs no approval, and the account that pays it.
type funded struct {
	from ledger.Account
	*draft
}

// createTogether creates payouts of one account that need no approval.
func (s *Service) createTogether(tx *db.Tx, list []db.Request[funded]) ([]db.Result[web.Created[api.Payout]], error) {
	drafts := make([]*draft, len(list))
	for i, one := range list {
		d := *one.In.draft // it may run more than once
		drafts[i] = &d
	}
	refused, err := s.publish(tx, db.Caller{}, list[0].In.from, drafts)
	if err != nil {
		return nil, err
	}
	results := make([]db.Result[web.Created[api.Payout]], len(list))
	for i, d := range drafts {
		results[i] = db.Result[web.Created[api.Payout]]{Out: response(d), Event: d.createdEvent(audit.PayoutCreated, "Asked to pay", ""), Err: refused[i]}
	}
	return results, nil
}

// maxTries bounds how often payouts are checked again because of others that were created at the same moment.
const maxTries = 10

// retryOnConflict retries a function that creates payouts if others were created at the same moment. Those may have the same external id, and are
// found then. They may also be of the same payee or requester, so that the payout needs more approvals.
func retryOnConflict[T any](do func() (T, error)) (out T, err error) {
	for range maxTries {
		if out, err = do(); !db.IsUnique(err) && !errors.Is(err, control.ErrSumsMoved) {
			break
		}
	}
	return out, err
}

func inCurrency(a ledger.Account, currency string) error {
	if a.Currency != currency {
		return fault.Invalid("currency", "must be that of the account: "+a.Currency)
	}
	return nil
}

// Validate returns what the result of a payout request would be, with all its faults. It changes nothing, does not call the screening, and
// counts for no limit.
func (s *Service) Validate(ctx context.Context, by db.Caller, in CreateInput) (api.PayoutRehearsal, error) {
	a, workspace, err := s.source(ctx, by, in.SourceAccountID, access.PayoutsCreate)
	if err != nil {
		return api.PayoutRehearsal{}, err
	}
	d := s.newDraft(by, a, workspace, in.PayoutTerms)
	if err := s.matchExternalIDs(ctx, []*draft{d}, true); err != nil {
		return api.PayoutRehearsal{}, err
	}
	if !d.existed {
		if err := d.refuse(inCurrency(a, in.Currency)); err != nil {
			return api.PayoutRehearsal{}, err
		}
		if err := s.evaluate(ctx, by, a, []*draft{d}, nil); err != nil {
			return api.PayoutRehearsal{}, err
		}
	}
	out := api.PayoutRehearsal{Valid: len(d.faults) == 0, Faults: []api.PayoutFault{}, SettlementRail: d.Rail, RailReason: d.RailWhy,
		SendAt: d.SendAt, ExpectedAt: d.ExpectedAt, ApprovalsNeeded: d.need.Approvals, ApprovalReason: cmp.Or(d.need.Why, d.ApprovalWhy)}
	for _, err := range d.faults {
		out.Faults = append(out.Faults, faultOf(err))
	}
	return out, nil
}

// faultOf returns an error as a fault of an API response.
func faultOf(err error) api.PayoutFault {
	var f *fault.Fault
	if !errors.As(err, &f) {
		return api.PayoutFault{Code: api.CodeInternal, Message: "internal error"}
	}
	return api.PayoutFault{Code: f.Code, Message: f.Message, Details: f.Details}
}
