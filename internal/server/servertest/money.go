package servertest

import (
	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/ledger"
)

// Account opens an account in the sandbox with a balance, and returns its id.
func (x *Tenant) Account(amount int64) string {
	x.t.Helper()
	id := x.Owner.Post("/v2/accounts", Body{"workspace_id": x.WorkspaceID, "name": "Payroll"}).Created().Text("id")
	if amount > 0 {
		x.Deposit(id, amount)
	}
	return id
}

// LiveAccount opens an account for real money with no balance, and returns its id.
func (x *Tenant) LiveAccount() (id string) {
	x.t.Helper()
	x.Node.Write(x.t, func(tx *db.Tx) error {
		a, err := ledger.NewAccount(tx, x.WorkspaceID, "Real", "PHP", api.ModeLive)
		id = a.ID
		return err
	})
	return id
}

// Deposit deposits money into an account.
func (x *Tenant) Deposit(id string, amount int64) {
	x.t.Helper()
	x.deposit(id, amount, true)
}

// Announce records a pending deposit to an account.
func (x *Tenant) Announce(id string, amount int64) {
	x.t.Helper()
	x.deposit(id, amount, false)
}

func (x *Tenant) deposit(id string, amount int64, booked bool) {
	x.t.Helper()
	by := db.SystemCaller()
	_, err := db.Write(x.t.Context(), x.Node.DB, by, func(tx *db.Tx) (api.Deposit, audit.Event, error) {
		a, err := ledger.FindAccount(tx.Q, id)
		if err != nil {
			return api.Deposit{}, audit.Event{}, err
		}
		return ledger.Deposit(tx, a, amount, api.DepositFromSimulation, "", booked)
	})
	if err != nil {
		x.t.Fatalf("deposit %d: %v", amount, err)
	}
}

// Balances returns the available, reserved and pending balances.
func (c *Client) Balances(accountID string) [3]int64 {
	c.t.Helper()
	var b api.AccountBalances
	c.Get("/v2/accounts/" + accountID + "/balances").OK().Data(&b)
	return [3]int64{b.AvailableBalance, b.ReservedBalance, b.PendingBalance}
}
