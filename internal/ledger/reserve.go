package ledger

import (
	"fmt"
	"slices"

	"bursar/api"
	"bursar/internal/db"
)

// Want is a request to reserve money.
type Want struct {
	Reference   string // the payout
	Amount      int64
	Description string
}

// Reserve moves money of one account from available to reserved, for each want in the order given. Wants that exceed the available money
// are refused, and later ones may still fit. The result refused has a fault or nil for each. INSUFFICIENT_FUNDS contains the amount that
// was left for that want. ACCOUNT_FROZEN is for all of them, if the account is frozen or closed.
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
			refused[i] = Insufficient(now.Currency, left, w.Amount)
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

// moves returns a transaction for each, from one bucket to another.
func moves(kind Kind, list []Reserved, from, to func(r Reserved) (string, Bucket)) []Transaction {
	all := make([]Transaction, len(list))
	for i, r := range list {
		fromID, fromBucket := from(r)
		toID, toBucket := to(r)
		all[i] = Transaction{kind, r.WorkspaceID, r.Reference, r.Description, []Move{{fromID, fromBucket, -r.Amount}, {toID, toBucket, r.Amount}}}
	}
	return all
}

func available(r Reserved) (string, Bucket) { return r.AccountID, BucketAvailable }

func reserved(r Reserved) (string, Bucket) { return r.AccountID, BucketReserved }

func clearing(r Reserved) (string, Bucket) {
	return SystemAccount(Clearing, r.Currency, r.Mode), BucketAvailable
}

func bank(r Reserved) (string, Bucket) {
	return SystemAccount(Bank, r.Currency, r.Mode), BucketAvailable
}

// Ends are payouts whose outcomes were reported. A payout may be in several lists: a completed one may also be settled, and a settled one
// may be returned.
type Ends struct {
	Released  []Reserved // they failed, or were cancelled: their money is available again
	Completed []Reserved // the payees have the money
	Settled   []Reserved // the bank's statement shows completed payouts
	Returned  []Reserved // the bank has returned the money; to suspense if the account is closed
	Paid      []Reserved // people determined that the payees have the money, though none is reserved: it is reserved and completed
	Reopened  []Reserved // people determined that the payees do not have the completed money; to suspense if the account is closed
}

// End moves the money of payouts, all of it in one Post. With one Post for each list, two calls that have the same accounts in different
// lists would wait for each other.
func End(tx *db.Tx, e Ends) error {
	closed := map[string]bool{}
	for _, r := range slices.Concat(e.Returned, e.Reopened) {
		if _, known := closed[r.AccountID]; known {
			continue
		}
		a, err := FindAccount(tx.Q, r.AccountID) // a closed account stays closed
		if err != nil {
			return err
		}
		closed[r.AccountID] = a.Status == api.AccountClosed
	}
	back := func(r Reserved) (string, Bucket) {
		if closed[r.AccountID] {
			return SystemAccount(Suspense, r.Currency, r.Mode), BucketAvailable
		}
		return available(r)
	}
	all := slices.Concat(moves(KindRelease, e.Released, reserved, available), moves(KindReserve, e.Paid, available, reserved),
		moves(KindComplete, slices.Concat(e.Completed, e.Paid), reserved, clearing), moves(KindSettle, e.Settled, clearing, bank),
		moves(KindReturn, e.Returned, bank, back), moves(KindReopen, e.Reopened, clearing, back))
	for _, t := range all {
		if amount := t.Moves[1].Amount; amount <= 0 {
			return fmt.Errorf("%s %d of %s", t.Kind, amount, t.Reference)
		}
	}
	if len(all) == 0 {
		return nil
	}
	_, err := Post(tx, all...)
	return err
}

// Release makes reserved money available again: the payouts failed, or were cancelled.
func Release(tx *db.Tx, list []Reserved) error { return End(tx, Ends{Released: list}) }

// Complete moves reserved money out of its accounts: the payees have it.
func Complete(tx *db.Tx, list []Reserved) error { return End(tx, Ends{Completed: list}) }

// Settle records that the bank's statement shows completed payouts.
func Settle(tx *db.Tx, list []Reserved) error { return End(tx, Ends{Settled: list}) }

// Return credits money that the bank has returned after its payout was completed and settled.
func Return(tx *db.Tx, list []Reserved) error { return End(tx, Ends{Returned: list}) }
