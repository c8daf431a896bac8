package payout

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/budget"
	"bursar/internal/db"
	"bursar/internal/directory"
	"bursar/internal/fault"
	"bursar/internal/institution"
	"bursar/internal/ledger"
	"bursar/internal/rail"
	"bursar/internal/vault"
	"bursar/internal/web"
)

// Service keeps payout requests: who asks for them, who allows them, and what they become before
// a rail has them.
type Service struct {
	db        *db.DB
	vault     *vault.Vault
	authority *access.Authority
	cursors   *web.Cursors
	approvals *approval.Service
	directory *directory.Service
	rails     *rail.Rails
	rules     *Rules
	wake      func()
}

// New makes the service. It calls wake when there may be something to send.
func New(d *db.DB, v *vault.Vault, a *access.Authority, c *web.Cursors, approvals *approval.Service, dir *directory.Service, rails *rail.Rails, rules *Rules,
	wake func()) *Service {
	s := &Service{db: d, vault: v, authority: a, cursors: c, approvals: approvals, directory: dir, rails: rails, rules: rules, wake: wake}
	for _, kind := range s.kinds() {
		approvals.Register(kind)
	}
	return s
}

// source finds the account that pays, and requires a permission in its workspace. It does the same
// work for an account that does not exist.
func (s *Service) source(ctx context.Context, by db.Caller, accountID string, need access.Permission) (a ledger.Account, workspace int64, err error) {
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		a, err = ledger.FindAccount(q, accountID)
		return err
	})
	if err == nil {
		workspace, err = s.authority.Enter(ctx, by.Actor, a.WorkspaceID, need)
	}
	return a, workspace, fault.Instead(err, fault.ResourceNotFound, fault.Missing("account"))
}

// may finds a payout and requires a permission in its workspace. It does the same work for a payout
// that does not exist.
func (s *Service) may(ctx context.Context, by db.Caller, id string, need access.Permission) (p Payout, held access.Set, err error) {
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		p, err = find(q, id)
		return err
	})
	if err == nil {
		held, err = s.authority.Held(ctx, by.Actor, p.WorkspaceID, need)
	}
	return p, held, fault.Instead(err, fault.ResourceNotFound, fault.Missing("payout request"))
}

// wire is a payout as the API tells it. Its account number is masked.
func wire(p Payout, number string) api.Payout {
	out := api.Payout{
		ID: p.ID, WorkspaceID: p.WorkspaceID, SourceAccountID: p.AccountID, AmountCents: p.Amount, Currency: p.Currency, Mode: p.Mode, Status: p.Status,
		ExternalID: p.ExternalID, Description: p.Description, SettlementRail: p.Rail, RailReason: p.RailWhy, EntryID: p.EntryID, ReceivingMethodID: p.MethodID,
		SettlementAccount: api.SettlementAccount{BankAccountName: p.AccountName, BankAccountNumber: audit.Mask(number), BankCode: p.Institution},
		BankName:          institution.Name(p.Institution), BatchID: p.Batch, MakerID: p.MakerID, ApprovalID: p.ApprovalID, ApprovalReason: p.ApprovalWhy,
		Attention: p.Attention, CancelReason: p.CancelReason, SendAt: p.SendAt, ExpectedAt: p.ExpectedAt, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
		EndedAt: p.EndedAt,
	}
	if p.FailureCode != "" {
		out.Failure = &api.PayoutFailure{Code: p.FailureCode, Reason: p.FailureReason, Message: p.FailureText}
	}
	return out
}

// shown opens the number of a payout and returns it as the API tells it.
func (s *Service) shown(p Payout) (api.Payout, error) {
	number, err := number(s.vault, p)
	return wire(p, number), err
}

// event is a row of the story of a payout.
func (d *draft) event(action audit.Action, text string) audit.Event {
	return audit.Event{Action: action, WorkspaceID: d.WorkspaceID, ResourceID: d.ID, Description: text + " " + d.to(d.number)}
}

// told is the event of a payout that was made, published or retried, with how it goes on.
func (d *draft) told(action audit.Action, text, before string) audit.Event {
	e := d.event(action, text)
	e.Changes.Add("status", before, d.Status)
	e.Changes.Add("source_account_id", nil, d.AccountID)
	e.Changes.Add("amount_cents", nil, d.Amount)
	e.Changes.Add("settlement_rail", nil, d.Rail)
	e.Changes.Add("receiving_method_id", nil, d.MethodID)
	e.Changes.Add("batch_id", nil, d.Batch)
	e.Changes.Add("approval_id", nil, d.ApprovalID)
	if d.Status != Draft {
		e.Description += ": " + d.ApprovalWhy
	}
	return e
}

// made is the answer to a request that may have made a payout.
func made(d *draft) web.Made[api.Payout] {
	return web.Made[api.Payout]{Of: wire(d.Payout, d.number), Found: d.existed}
}

