package ledger

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/vault"
	"bursar/internal/web"
)

// Config contains what the rails of a server allow.
type Config struct {
	LiveAllowed bool     // some rail moves real money
	Currencies  []string // of the rails; the first one is for accounts that name none
	// Guard refuses a transfer, in its transaction, that would bring money under weaker rules. Nil refuses none.
	Guard func(tx *db.Tx, by db.Caller, from, to Account, amount int64) error
}

// Service manages accounts.
type Service struct {
	db        *db.DB
	vault     *vault.Vault
	authority *access.Authority
	cursors   *web.Cursors
	approvals *approval.Service
	config    Config
}

// New returns the service, and registers its kind of approvals.
func New(d *db.DB, v *vault.Vault, a *access.Authority, c *web.Cursors, approvals *approval.Service, config Config) *Service {
	s := &Service{db: d, vault: v, authority: a, cursors: c, approvals: approvals, config: config}
	approvals.Register(unfreezeApproval())
	return s
}

func wire(a Account) api.Account {
	return api.Account{
		ID: a.ID, WorkspaceID: a.WorkspaceID, Name: a.Name, Currency: a.Currency, Mode: a.Mode, Status: a.Status,
		AvailableBalance: a.Available, PendingBalance: a.Pending, ReservedBalance: a.Reserved, TotalBalance: a.Available + a.Pending + a.Reserved,
		CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt,
	}
}

// List returns the accounts of a workspace, oldest first.
func (s *Service) List(ctx context.Context, by db.Caller, in ListInput) (web.Page[api.Account], error) {
	workspaceID, err := s.authority.Workspace(ctx, by.Actor, in.WorkspaceID)
	if err == nil {
		err = s.authority.RequireInWorkspace(ctx, by.Actor, workspaceID, access.AccountsRead)
	}
	if err != nil {
		return web.Page[api.Account]{}, err
	}
	return web.ReadUnpaged(ctx, s.db, s.cursors, in.PageParams, func(a api.Account) string { return a.ID },
		func(q db.Q, after string, take int) ([]api.Account, error) {
			return accountsOf(q, workspaceID, access.ModeOf(by.Actor), after, take)
		}, "accounts", workspaceID, access.ModeOf(by.Actor))
}

// Create opens an empty account.
func (s *Service) Create(ctx context.Context, by db.Caller, in CreateInput) (web.Created[api.Account], error) {
	var none web.Created[api.Account]
	workspaceID, err := s.authority.Workspace(ctx, by.Actor, in.WorkspaceID)
	if err == nil {
		err = s.authority.RequireInWorkspace(ctx, by.Actor, workspaceID, access.AccountsWrite)
	}
	if err != nil {
		return none, err
	}
	currency, mode := s.config.Currencies[0], api.ModeSandbox
	if in.Currency != nil {
		currency = *in.Currency
	}
	if in.Mode != nil {
		mode = *in.Mode
	}
	var v fault.Violations
	if !slices.Contains(s.config.Currencies, currency) {
		v.Add("currency", "must be one of "+strings.Join(s.config.Currencies, ", "))
	}
	if mode == api.ModeLive && !s.config.LiveAllowed {
		v.Add("mode", "must be sandbox: no rail of this server moves real money")
	}
	if err := cmp.Or(v.Err(), access.RequireMode(by.Actor, workspaceID, mode)); err != nil {
		return none, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (web.Created[api.Account], audit.Event, error) {
		if err := roomForAccount(tx, workspaceID); err != nil {
			return none, audit.Event{}, err
		}
		a, err := NewAccount(tx, workspaceID, in.Name, currency, mode)
		return web.Created[api.Account]{Value: wire(a)}, Created(a), err
	})
}

// maxAccounts bounds the accounts of a workspace, since lists and choices show all of them. Accounts are never deleted, so closed ones
// count, too.
const maxAccounts = 1000

