package payout

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/db"
	"bursar/internal/directory"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/institution"
	"bursar/internal/ledger"
	"bursar/internal/payout/control"
	"bursar/internal/rail"
)

// check evaluates drafts of one account, and calls the screening for those that are to be published. A draft that cannot be paid can still
// be stored, as long as its destination is known.
func (s *Service) check(ctx context.Context, by db.Caller, a ledger.Account, list []*draft, publish bool) error {
	if err := s.evaluate(ctx, by, a, list, nil); err != nil {
		return err
	}
	if publish {
		if err := s.screen(ctx, list); err != nil {
			return err
		}
		return s.stillMay(ctx, by, a.WorkspaceID)
	}
	for _, d := range list {
		d.faults = slices.DeleteFunc(d.faults, func(err error) bool {
			var f *fault.Fault
			return errors.As(err, &f) && f.Code != api.CodeNotFound && f.Code != api.CodeValidation
		})
	}
	return nil
}

// stillMay returns an error if the caller's credential or access has ended while their payouts were checked: a screening may take seconds.
func (s *Service) stillMay(ctx context.Context, by db.Caller, workspaceID string) error {
	if by.Epoch == s.db.Epoch() {
		return nil
	}
	err := s.db.Read(ctx, func(q db.Q) error { return identity.RequireAuthentic(q, by.Actor, s.db.Now()) })
	if err != nil {
		return err
	}
	return s.authority.RequireInWorkspace(ctx, by.Actor, workspaceID, access.PayoutsCreate)
}

// evaluate evaluates drafts of one account: their faults, their rail, and the approvals they need. It changes nothing but the drafts and
// what limits have counted of earlier drafts of the request, which may be nil.
func (s *Service) evaluate(ctx context.Context, by db.Caller, a ledger.Account, list []*draft, used control.Used) error {
	if err := s.vault.Ready(ctx, list[0].WorkspaceNumber); err != nil {
		return err
	}
	if err := s.findPayees(ctx, list); err != nil {
		return err
	}
	var services rail.Services
	var stopped string // why the rails are stopped
	err := s.db.Read(ctx, func(q db.Q) (err error) {
		if a.Mode == api.ModeSandbox {
			services, err = s.rules.Services(q, a.WorkspaceID)
			return err
		}
		// The simulator is part of the store, so a restored store knows all its payments.
		_, err = q.Row(readSetting, stoppedSetting).Scan(&stopped)
		return err
	})
	if err != nil {
		return err
	}
	now := time.UnixMilli(s.db.Now())
	for _, d := range list {
		if err := s.route(d, services, now); err != nil {
			return err
		}
		if stopped != "" {
			d.faults = append(d.faults, fault.New(api.CodeRailUnavailable, "live payouts are stopped until an operator resumes them, because the store was %s", stopped))
		}
		if err := s.seal(&d.Payout, d.number); err != nil {
			return err
		}
	}
	var counted control.Used
	err = s.db.Read(ctx, func(q db.Q) error {
		counted = control.Used{}
		maps.Copy(counted, used)
		return s.compare(q, by, a, list, counted)
	})
	if err == nil && used != nil {
		maps.Copy(used, counted)
	}
	return err
}

