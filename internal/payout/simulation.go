package payout

import (
	"context"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/ledger"
	"bursar/internal/rail"
	"bursar/internal/rail/simulator"
	"bursar/internal/web"
	"bursar/internal/work"
)

// Sandbox controls the simulator. Only Sandbox reaches it, and Sandbox reaches nothing live: live accounts, payouts and services are not
// found.
type Sandbox struct {
	payouts *Service
	bank    *simulator.Simulator
	receive func(ctx context.Context, from rail.Connector)
}

// NewSandbox returns the service. It calls receive when the simulator has notices.
func NewSandbox(payouts *Service, bank *simulator.Simulator, receive func(ctx context.Context, from rail.Connector)) *Sandbox {
	return &Sandbox{payouts, bank, receive}
}

// maxSimulated is the most money that an account of the sandbox can hold. All tenants share the bank behind it, which holds as much as a
// million full accounts.
const maxSimulated = 1_000_000_000_000

// DepositInput describes a deposit to an account.
type DepositInput struct{ api.SimulatedDeposit }

// Validate checks the deposit without reading the database.
func (in *DepositInput) Validate(v *fault.Violations) {
	web.CheckText(v, "account_id", in.AccountID, 1, 100)
	checkAmount(v, "amount_cents", in.AmountCents)
	web.CheckOptionalText(v, "reference", in.Reference, 0, maxDescription)
}

// Deposit credits money to an account, as a bank's statement would.
func (s *Sandbox) Deposit(ctx context.Context, by db.Caller, in DepositInput) (web.Created[api.Deposit], error) {
	a, _, err := s.payouts.source(ctx, by, in.AccountID, access.AccountsWrite)
	if err == nil && a.Mode != api.ModeSandbox {
		err = fault.Missing("account")
	}
	if err != nil {
		return web.Created[api.Deposit]{}, err
	}
	return db.Write(ctx, s.payouts.db, by, func(tx *db.Tx) (web.Created[api.Deposit], audit.Event, error) {
		a, err := ledger.LockAccount(tx, a.ID)
		if err != nil {
			return web.Created[api.Deposit]{}, audit.Event{}, err
		}
		if a.Available+a.Reserved+a.Pending+in.AmountCents > maxSimulated {
			return web.Created[api.Deposit]{}, audit.Event{}, fault.Invalid("amount_cents", "an account of the sandbox holds at most "+api.FormatAmount(maxSimulated, a.Currency))
		}
		d, event, err := ledger.Deposit(tx, a, in.AmountCents, api.DepositFromSimulation, web.Value(in.Reference), true)
		return web.Created[api.Deposit]{Value: d}, event, err
	})
}

// DriveInput names a payout of the sandbox and, if it is rejected or returned, a reason.
type DriveInput struct {
	ID string `path:"id"`
	api.SimulatedReason
}

// Validate checks the reason.
func (in *DriveInput) Validate(v *fault.Violations) {
	if in.Reason != nil && !rail.IsReason(*in.Reason) {
		v.Add("reason", "must be a reason of ISO 20022, such as AC04")
	}
}

// Settle completes a payment that the simulator has received and not decided.
func (s *Sandbox) Settle(ctx context.Context, by db.Caller, in Input) (api.Payout, error) {
	return s.drive(ctx, by, in.ID, "settled by the simulator", s.bank.Settle)
}

// Reject rejects such a payment.
func (s *Sandbox) Reject(ctx context.Context, by db.Caller, in DriveInput) (api.Payout, error) {
	return s.drive(ctx, by, in.ID, "rejected by the simulator", func(tx *db.Tx, id string) (bool, error) { return s.bank.Reject(tx, id, web.Value(in.Reason)) })
}

// Return returns a completed payment.
func (s *Sandbox) Return(ctx context.Context, by db.Caller, in DriveInput) (api.Payout, error) {
	return s.drive(ctx, by, in.ID, "returned by the simulator", func(tx *db.Tx, id string) (bool, error) { return s.bank.Return(tx, id, web.Value(in.Reason)) })
}