// roomForAccount returns a fault if a workspace has the greatest number of accounts. Concurrent calls are serialized.
func roomForAccount(tx *db.Tx, workspaceID string) error {
	if _, err := tx.Row(`UPDATE workspace SET member_version = member_version WHERE id = $1 RETURNING id`, workspaceID).Scan(new(string)); err != nil {
		return err
	}
	var n int64
	_, err := tx.Row(`SELECT count(*) FROM (SELECT 1 FROM ledger_account WHERE workspace_id = $1 LIMIT $2) a`, workspaceID, maxAccounts).Scan(&n)
	if err == nil && n == maxAccounts {
		err = fault.New(api.CodeTooMany, "a workspace has at most %d accounts, closed ones included", maxAccounts)
	}
	return err
}

// HasLive reports whether live accounts have had money: then there is also an account of the system.
func HasLive(q db.Q) (bool, error) {
	return q.Row(`SELECT id FROM ledger_account WHERE workspace_id IS NULL AND mode = 'live' LIMIT 1`).Scan(new(string))
}

// Created returns the audit event of a new account.
func Created(a Account) audit.Event {
	event := audit.Event{Action: audit.LedgerAccountCreated, WorkspaceID: a.WorkspaceID, ResourceID: a.ID, Description: "Opened account " + a.Name}
	event.Changes.Add("name", nil, a.Name)
	event.Changes.Add("currency", nil, a.Currency)
	event.Changes.Add("mode", nil, a.Mode)
	return event
}

// enter finds an account and requires a permission in its workspace.
func (s *Service) enter(ctx context.Context, by db.Caller, id string, need access.Permission) (a Account, err error) {
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		a, err = FindAccount(q, id)
		return err
	})
	if err == nil {
		err = s.authority.RequireInWorkspace(ctx, by.Actor, a.WorkspaceID, need)
	}
	if err == nil && !by.Scope.InMode(a.Mode) {
		err = fault.Missing("account")
	}
	return a, fault.Replace(err, api.CodeNotFound, fault.Missing("account"))
}

// Get returns an account.
func (s *Service) Get(ctx context.Context, by db.Caller, in Input) (api.Account, error) {
	a, err := s.enter(ctx, by, in.ID, access.AccountsRead)
	if err != nil {
		return api.Account{}, err
	}
	return wire(a), nil
}

// Balances returns the balances of an account, all of the same moment.
func (s *Service) Balances(ctx context.Context, by db.Caller, in Input) (api.AccountBalances, error) {
	a, err := s.enter(ctx, by, in.ID, access.AccountsRead)
	if err != nil {
		return api.AccountBalances{}, err
	}
	return api.AccountBalances{
		AccountID: a.ID, Currency: a.Currency, AvailableBalance: a.Available, PendingBalance: a.Pending, ReservedBalance: a.Reserved,
		TotalBalance: a.Available + a.Pending + a.Reserved, AsOf: s.db.Now(),
	}, nil
}

