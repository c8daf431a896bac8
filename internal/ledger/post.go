package ledger

import (
	"fmt"
	"maps"
	"slices"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// Bucket is a part of an account's money.
type Bucket string

// The buckets of an account.
const (
	BucketAvailable Bucket = "available"
	BucketReserved  Bucket = "reserved"
	BucketPending   Bucket = "pending"
)

// Kind is the kind of a transaction. See the package's documentation.
type Kind string

// The kinds of transactions.
const (
	KindDeposit  Kind = "deposit"
	KindAnnounce Kind = "announce"
	KindBook     Kind = "book"
	KindReserve  Kind = "reserve"
	KindRelease  Kind = "release"
	KindComplete Kind = "complete"
	KindSettle   Kind = "settle"
	KindReturn   Kind = "return"
	KindReopen   Kind = "reopen"
	KindTransfer Kind = "transfer"
	KindSuspend  Kind = "suspend"
)

// Move is the change of a bucket of an account. Accounts of the system have only BucketAvailable.
type Move struct {
	AccountID string
	Bucket    Bucket
	Amount    int64 // never 0
}

// Transaction moves money: the amounts of its moves sum to zero.
type Transaction struct {
	Kind        Kind
	WorkspaceID string // the workspace it belongs to; "" for none
	Reference   string // what it is for, such as the id of a payout
	Description string
	Moves       []Move
}

// maxBalance bounds what a bucket holds, as the constraints of the store do.
const maxBalance int64 = 1_000_000_000_000_000_000

// Post writes transactions, in the order given, and returns their ids. Each account is updated once, in the order of ids. If an account has
// not enough money, it returns INSUFFICIENT_FUNDS, and if one is closed, ACCOUNT_CLOSED. Then the caller must roll back the transaction of
// the store.
func Post(tx *db.Tx, list ...Transaction) (ids []string, err error) {
	ids, refused, err := post(tx, "", list)
	if err == nil && refused != "" {
		err = whyRefused(tx, refused, net(list)[refused])
	}
	return ids, err
}

// sums are the total changes of an account by several transactions.
type sums struct{ available, reserved, pending, postings int64 }

// bucket returns the sum of a bucket, or nil.
func (s *sums) bucket(b Bucket) *int64 {
	switch b {
	case BucketAvailable:
		return &s.available
	case BucketReserved:
		return &s.reserved
	case BucketPending:
		return &s.pending
	}
	return nil
}

func net(list []Transaction) map[string]sums {
	all := map[string]sums{}
	for _, t := range list {
		for _, m := range t.Moves {
			s := all[m.AccountID]
			if at := s.bucket(m.Bucket); at != nil {
				*at = limited(*at + limited(m.Amount))
			}
			s.postings++
			all[m.AccountID] = s
		}
	}
	return all
}

// limited keeps a sum far from the limits of 64 bits. Sums that it changes are refused by the constraints.
func limited(n int64) int64 { return max(-3*maxBalance, min(3*maxBalance, n)) }

// post is Post for a spender who must be active, if one is given. It returns the account that refuses. No account with a higher id was
// changed before.
func post(tx *db.Tx, spender string, list []Transaction) (ids []string, refused string, err error) {
	changes := net(list)
	accounts := make(map[string]*running, len(changes))
	for _, id := range slices.Sorted(maps.Keys(changes)) {
		a, err := add(tx, id, changes[id], id == spender)
		if err != nil || a.ID == "" {
			return nil, id, err
		}
		accounts[id] = newRunning(a, changes[id])
	}
	now := tx.Now()
	ids = make([]string, len(list))
	transactions, postings := make([][]any, 0, len(list)), make([][]any, 0, 2*len(list))
	for i, t := range list {
		if len(t.Moves) == 0 {
			return nil, "", fmt.Errorf("a %s of %s moves nothing", t.Kind, t.Reference)
		}
		ids[i] = tx.NewID("txn")
		var sum int64
		covered := make([]posting, 0, len(t.Moves))
		first := accounts[t.Moves[0].AccountID]
		for _, m := range t.Moves {
			a := accounts[m.AccountID]
			balance := a.balance.bucket(m.Bucket)
			if balance == nil || m.Amount == 0 || a.Currency != first.Currency || a.Mode != first.Mode {
				return nil, "", fmt.Errorf("a %s of %s moves %d of %s %s beside %s %s, bucket %q", t.Kind, t.Reference, m.Amount, a.Mode, a.Currency, first.Mode, first.Currency, m.Bucket)
			}
			sum = limited(sum + m.Amount)
			*balance += m.Amount
			if a.Kind == Customer && *balance < 0 { // only a later transaction compensates for it
				return nil, "", Insufficient(a.Currency, *balance-m.Amount, -m.Amount)
			}
			a.number++
			postings = append(postings, []any{m.AccountID, a.number, ids[i], string(m.Bucket), m.Amount, *balance, a.UpdatedAt})
			covered = append(covered, posting{m.AccountID, a.number, m.Bucket, m.Amount, *balance})
		}
		code := transactionMAC(tx.Integrity(), ids[i], t.WorkspaceID, string(t.Kind), t.Reference, covered)
		transactions = append(transactions, []any{ids[i], db.NullText(t.WorkspaceID), string(t.Kind), t.Reference, t.Description, now, code})
		if sum != 0 {
			return nil, "", fmt.Errorf("a %s of %s sums to %d", t.Kind, t.Reference, sum)
		}
	}
	if err := tx.InsertRows(`INSERT INTO ledger_transaction (id, workspace_id, kind, reference, description, created_at, mac) VALUES `, `($1, $2, $3, $4, $5, $6, $7)`, transactions); err != nil {
		return nil, "", err
	}
	return ids, "", tx.InsertRows(`INSERT INTO ledger_posting (account_id, number, transaction_id, bucket, amount, balance, created_at) VALUES `, `($1, $2, $3, $4, $5, $6, $7)`, postings)
}

// running is an account while its postings are numbered.
type running struct {
	Account
	balance sums
	number  int64
}

// newRunning returns an account as it was before the given changes, which its row already has.
func newRunning(a Account, s sums) *running {
	return &running{Account: a, number: a.Postings - s.postings,
		balance: sums{available: a.Available - s.available, reserved: a.Reserved - s.reserved, pending: a.Pending - s.pending}}
}

// add changes the buckets of an account, and returns the changed account; its id is "" if the account refuses.
func add(tx *db.Tx, id string, s sums, spends bool) (a Account, err error) {
	change := func() (Account, error) {
		return oneAccount(tx.Q, `UPDATE ledger_account SET available = available + $2, reserved = reserved + $3, pending = pending + $4, postings = postings + $5,
				updated_at = CASE WHEN updated_at < $6 THEN $6 ELSE updated_at END
			WHERE id = $1 AND (kind <> 'customer' OR available + $2 BETWEEN 0 AND $7 AND reserved + $3 BETWEEN 0 AND $7 AND pending + $4 BETWEEN 0 AND $7
				AND status <> 'closed' AND (status = 'active' OR NOT $8))
			RETURNING `+accountColumns, id, s.available, s.reserved, s.pending, s.postings, tx.Now(), maxBalance, spends)
	}
	if a, err = change(); err != nil || a.ID != "" {
		return a, err
	}
	made, err := makeSystemAccount(tx, id)
	if err == nil && made {
		a, err = change()
	}
	return a, err
}

// whyRefused returns why an account refuses changes.
func whyRefused(tx *db.Tx, id string, s sums) error {
	a, err := FindAccount(tx.Q, id)
	switch {
	case err != nil:
		return err
	case a.ID == "":
		return fmt.Errorf("the ledger has no account %s", id)
	case a.Status == api.AccountClosed:
		return fault.New(api.CodeAccountClosed, "account %s is closed", id)
	case a.Available+s.available > maxBalance || a.Reserved+s.reserved > maxBalance || a.Pending+s.pending > maxBalance:
		return fault.New(api.CodeValidation, "account %s cannot hold that much", id)
	case a.Reserved+s.reserved < 0 || a.Pending+s.pending < 0:
		return fmt.Errorf("account %s has %d reserved and %d pending, and they would change by %d and %d", id, a.Reserved, a.Pending, s.reserved, s.pending)
	}
	return Insufficient(a.Currency, a.Available, -s.available)
}

// Insufficient returns the fault for an account with too little money. The message has formatted amounts, because the details have no
// currency.
func Insufficient(currency string, available, requested int64) error {
	return &fault.Fault{
		Code: api.CodeInsufficientFunds, Message: fmt.Sprintf("the available balance is too low: %s is available, and this takes %s, so %s is missing",
			api.FormatAmount(available, currency), api.FormatAmount(requested, currency), api.FormatAmount(requested-available, currency)),
		Details: api.FundsDetails{AvailableBalance: available, RequestedAmount: requested},
	}
}

// notActive returns the fault for spending from an account that is frozen or closed. ACCOUNT_CLOSED is about payees: programs stop paying
// them.
func notActive(a Account) error {
	return &fault.Fault{Code: api.CodeAccountFrozen, Message: "account " + a.ID + " is " + a.Status, Details: api.AccountStatusDetails{Status: a.Status}}
}