// drive makes the simulator act on the last attempt of a payout, and processes the notices that this causes.
func (s *Sandbox) drive(ctx context.Context, by db.Caller, id, step string, do func(tx *db.Tx, endToEndID string) (bool, error)) (api.Payout, error) {
	p, _, err := s.payouts.authorize(ctx, by, id, access.AccountsWrite)
	if err == nil && !p.sandbox() {
		err = fault.Missing("payout request")
	}
	if err != nil {
		return api.Payout{}, err
	}
	if err := s.untilSent(ctx, p); err != nil {
		return api.Payout{}, err
	}
	_, err = db.Write(ctx, s.payouts.db, db.Caller{Actor: by.Actor}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		p, err := Find(tx.Q, p.ID) // its state after the wait
		done := false
		if err == nil {
			done, err = do(tx, EndToEndID(p.ID, p.Attempts))
		}
		if err == nil && !done {
			err = wrongState(p, step)
		}
		event := audit.Event{Action: audit.PayoutSimulated, WorkspaceID: p.WorkspaceID, ResourceID: p.ID, Description: "Had the payout " + step}
		event.Changes.Add("simulated", nil, step)
		return struct{}{}, event, err
	})
	if err == nil {
		s.receive(ctx, s.bank)
		p, _, err = s.payouts.authorize(ctx, by, id, access.AccountsWrite)
	}
	if err != nil {
		return api.Payout{}, err
	}
	out, err := s.payouts.shown(p)
	if err != nil {
		return out, err
	}
	return db.Write(ctx, s.payouts.db, by, func(*db.Tx) (api.Payout, audit.Event, error) {
		return out, audit.None("the row was left when it was driven, and this is the answer to it"), nil
	})
}

// sentWithin is how long a request waits for a payout that is on its way to the simulator.
const sentWithin = 5 * time.Second

// untilSent waits for a payout that is on its way to the simulator. It is processing a moment before the simulator has it, and a caller who
// has seen that may already call drive.
func (s *Sandbox) untilSent(ctx context.Context, p Payout) error {
	if p.Status != Processing {
		return nil
	}
	id := EndToEndID(p.ID, p.Attempts)
	for end := time.Now().Add(sentWithin); ; {
		var found map[string]*attempt
		err := s.payouts.db.Read(ctx, func(q db.Q) (err error) {
			found, err = findAttempts(q, []any{id}, func(sql string) string { return sql })
			return err
		})
		if err != nil || found[id] == nil || found[id].State != sending || time.Now().After(end) {
			return err
		}
		if err := work.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// ServiceInput sets the state of a rail, an institution or the simulator itself, in the sandbox of a workspace.
type ServiceInput struct {
	ServiceName string `path:"service_name"`
	api.SimulatedService
}

// Validate checks the status.
func (in *ServiceInput) Validate(v *fault.Violations) {
	web.CheckOneOf(v, "status", &in.Status, string(rail.Up), string(rail.Degraded), string(rail.Down))
	web.CheckOptionalText(v, "reason", in.Reason, 0, maxReason)
}

// SetService sets the state of a service in the sandbox of a workspace.
func (s *Sandbox) SetService(ctx context.Context, by db.Caller, in ServiceInput) (api.ServiceHealth, error) {
	workspaceID, err := s.payouts.authority.Workspace(ctx, by.Actor, in.WorkspaceID)
	if err == nil {
		err = s.payouts.authority.RequireInWorkspace(ctx, by.Actor, workspaceID, access.AccountsWrite)
	}
	if err == nil {
		err = access.RequireMode(by.Actor, workspaceID, api.ModeSandbox)
	}
	if err != nil {
		return api.ServiceHealth{}, err
	}
	for _, of := range s.payouts.services(in.ServiceName) {
		if !of.sandbox {
			continue
		}
		defer s.payouts.wake()
		return db.Write(ctx, s.payouts.db, by, func(tx *db.Tx) (api.ServiceHealth, audit.Event, error) {
			event := audit.Event{
				Action: audit.SimulatedServiceChanged, WorkspaceID: workspaceID, ResourceID: in.ServiceName, Description: "Had the sandbox's " + in.ServiceName + " be " + in.Status,
			}
			event.Changes.Add("status", nil, in.Status)
			now, err := rail.Simulated(tx.Q, workspaceID)
			if err != nil {
				return api.ServiceHealth{}, event, err
			}
			if is := now.Of(in.ServiceName); is.Status == rail.Status(in.Status) && is.Reason == web.Value(in.Reason) {
				event = audit.None("the service was so already")
			}
			err = rail.SetSimulated(tx, workspaceID, in.ServiceName, rail.Status(in.Status), web.Value(in.Reason))
			if err != nil {
				return api.ServiceHealth{}, event, err
			}
			out, err := s.payouts.healthOf(tx.Q, of, in.ServiceName, sandboxes{workspaceID: workspaceID})
			return out, event, err
		})
	}
	return api.ServiceHealth{}, fault.Missing("service")
}
