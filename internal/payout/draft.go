package payout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/institution"
	"bursar/internal/ledger"
	"bursar/internal/payout/control"
	"bursar/internal/rail"
	"bursar/internal/vault"
)

// draft is a payout that is being created or changed, with the results of its checks.
type draft struct {
	Payout
	number  string // of the destination account
	on      *rail.Rail
	need    control.Need
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

// to describes the amount and the payee.
func (p Payout) to(number string) string {
	return fmt.Sprintf("%s to %s (%s, %s)", api.FormatAmount(p.Amount, p.Currency), p.AccountName, institution.Name(p.Institution), audit.Mask(number))
}
