package ledger

import (
	"strings"

	"bursar/api"
	"bursar/internal/db"
)

// AccountKind is the purpose of an account. See the package's documentation.
type AccountKind string

// The kinds of accounts.
const (
	Customer AccountKind = "customer"
	Clearing AccountKind = "clearing"
	Bank     AccountKind = "bank"
	Fees     AccountKind = "fees"
	Suspense AccountKind = "suspense"
)

// Account is a row of ledger_account.
type Account struct {
	ID          string
	WorkspaceID string // "" for accounts of the system
	Kind        AccountKind
	Name        string
	Currency    string
	Mode        string // api.ModeSandbox or api.ModeLive
	Status      string // api.AccountActive, api.AccountFrozen or api.AccountClosed
	Available   int64
	Reserved    int64
	Pending     int64
	Postings    int64 // the number of the last one
	Version     int64 // of name and status, not of the balances
	CreatedAt   int64
	UpdatedAt   int64
}

const accountColumns = `id, workspace_id, kind, name, currency, mode, status, available, reserved, pending, postings, version, created_at, updated_at`

func readAccount(r db.Rows) Account {
	return Account{
		ID: r.Text(0), WorkspaceID: r.Text(1), Kind: AccountKind(r.Text(2)), Name: r.Text(3), Currency: r.Text(4), Mode: r.Text(5), Status: r.Text(6),
		Available: r.Int(7), Reserved: r.Int(8), Pending: r.Int(9), Postings: r.Int(10), Version: r.Int(11), CreatedAt: r.Int(12), UpdatedAt: r.Int(13),
	}
}

// oneAccount returns the account of the only row of a result; its id is "" if there is none.
func oneAccount(q db.Q, sql string, args ...any) (a Account, err error) {
	err = q.Each(func(r db.Rows) error {
		a = readAccount(r)
		return nil
	}, sql, args...)
	return a, err
}

// FindAccount reads an account; its id is "" if there is none.
func FindAccount(q db.Q, id string) (Account, error) {
	return oneAccount(q, `SELECT `+accountColumns+` FROM ledger_account WHERE id = $1`, id)
}

// LockAccount reads an account and locks it until the transaction ends.
func LockAccount(tx *db.Tx, id string) (Account, error) {
	return oneAccount(tx.Q, `UPDATE ledger_account SET version = version WHERE id = $1 RETURNING `+accountColumns, id)
}

// system begins the ids of the system's accounts, which sort after those of customers: see Locks in
// the package's documentation.
const system = "sys_"

// SystemAccount returns the id of an account of the system. Post creates the account when it is first needed.
func SystemAccount(kind AccountKind, currency, mode string) string {
	return system + string(kind) + "_" + currency + "_" + mode
}

const insertAccount = `INSERT INTO ledger_account (` + accountColumns + `)
	VALUES ($1, $2, $3, $4, $5, $6, 'active', 0, 0, 0, 0, 1, $7, $7) ON CONFLICT (id) DO NOTHING`

// makeSystemAccount creates the account that an id of SystemAccount names. It reports whether the id is such an id.
func makeSystemAccount(tx *db.Tx, id string) (bool, error) {
	part := strings.Split(strings.TrimPrefix(id, system), "_")
	if !strings.HasPrefix(id, system) || len(part) != 3 {
		return false, nil
	}
	return true, tx.Exec(insertAccount, id, nil, part[0], part[0], part[1], part[2], tx.Now())
}

// NewAccount creates an empty account of a workspace.
func NewAccount(tx *db.Tx, workspaceID, name, currency, mode string) (Account, error) {
	now := tx.Now()
	a := Account{
		ID: tx.NewID("acc"), WorkspaceID: workspaceID, Kind: Customer, Name: name, Currency: currency, Mode: mode, Status: api.AccountActive,
		Version: 1, CreatedAt: now, UpdatedAt: now,
	}
	return a, tx.Exec(insertAccount, a.ID, a.WorkspaceID, string(a.Kind), a.Name, a.Currency, a.Mode, now)
}