// Update renames an account, freezes it, makes it active again, or closes it permanently. Making a live account active again takes a second
// person where there is one; other changes in the same request wait with it. A caller who may create payouts, but not change accounts, may
// also request that.
func (s *Service) Update(ctx context.Context, by db.Caller, in UpdateInput) (api.Account, error) {
	need := access.AccountsWrite
	a, err := s.enter(ctx, by, in.ID, need)
	var denied *fault.Fault
	if in.unfreezes() && errors.As(err, &denied) && denied.Code == api.CodeForbidden {
		need = access.PayoutsCreate
		if a, err = s.enter(ctx, by, in.ID, need); err != nil {
			err = denied
		}
	}
	if err != nil {
		return api.Account{}, err
	}
	number := int64(0)
	if a.Mode == api.ModeLive && in.Status != nil { // it may need an approval
		if number, err = s.authority.Enter(ctx, by.Actor, a.WorkspaceID, need); err == nil {
			err = s.vault.Ready(ctx, number)
		}
		if err != nil {
			return api.Account{}, err
		}
	}
	out, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (out approval.Outcome[api.Account], event audit.Event, err error) {
		before, err := LockAccount(tx, in.ID)
		if err != nil {
			return out, event, err
		}
		after := before
		if in.Name != nil {
			after.Name = *in.Name
		}
		if in.Status != nil {
			after.Status = *in.Status
		}
		event = changed(before, after)
		unfrozen := before.Mode == api.ModeLive && before.Status == api.AccountFrozen && after.Status == api.AccountActive
		switch {
		case !unfrozen && denied != nil:
			return out, event, denied
		case before.Status == api.AccountClosed && len(event.Changes) > 0:
			return out, event, fault.New(api.CodeAccountClosed, "account %s is closed, and stays so", before.ID)
		case after.Status == api.AccountClosed && before.Available+before.Reserved+before.Pending > 0:
			return out, event, fault.New(api.CodeAccountNotEmpty, "an account is closed when nothing is available, reserved or pending")
		case unfrozen:
			if out.ApprovalID, event, err = s.askToUnfreeze(tx, by, number, before, after, event); err != nil || out.ApprovalID != "" {
				return out, event, err
			}
			if denied != nil {
				return out, event, denied
			}
		case len(event.Changes) > 0 || in.Status != nil:
			voided, err := s.approvals.Void(tx, by, before.ID, "the account was changed or frozen again")
			if err != nil {
				return out, event, err
			}
			if voided {
				event.Changes.Add("approval", api.ApprovalPending, api.ApprovalVoid)
			}
			if voided && before == after {
				event.Action, event.Description = audit.LedgerAccountFrozen, "Kept account "+before.Name+" frozen"
			}
		}
		if len(event.Changes) == 0 {
			out.Answer = wire(before)
			return out, audit.None("nothing changed"), nil
		}
		after, err = saveAccount(tx, after)
		out.Answer = wire(after)
		return out, event, cmp.Or(err, identity.StillHolds(tx, by, a.WorkspaceID, need))
	})
	if err != nil {
		return api.Account{}, err
	}
	return out.Result()
}

// changed returns the audit event of a changed account.
func changed(before, after Account) audit.Event {
	event := audit.Event{Action: audit.LedgerAccountUpdated, WorkspaceID: after.WorkspaceID, ResourceID: after.ID, Description: "Renamed account " + before.Name}
	if before.Status != after.Status {
		switch after.Status {
		case api.AccountFrozen:
			event.Action, event.Description = audit.LedgerAccountFrozen, "Froze account "+before.Name
		case api.AccountClosed:
			event.Action, event.Description = audit.LedgerAccountClosed, "Closed account "+before.Name
		default:
			event.Action, event.Description = audit.LedgerAccountUnfrozen, "Unfroze account "+before.Name
		}
	}
	event.Changes.Add("name", before.Name, after.Name)
	event.Changes.Add("status", before.Status, after.Status)
	return event
}