// Create makes a payout: a draft, or one that is checked and goes as far as it can. With the
// external id of another it is that one, if all parameters are the same.
func (s *Service) Create(ctx context.Context, by db.Caller, in CreateInput) (web.Made[api.Payout], error) {
	a, workspace, err := s.source(ctx, by, in.SourceAccountID, access.PayoutsCreate)
	if err == nil {
		err = inCurrency(a, in.Currency)
	}
	if err != nil {
		return web.Made[api.Payout]{}, err
	}
	publish := in.Status == nil || *in.Status != api.PayoutDraft
	defer s.wake()
	return again(func() (web.Made[api.Payout], error) {
		d := s.newDraft(by, a, workspace, in.PayoutTerms)
		if err := s.known(ctx, []*draft{d}, publish); err != nil {
			return web.Made[api.Payout]{}, err
		}
		if len(d.faults) == 0 && !d.existed {
			if err := s.check(ctx, by, a, []*draft{d}, publish); err != nil {
				return web.Made[api.Payout]{}, err
			}
		}
		if len(d.faults) > 0 {
			return web.Made[api.Payout]{}, d.faults[0]
		}
		return db.Write(ctx, s.db, by, func(tx *db.Tx) (web.Made[api.Payout], audit.Event, error) {
			d := *d // it may run more than once
			switch {
			case d.existed:
				return made(&d), audit.None("the payout was there"), nil
			case !publish:
				d.Status, d.SendAt, d.ExpectedAt = Draft, 0, 0
				err := s.store(tx, &d)
				return made(&d), d.told(audit.PayoutCreated, "Wrote down a draft:", ""), err
			}
			refused, err := s.publish(tx, by, a, []*draft{&d})
			if err == nil {
				err = refused[0]
			}
			return made(&d), d.told(audit.PayoutCreated, "Asked to pay", ""), err
		})
	})
}

// again runs what makes payouts once more if somebody else has made one with the same external id at
// the same moment: then that one is found.
func again[T any](do func() (T, error)) (out T, err error) {
	for range 3 {
		if out, err = do(); !db.IsUnique(err) {
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

// Get returns a payout. If its account number is wanted in full, the log tells so.
func (s *Service) Get(ctx context.Context, by db.Caller, in GetInput) (api.Payout, error) {
	p, held, err := s.may(ctx, by, in.ID, access.PayoutsRead)
	if err != nil {
		return api.Payout{}, err
	}
	number, err := number(s.vault, p)
	if err != nil {
		return api.Payout{}, err
	}
	out := wire(p, number)
	err = s.db.Read(ctx, func(q db.Q) error {
		out.Attempts, err = attempts(q, p.ID)
		return err
	})
	if err != nil || in.Reveal == nil || *in.Reveal != "true" {
		return out, err
	}
	if !held.Has(access.ReceivingRead) {
		return out, fault.Denied(string(access.ReceivingRead), fault.Scope{WorkspaceID: p.WorkspaceID})
	}
	out.SettlementAccount.BankAccountNumber = number
	return out, s.reveal(ctx, by, draft{Payout: p, number: number})
}

// revealing is used up by the row that tells that a caller was shown the account number of a payout:
// whoever reads it again within the hour leaves no other.
func revealing(by db.Caller, p Payout) budget.Use {
	return budget.Kind{Name: "reveal", Burst: 1, Every: time.Hour}.Of(by.ID + " " + by.KeyID + " " + p.ID)
}

// reveal leaves the row. It is on disk before anybody sees the number.
func (s *Service) reveal(ctx context.Context, by db.Caller, d draft) error {
	_, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		untold, err := revealing(by, d.Payout).Take(tx)
		if err == nil && !untold {
			return struct{}{}, audit.None("a row of the last hour tells it"), nil
		}
		return struct{}{}, d.event(audit.PayoutRevealed, "Saw the account number of"), err
	})
	return err
}

// wrongState is the answer where a payout is in another state than a step needs.
func wrongState(p Payout, step string) error {
	return &fault.Fault{Code: fault.PayoutState, Message: "the payout is " + p.Status + ": it cannot be " + step, Details: api.PayoutStateDetails{Status: p.Status}}
}

// change lets somebody take a step with a payout that is in one of these states. The function gets
// the payout, which is locked.
func (s *Service) change(ctx context.Context, by db.Caller, p Payout, step string, from []string,
	do func(tx *db.Tx, d *draft) (audit.Event, error)) (api.Payout, error) {
	if !slices.Contains(from, p.Status) {
		return api.Payout{}, wrongState(p, step)
	}
	if err := s.vault.Ready(ctx, p.workspace); err != nil {
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
		if err != nil {
			return api.Payout{}, event, err
		}
		return wire(d.Payout, d.number), event, nil
	})
}

