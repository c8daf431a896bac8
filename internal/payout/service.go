package payout

import (
	"context"
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
	"bursar/internal/payout/control"
	"bursar/internal/rail"
	"bursar/internal/vault"
	"bursar/internal/web"
)

// Service manages payout requests: who makes them, who approves them, and their states before a rail has them.
type Service struct {
	db        *db.DB
	vault     *vault.Vault
	authority *access.Authority
	cursors   *web.Cursors
	approvals *approval.Service
	directory *directory.Service
	rails     *rail.Rails
	rules     *control.Service
	holds     holds
	wake      func()
	// hot creates payouts that need no approval: those of one account together.
	hot   *db.Coalescer[funded, web.Created[api.Payout]]
	files fileSlots
}

// New returns the service. It calls wake when there may be payouts to send.
func New(d *db.DB, v *vault.Vault, a *access.Authority, c *web.Cursors, approvals *approval.Service, dir *directory.Service, rails *rail.Rails, rules *control.Service,
	wake func()) *Service {
	s := &Service{db: d, vault: v, authority: a, cursors: c, approvals: approvals, directory: dir, rails: rails, rules: rules,
		holds: holds{v, approvals}, wake: wake}
	s.hot = db.NewCoalescer(d, s.createTogether)
	for _, kind := range append(s.kinds(), s.resumeKind()) {
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
	if err == nil {
		err = access.RequireMode(by.Actor, a.WorkspaceID, a.Mode)
	}
	return a, workspace, fault.Replace(err, api.CodeNotFound, fault.Missing("account"))
}

// authorize finds a payout and requires a permission in its workspace. It does the same work for a payout
// that does not exist.
func (s *Service) authorize(ctx context.Context, by db.Caller, id string, need access.Permission) (p Payout, held access.Set, err error) {
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		p, err = Find(q, id)
		return err
	})
	if err == nil {
		held, err = s.authority.Held(ctx, by.Actor, p.WorkspaceID, need)
	}
	if p.ID != "" && !by.Scope.InMode(p.Mode) {
		err = fault.Missing("payout request")
	}
	return p, held, fault.Replace(err, api.CodeNotFound, fault.Missing("payout request"))
}

// wire returns a payout as in the API. Its account number is masked.
func wire(p Payout, number string) api.Payout {
	out := api.Payout{
		ID: p.ID, WorkspaceID: p.WorkspaceID, SourceAccountID: p.AccountID, AmountCents: p.Amount, Currency: p.Currency, Mode: p.Mode, Status: p.Status,
		ExternalID: p.ExternalID, Description: p.Description, SettlementRail: p.Rail, RailReason: p.RailWhy, EntryID: p.EntryID, ReceivingMethodID: p.MethodID,
		SettlementAccount: api.SettlementAccount{BankAccountName: p.AccountName, BankAccountNumber: audit.Mask(number), BankCode: p.Institution},
		BankName:          institution.Name(p.Institution), BatchID: p.Batch, MakerID: p.MakerID, ApprovalID: p.ApprovalID, ApprovalReason: p.ApprovalWhy,
		Attention: p.Attention, CancelReason: p.CancelReason, Rejected: p.Rejected, SendAt: p.SendAt, ExpectedAt: p.ExpectedAt, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
		EndedAt: p.EndedAt, SendingStopped: p.Status == Pending && p.Stopped,
	}
	if p.Attention == Recheck {
		out.RecheckApprovalID = p.RecheckID
	}
	if p.FailureCode != "" {
		out.Failure = &api.PayoutFailure{Code: api.Code(p.FailureCode), Reason: p.FailureReason, Message: p.FailureText}
	}
	return out
}

// shown opens the number of a payout and returns the payout as in the API.
func (s *Service) shown(p Payout) (api.Payout, error) {
	number, err := number(s.vault, p)
	return wire(p, number), err
}

// event returns an audit row about a payout.
func (d *draft) event(action audit.Action, text string) audit.Event {
	return audit.Event{Action: action, WorkspaceID: d.WorkspaceID, ResourceID: d.ID, Description: text + " " + d.to(d.number)}
}

// createdEvent returns the event of a payout that was created, published or retried, with what happens next.
func (d *draft) createdEvent(action audit.Action, text, before string) audit.Event {
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

// Get returns a payout. If its account number is requested in full, the audit log records that.
func (s *Service) Get(ctx context.Context, by db.Caller, in GetInput) (api.Payout, error) {
	p, held, err := s.authorize(ctx, by, in.ID, access.PayoutsRead)
	if err != nil {
		return api.Payout{}, err
	}
	number, err := number(s.vault, p)
	if err != nil {
		return api.Payout{}, err
	}
	out := wire(p, number)
	err = s.db.Read(ctx, func(q db.Q) error {
		if out.Attempts, err = attempts(q, p.ID); err == nil {
			out.ResolveApprovalID, err = resolutionWaits(q, p)
		}
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

// revealing is used up by the audit row about showing a caller the account number of a payout. Reading it again within the hour leaves no
// other row.
func revealing(by db.Caller, p Payout) budget.Use {
	return budget.Kind{Name: "reveal", Burst: 1, Every: time.Hour}.Of(by.ID + " " + by.KeyID + " " + p.ID)
}

// reveal stores the row. It is on disk before the number is shown.
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