// Transfer moves money between two accounts of a workspace. The permission to create payouts is not enough, because the rules of the other
// account then apply to the money. So the caller must also be allowed to change accounts. The rules of the other account must be at least
// as strict.
func (s *Service) Transfer(ctx context.Context, by db.Caller, in TransferInput) (web.Created[api.Transfer], error) {
	var none web.Created[api.Transfer]
	source, err := s.enter(ctx, by, in.SourceAccountID, access.AccountsWrite)
	if err == nil {
		err = s.authority.RequireInWorkspace(ctx, by.Actor, source.WorkspaceID, access.PayoutsCreate)
	}
	var destination Account
	if err == nil {
		destination, err = s.enter(ctx, by, in.DestinationAccountID, access.AccountsWrite)
	}
	switch {
	case err != nil:
		return none, err
	case destination.WorkspaceID != source.WorkspaceID:
		return none, fault.Invalid("destination_account_id", "must be an account of the same workspace")
	case destination.Currency != source.Currency || destination.Mode != source.Mode:
		return none, fault.Invalid("destination_account_id", "must be an account of the same currency and mode")
	}
	var description string
	if in.Description != nil {
		description = *in.Description
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (web.Created[api.Transfer], audit.Event, error) {
		t := api.Transfer{
			ID: tx.NewID("trf"), WorkspaceID: source.WorkspaceID, SourceAccountID: source.ID, DestinationAccountID: destination.ID,
			Amount: in.Amount, Currency: source.Currency, Description: description, CreatedAt: tx.Now(),
		}
		event := audit.Event{
			Action: audit.TransferCreated, WorkspaceID: source.WorkspaceID, ResourceID: t.ID,
			Description: "Moved " + api.FormatAmount(in.Amount, source.Currency) + " from " + source.Name + " to " + destination.Name,
		}
		event.Changes.Add("source_account_id", nil, t.SourceAccountID)
		event.Changes.Add("destination_account_id", nil, t.DestinationAccountID)
		event.Changes.Add("amount_cents", nil, t.Amount)
		if s.config.Guard != nil {
			if err := s.config.Guard(tx, by, source, destination, in.Amount); err != nil {
				return none, event, err
			}
		}
		list := []Transaction{{KindTransfer, source.WorkspaceID, t.ID, description, []Move{
			{source.ID, BucketAvailable, -in.Amount}, {destination.ID, BucketAvailable, in.Amount},
		}}}
		ids, refused, err := post(tx, source.ID, list)
		if err == nil && refused == source.ID {
			err = whyNotSpent(tx, source.ID, in.Amount)
		} else if err == nil && refused != "" {
			err = whyRefused(tx, refused, net(list)[refused])
		}
		if err != nil {
			return none, event, err
		}
		t.TransactionID = ids[0]
		return web.Created[api.Transfer]{Value: t}, event, nil
	})
}

// whyNotSpent returns why an account does not pay an amount.
func whyNotSpent(tx *db.Tx, id string, amount int64) error {
	a, err := FindAccount(tx.Q, id)
	if err == nil && a.Status != api.AccountActive {
		return notActive(a)
	}
	return cmp.Or(err, Insufficient(a.Currency, a.Available, amount))
}

// Postings returns a page of the postings of an account, newest first.
func (s *Service) Postings(ctx context.Context, by db.Caller, in PostingsInput) (web.Page[api.Posting], error) {
	a, err := s.enter(ctx, by, in.ID, access.AccountsRead)
	if err != nil {
		return web.Page[api.Posting]{}, err
	}
	window, err := s.cursors.Paged(in.PageParams, web.Descending, "postings", a.ID, given(in.Bucket), given(in.Reference), given(in.Since), given(in.Until))
	if err != nil {
		return web.Page[api.Posting]{}, err
	}
	var rows []api.Posting
	err = s.db.ReadList(ctx, func(q db.Q) (err error) {
		rows, err = postingsOf(q, a, in, window)
		return err
	})
	if err != nil {
		return web.Page[api.Posting]{}, err
	}
	return web.NewPage(window, rows, position), nil
}

// given returns a filter as a part of what a cursor is bound to.
func given(filter *string) string {
	if filter == nil {
		return ""
	}
	return "=" + *filter
}

// Deposits returns a page of the deposits to a workspace, or to one of its accounts, newest first.
func (s *Service) Deposits(ctx context.Context, by db.Caller, in DepositsInput) (web.Page[api.Deposit], error) {
	workspaceID, err := s.authority.Workspace(ctx, by.Actor, in.WorkspaceID)
	if err == nil {
		err = s.authority.RequireInWorkspace(ctx, by.Actor, workspaceID, access.AccountsRead)
	}
	if err != nil {
		return web.Page[api.Deposit]{}, err
	}
	mode := access.ModeOf(by.Actor)
	window, err := s.cursors.Paged(in.PageParams, web.Descending, "deposits", workspaceID, given(in.AccountID), mode)
	if err != nil {
		return web.Page[api.Deposit]{}, err
	}
	var rows []api.Deposit
	err = s.db.ReadList(ctx, func(q db.Q) (err error) {
		rows, err = depositsOf(q, workspaceID, in.AccountID, mode, window)
		return err
	})
	if err != nil {
		return web.Page[api.Deposit]{}, err
	}
	return web.NewPage(window, rows, func(d api.Deposit) string { return d.ID }), nil
}