// changed is the answer where a payout was changed between being checked and being locked.
func changed() error {
	return fault.New(fault.PayoutState, "the payout has just been changed: look at it again")
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
	after.goTo(in.ReceivingMethodID, in.SettlementAccount)
	after.involve(by.ID)
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
		return e, s.store(tx, d)
	})
}

// reopen finds a payout that goes through the checks again: as it is, and as a draft.
func (s *Service) reopen(ctx context.Context, by db.Caller, id string) (p Payout, d *draft, a ledger.Account, err error) {
	if p, _, err = s.may(ctx, by, id, access.PayoutsCreate); err != nil {
		return p, nil, a, err
	}
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		a, err = ledger.FindAccount(q, p.AccountID)
		return err
	})
	d = &draft{Payout: p}
	if err == nil {
		d.number, err = number(s.vault, p)
	}
	return p, d, a, err
}

// Publish checks a draft and lets it go as far as it can.
func (s *Service) Publish(ctx context.Context, by db.Caller, in Input) (api.Payout, error) {
	return s.goOn(ctx, by, in.ID, step{name: "published", from: Draft, action: audit.PayoutPublished, text: "Asked to pay"})
}

// Retry lets a payout that failed be sent again, by the same rail. Who approved it has approved that,
// as long as their approval is not too old and would still be enough; otherwise it is asked for again.
func (s *Service) Retry(ctx context.Context, by db.Caller, in Input) (api.Payout, error) {
	return s.goOn(ctx, by, in.ID, step{name: "retried: only one that failed can", from: Failed, action: audit.PayoutRetried, text: "Asked to pay once more",
		before: func(tx *db.Tx, d *draft) error {
			holds, err := approval.Holds(tx, d.ApprovalID, d.need.Approvals, d.need.Role)
			if holds {
				d.need = Need{Why: "it was approved before"}
			}
			d.Version++
			d.FailureCode, d.FailureReason, d.FailureText, d.EndedAt = "", "", "", 0
			return err
		}})
}

// step lets a payout go on from a state.
type step struct {
	name, from string
	action     audit.Action
	text       string
	before     func(*db.Tx, *draft) error // changes it before it is published; nil for nothing
}

// goOn checks a payout again and publishes it.
func (s *Service) goOn(ctx context.Context, by db.Caller, id string, to step) (api.Payout, error) {
	p, checked, a, err := s.reopen(ctx, by, id)
	if err == nil && p.Status != to.from {
		err = wrongState(p, to.name)
	}
	if err != nil {
		return api.Payout{}, err
	}
	checked.involve(by.ID)
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
		*d = *checked
		if to.before != nil {
			if err := to.before(tx, d); err != nil {
				return audit.Event{}, err
			}
		}
		refused, err := s.publish(tx, by, a, []*draft{d})
		if err == nil {
			err = refused[0]
		}
		return d.told(to.action, to.text, to.from), err
	})
}

// Cancel takes a payout back that was not handed to its rail.
func (s *Service) Cancel(ctx context.Context, by db.Caller, in CancelInput) (api.Payout, error) {
	p, _, err := s.may(ctx, by, in.ID, access.PayoutsCreate)
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
		case Pending:
			if err := s.rules.GiveBack(tx, d.spending()); err != nil {
				return e, err
			}
			if err := ledger.Release(tx, []ledger.Reserved{d.reserved()}); err != nil {
				return e, err
			}
		}
		if _, err := cancel(tx, d.ID, d.Status, in.Reason); err != nil {
			return e, err
		}
		var err error
		d.Payout, err = find(tx.Q, d.ID)
		return e, err
	})
}

// voidApproval ends the approval of a payout that is cancelled. That of a batch goes on for the
// others, if there are any.
func (s *Service) voidApproval(tx *db.Tx, by db.Caller, p Payout) error {
	const why = "the payout was cancelled"
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

// Validate tells what would become of a payout request, with everything that speaks against it. It
// changes nothing, asks no screening and takes nothing of any limit.
func (s *Service) Validate(ctx context.Context, by db.Caller, in CreateInput) (api.PayoutRehearsal, error) {
	a, workspace, err := s.source(ctx, by, in.SourceAccountID, access.PayoutsCreate)
	if err != nil {
		return api.PayoutRehearsal{}, err
	}
	d := s.newDraft(by, a, workspace, in.PayoutTerms)
	if err := s.known(ctx, []*draft{d}, true); err != nil {
		return api.PayoutRehearsal{}, err
	}
	if !d.existed {
		if err := d.refuse(inCurrency(a, in.Currency)); err != nil {
			return api.PayoutRehearsal{}, err
		}
		if err := s.look(ctx, by, a, []*draft{d}); err != nil {
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

// faultOf is a fault as a part of an answer.
func faultOf(err error) api.PayoutFault {
	var f *fault.Fault
	if !errors.As(err, &f) {
		return api.PayoutFault{Code: string(fault.Internal), Message: "internal error"}
	}
	return api.PayoutFault{Code: string(f.Code), Message: f.Message, Details: f.Details}
}
