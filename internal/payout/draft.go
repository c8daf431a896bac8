package payout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/directory"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/institution"
	"bursar/internal/ledger"
	"bursar/internal/rail"
	"bursar/internal/vault"
)

// draft is a payout that is being created or changed, with the results of its checks.
type draft struct {
	Payout
	number  string // of the destination account
	on      *rail.Rail
	need    Need
	exceeds []string // the rules by sum that apply to it
	faults  []error  // everything that prevents paying it; all of them are faults
	existed bool     // a payout with its external id existed already, and this is that payout
}

// refuse records a fault of the draft. It returns any other error.
func (d *draft) refuse(err error) error {
	var f *fault.Fault
	if errors.As(err, &f) {
		d.faults = append(d.faults, f)
		return nil
	}
	return err
}

// newDraft returns a draft of the requested terms.
func (s *Service) newDraft(by db.Caller, a ledger.Account, workspace int64, t api.PayoutTerms) *draft {
	d := &draft{Payout: Payout{
		ID: s.db.NewID("po"), WorkspaceID: a.WorkspaceID, AccountID: a.ID, Amount: t.AmountCents, Currency: a.Currency, Mode: a.Mode,
		MakerID: by.ID, KeyID: by.KeyID, Involved: by.ID, Version: 1, WorkspaceNumber: workspace,
	}}
	set(&d.ExternalID, t.ExternalID)
	set(&d.Description, t.Description)
	set(&d.RailAsked, t.SettlementRail)
	d.setDestination(t.ReceivingMethodID, t.SettlementAccount)
	return d
}

// set stores a value that was sent.
func set[T any](target, sent *T) {
	if sent != nil {
		*target = *sent
	}
}

// setDestination changes the destination of a payout, if either value is given.
func (d *draft) setDestination(methodID *string, a *api.SettlementAccount) {
	switch {
	case methodID != nil:
		d.MethodID = *methodID
	case a != nil:
		d.MethodID, d.EntryID = "", ""
		d.Institution, d.AccountName, d.number = strings.ToUpper(a.BankCode), a.BankAccountName, strings.TrimSpace(a.BankAccountNumber)
	}
}

// sameRequest reports whether a stored payout is the same as the one requested with its external id.
func (d *draft) sameRequest(p Payout, number string, published bool) bool {
	return p.AccountID == d.AccountID && p.Amount == d.Amount && p.Currency == d.Currency && p.Description == d.Description && p.RailAsked == d.RailAsked &&
		p.MethodID == d.MethodID && !(published && p.Status == Draft) &&
		(d.MethodID != "" || p.Institution == d.Institution && p.AccountName == d.AccountName && vault.NormalNumber(number) == vault.NormalNumber(d.number))
}