// findPayees reads the destinations of drafts that pay receiving methods. One that cannot be paid is a fault.
func (s *Service) findPayees(ctx context.Context, list []*draft) error {
	payees := make([]directory.Payee, len(list))
	gone := make([]error, len(list))
	err := s.db.Read(ctx, func(q db.Q) error {
		for i, d := range list {
			if d.MethodID == "" {
				continue
			}
			var f *fault.Fault
			if payees[i], gone[i] = s.directory.Payee(q, d.WorkspaceNumber, d.MethodID); gone[i] != nil && !errors.As(gone[i], &f) {
				return gone[i]
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, d := range list {
		if d.MethodID == "" {
			continue
		}
		d.EntryID, d.Institution, d.AccountName, d.number = payees[i].EntryID, payees[i].Institution, payees[i].AccountName, ""
		if payees[i].MethodID != "" {
			var lost error
			d.number, lost = s.directory.Number(payees[i])
			gone[i] = cmp.Or(gone[i], lost)
		}
		if err := d.refuse(gone[i]); err != nil {
			return err
		}
	}
	return nil
}

// compare compares drafts with the money of their account, the limits and the rules: those of one request together.
func (s *Service) compare(q db.Q, by db.Caller, a ledger.Account, list []*draft, used control.Used) error {
	left := a.Available // as read a moment ago: the reservation decides
	involved, err := approval.Involved(q, by.Actor)
	if err != nil {
		return err
	}
	for _, d := range list {
		d.involve(involved...)
		spending := d.spending()
		spending.At = s.db.Now()
		for _, find := range []func() error{
			func() error { return s.reportedClosed(q, d.Payout) },
			func() error { return funds(a, left, d.Amount) },
			func() error { return s.rules.CheckLimits(q, spending, used) },
		} {
			if err := d.refuse(find()); err != nil {
				return err
			}
		}
		if len(d.faults) == 0 {
			left -= d.Amount
		}
		if d.exceeds, err = s.rules.WouldExceed(q, spending, used, len(d.faults) == 0); err != nil {
			return err
		}
		if d.need, err = s.needs(q, by, involved, d.Payout, d.exceeds...); err != nil {
			return err
		}
	}
	return nil
}

// route chooses the rail of a draft, and records faults that prevent sending it.
func (s *Service) route(d *draft, services rail.Services, now time.Time) error {
	if d.RailAsked != "" {
		if d.on = s.rails.Named(d.RailAsked, d.sandbox()); d.on == nil {
			return d.refuse(fault.Invalid("settlement_rail", "must be one of "+strings.Join(s.railNames(d.sandbox()), ", ")+" for an account that is "+d.Mode))
		}
		d.RailWhy = "it was asked for"
	} else {
		var err error
		if d.on, d.RailWhy, err = s.rails.Choose(d.Currency, d.Amount, d.Institution, d.sandbox(), now); err != nil {
			d.on, d.Rail, d.RailWhy = nil, "", ""
			return d.refuse(err)
		}
	}
	d.Rail = d.on.Name
	send, arrive := d.on.Next(now)
	d.SendAt, d.ExpectedAt = send.UnixMilli(), arrive.UnixMilli()
	for _, err := range d.on.Faults(d.payment(&attempt{Number: 1, CreatedAt: now.UnixMilli()}, d.number)) {
		if err := d.refuse(err); err != nil {
			return err
		}
	}
	if name := d.on.Name; services.Down(name) || services.Down(d.on.Connector.Name()) {
		d.faults = append(d.faults, fault.New(api.CodeRailUnavailable, "%s is down: try again later", d.on.Title))
	}
	if services.Down(d.Institution) {
		d.faults = append(d.faults, fault.New(api.CodeBankUnavailable, "%s is down: try again later", institution.Name(d.Institution)))
	}
	return nil
}

// railNames lists the rails of the sandbox, or those that are live.
func (s *Service) railNames(sandbox bool) (names []string) {
	for _, one := range s.rails.All() {
		if one.Sandbox() == sandbox {
			names = append(names, one.Name)
		}
	}
	return names
}

// reportedClosed returns a fault if a rail of the same mode has already reported that the destination account of a payout is closed.
func (s *Service) reportedClosed(q db.Q, p Payout) error {
	var earlier string
	closed, err := q.Row(`SELECT id FROM payout WHERE workspace_id = $1 AND destination_key = $2 AND failure_code = 'ACCOUNT_CLOSED' AND institution_code = $3 AND mode = $4 LIMIT 1`,
		p.WorkspaceID, p.DestinationKey, p.Institution, p.Mode).Scan(&earlier)
	if err == nil && closed {
		err = fault.New(api.CodeAccountClosed, "the account that is paid was reported as closed when %s was sent", earlier)
	}
	return err
}

// funds returns a fault if an account cannot pay.
func funds(a ledger.Account, left, amount int64) error {
	switch {
	case a.Status != api.AccountActive:
		return &fault.Fault{Code: api.CodeAccountFrozen, Message: "account " + a.ID + " is " + a.Status, Details: api.AccountStatusDetails{Status: a.Status}}
	case left < amount:
		return ledger.Insufficient(a.Currency, max(left, 0), amount)
	}
	return nil
}

// needs returns the approvals that a payout needs. A rule for a client applies only to payouts in which no one is involved except those who
// stand behind the client now.
func (s *Service) needs(q db.Q, by db.Caller, involved []string, p Payout, exceeds ...string) (control.Need, error) {
	ids := strings.Fields(p.Involved)
	if ids[0] != by.ID || slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(involved, id) }) {
		by = db.Caller{}
	}
	return s.rules.Need(q, p.spending(), by, exceeds...)
}

// screenAtOnce is how many payouts of a batch are screened concurrently.
const screenAtOnce = 16

// screen calls the operator's screening for drafts that have no faults.
func (s *Service) screen(ctx context.Context, list []*draft) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(screenAtOnce)
	for _, d := range list {
		if len(d.faults) > 0 {
			continue
		}
		group.Go(func() error {
			verdict, why, err := s.rules.Screen(ctx, d.facts())
			switch verdict {
			case control.Deny:
				d.faults = append(d.faults, fault.New(api.CodeScreeningDenied, "the screening refuses it: %s", why))
			case control.Hold:
				d.need = d.need.Or(control.Need{Approvals: 1, Why: "Needs approval from an approver, because the screening holds it: " + why})
			}
			return err
		})
	}
	return group.Wait()
}

// facts returns what the screening receives about a payout.
func (d *draft) facts() any {
	p := wire(d.Payout, d.number)
	p.SettlementAccount.BankAccountNumber = d.number
	return p
}
