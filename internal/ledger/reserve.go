package ledger

import (
	"fmt"

	"bursar/api"
	"bursar/internal/db"
)

// Want is money that somebody wants to reserve.
type Want struct {
	Reference   string // the payout
	Amount      int64
	Description string
}

// Reserve moves money of one account from available to reserved, for each want in the order given.
// Those that do not fit are refused, and later ones may still fit: refused has a fault or nil for
// each. INSUFFICIENT_FUNDS tells what was left for that want; ACCOUNT_FROZEN is for all of them, if the
// account is frozen or closed.
func Reserve(tx *db.Tx, a Account, wants []Want) (refused []error, err error) {
	list := make([]Transaction, len(wants))
	for i, w := range wants {
		if w.Amount <= 0 {
			return nil, fmt.Errorf("reserve %d for %s", w.Amount, w.Reference)
		}
		list[i] = Transaction{KindReserve, a.WorkspaceID, w.Reference, w.Description, []Move{{a.ID, BucketAvailable, -w.Amount}, {a.ID, BucketReserved, w.Amount}}}
	}
	refused = make([]error, len(wants))
	if _, short, err := post(tx, a.ID, list); err != nil || short == "" {
		return refused, err
	}
	// They do not all fit, and nothing was changed.
	now, err := LockAccount(tx, a.ID)
	if err != nil {
		return nil, err
	}
	if now.ID == "" {
		return nil, fmt.Errorf("the ledger has no account %s", a.ID)
	}
	left, fit := now.Available, list[:0]
	for i, w := range wants {
		switch {
		case now.Status != api.AccountActive:
			refused[i] = notActive(now)
		case w.Amount > left:
			refused[i] = insufficient(left, w.Amount)
		default:
			left -= w.Amount
			fit = append(fit, list[i])
		}
	}
	_, short, err := post(tx, a.ID, fit)
	if err == nil && short != "" {
		err = fmt.Errorf("account %s refuses what it has", a.ID)
	}
	return refused, err
}

// Reserved is money that was reserved for a payout.
type Reserved struct {
	AccountID   string
	WorkspaceID string
	Currency    string
	Mode        string
	Reference   string // the payout
	Amount      int64
	Description string
}

// move makes a transaction of each, from one place to another.
func move(tx *db.Tx, kind Kind, list []Reserved, from, to func(r Reserved) (string, Bucket)) error {
	all := make([]Transaction, len(list))
	for i, r := range list {
		if r.Amount <= 0 {
			return fmt.Errorf("%s %d of %s", kind, r.Amount, r.Reference)
		}
		fromID, fromBucket := from(r)
		toID, toBucket := to(r)
		all[i] = Transaction{kind, r.WorkspaceID, r.Reference, r.Description, []Move{{fromID, fromBucket, -r.Amount}, {toID, toBucket, r.Amount}}}
	}
	_, err := Post(tx, all...)
	return err
}

func available(r Reserved) (string, Bucket) { return r.AccountID, BucketAvailable }

func reserved(r Reserved) (string, Bucket) { return r.AccountID, BucketReserved }

func clearing(r Reserved) (string, Bucket) {
	return SystemAccount(Clearing, r.Currency, r.Mode), BucketAvailable
}

func bank(r Reserved) (string, Bucket) {
	return SystemAccount(Bank, r.Currency, r.Mode), BucketAvailable
}

// Release gives reserved money back: the payouts failed, or were cancelled.
func Release(tx *db.Tx, list []Reserved) error {
	return move(tx, KindRelease, list, reserved, available)
}

// Complete takes reserved money out of its accounts: the payees have it.
func Complete(tx *db.Tx, list []Reserved) error {
	return move(tx, KindComplete, list, reserved, clearing)
}

// Settle says that the bank's statement shows payouts that were completed.
func Settle(tx *db.Tx, list []Reserved) error { return move(tx, KindSettle, list, clearing, bank) }

// Return puts money back that the bank has returned after its payout was completed and settled. That
// of an account that is closed goes to suspense.
func Return(tx *db.Tx, list []Reserved) error {
	closed := map[string]bool{}
	for _, r := range list {
		if _, known := closed[r.AccountID]; known {
			continue
		}
		a, err := FindAccount(tx.Q, r.AccountID) // what is closed stays closed
		if err != nil {
			return err
		}
		closed[r.AccountID] = a.Status == api.AccountClosed
	}
	return move(tx, KindReturn, list, bank, func(r Reserved) (string, Bucket) {
		if closed[r.AccountID] {
			return SystemAccount(Suspense, r.Currency, r.Mode), BucketAvailable
		}
		return available(r)
	})
}