// matchExternalIDs replaces drafts by the payouts with the same external id, if there are any. If such a payout has other parameters, the draft gets
// the conflict as a fault.
func (s *Service) matchExternalIDs(ctx context.Context, list []*draft, published bool) error {
	var found []Payout
	var recovered []bool // after a restore: only some of the requested terms are known
	hasher, err := newExternalHasher(ctx, s.vault)
	if err != nil {
		return err
	}
	err = s.db.Read(ctx, func(q db.Q) error {
		found, recovered = make([]Payout, len(list)), make([]bool, len(list))
		for i, d := range list {
			if d.ExternalID == "" {
				continue
			}
			some, err := db.Collect(q, wholeRow.Read, selectPayouts+` WHERE p.workspace_id = $1 AND p.external_id = $2`, d.WorkspaceID, d.ExternalID)
			if err != nil {
				return err
			}
			if len(some) > 0 {
				found[i] = some[0]
				continue
			}
			if found[i], recovered[i], err = findRecovered(q, hasher, d.Payout); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, d := range list {
		p := found[i]
		switch {
		case recovered[i]:
			d.becomeRecovered(p)
			continue
		case p.ID == "":
			continue
		}
		number, err := number(s.vault, p)
		if err != nil {
			return err
		}
		if !d.sameRequest(p, number, published) {
			d.faults = append(d.faults, d.conflict(p))
			continue
		}
		*d = draft{Payout: p, number: number, existed: true}
	}
	return nil
}

// conflict returns the fault of a payout that has the external id of a draft and differs from it. It does not identify a payout of
// the other mode, which the caller may not be allowed to see.
func (d *draft) conflict(p Payout) *fault.Fault {
	if p.Mode != d.Mode {
		return fault.New(api.CodeIdempotencyConflict, "a payout of the other mode has this external_id already: use another one")
	}
	if p.Status == Draft {
		return fault.New(api.CodeIdempotencyConflict, "the draft %s has this external_id already: publish it, or use another one", p.ID)
	}
	return fault.New(api.CodeIdempotencyConflict, "the payout %s has this external_id already and differs in its account, amount, payee, rail or description", p.ID)
}

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
func (s *Service) evaluate(ctx context.Context, by db.Caller, a ledger.Account, list []*draft, earlier map[counter]counted) error {
	if err := s.vault.Ready(ctx, list[0].WorkspaceNumber); err != nil {
		return err
	}
	payees := make([]directory.Payee, len(list))
	gone := make([]error, len(list))
	var services rail.Services
	var stopped string // why the rails are stopped
	err := s.db.Read(ctx, func(q db.Q) (err error) {
		for i, d := range list {
			if d.MethodID == "" {
				continue
			}
			var f *fault.Fault
			if payees[i], gone[i] = s.directory.Payee(q, d.WorkspaceNumber, d.MethodID); gone[i] != nil && !errors.As(gone[i], &f) {
				return gone[i]
			}
		}
		if a.Mode == api.ModeSandbox {
			g, err := s.rules.guard(q, a.WorkspaceID)
			services = g.services
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
	for i, d := range list {
		if d.MethodID != "" {
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
	var used map[counter]counted
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		left := a.Available // as read a moment ago: the reservation decides
		used = map[counter]counted{}
		maps.Copy(used, earlier)
		involved, err := approval.Involved(q, by.Actor)
		if err != nil {
			return err
		}
		for _, d := range list {
			d.involve(involved...)
			if err := d.refuse(s.reportedClosed(q, d.Payout)); err != nil {
				return err
			}
			if err := d.refuse(funds(a, left, d.Amount)); err != nil {
				return err
			}
			spending := d.spending()
			spending.At = s.db.Now()
			if err := d.refuse(s.rules.checkLimits(q, spending, used)); err != nil {
				return err
			}
			if len(d.faults) == 0 {
				left -= d.Amount
			}
			if d.exceeds, err = s.rules.wouldExceed(q, spending, used, len(d.faults) == 0); err != nil {
				return err
			}
			if d.need, err = s.needs(q, by, involved, d.Payout, d.exceeds...); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && earlier != nil {
		maps.Copy(earlier, used)
	}
	return err
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
	for _, err := range d.on.Faults(d.payment(&attempt{number: 1, createdAt: now.UnixMilli()}, d.number)) {
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
func (s *Service) needs(q db.Q, by db.Caller, involved []string, p Payout, exceeds ...string) (Need, error) {
	ids := strings.Fields(p.Involved)
	if ids[0] != by.ID || slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(involved, id) }) {
		by = db.Caller{}
	}
	return s.rules.Need(q, p, by, exceeds...)
}

// involve records accounts that have a part in a payout. They are its requester and those who stand behind them, such as the person who
// knows the secret of a machine client. When a draft is published, these may be other accounts.
func (p *Payout) involve(accountIDs ...string) {
	ids := strings.Fields(p.Involved)
	for _, id := range accountIDs {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	p.Involved = strings.Join(ids, " ")
}

// behind returns the caller together with all who had a part in payouts before: none of them counts as a second person.
func behind(q db.Q, by db.Caller, list []*draft) (db.Caller, error) {
	seen := map[string]bool{by.ID: true}
	by.CoInitiators = slices.Clone(by.CoInitiators)
	for _, d := range list {
		for _, id := range strings.Fields(d.Involved) {
			if seen[id] {
				continue
			}
			seen[id] = true
			more, err := approval.Involved(q, audit.Actor{ID: id})
			if err != nil {
				return by, err
			}
			by.CoInitiators = append(by.CoInitiators, more...)
		}
	}
	return by, nil
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
			verdict, why, err := s.rules.screener.Screen(ctx, d.facts())
			switch verdict {
			case Deny:
				d.faults = append(d.faults, fault.New(api.CodeScreeningDenied, "the screening refuses it: %s", why))
			case Hold:
				d.need = d.need.or(Need{Approvals: 1, Why: "Somebody has to approve it, because the screening holds it: " + why})
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

// to describes the amount and the payee.
func (p Payout) to(number string) string {
	return fmt.Sprintf("%s to %s (%s, %s)", api.FormatAmount(p.Amount, p.Currency), p.AccountName, institution.Name(p.Institution), audit.Mask(number))
}
