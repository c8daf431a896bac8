package servertest

import (
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/ledger"
	"bursar/internal/operator"
)

// Operate makes the person behind a client an operator.
func (c *Client) Operate(permissions ...string) *Client {
	c.t.Helper()
	if _, err := operator.Add(c.t.Context(), c.Node.DB, db.Caller{}, c.Email(), permissions); err != nil {
		c.t.Fatalf("make an operator: %v", err)
	}
	return c
}

// OperatorDeposit requests a deposit at the command line of the machine.
func (n *Node) OperatorDeposit(c *Client, account, reference string, amount int64) (operator.Outcome, error) {
	by := db.Caller{Actor: audit.SystemActor("bursar admin (root)")}
	return db.Write(c.t.Context(), n.DB, by, func(tx *db.Tx) (operator.Outcome, audit.Event, error) {
		to, err := ledger.FindAccount(tx.Q, account)
		if err != nil {
			return operator.Outcome{}, audit.Event{}, err
		}
		return operator.Deposit(tx, by, to, amount, reference, "opening balance")
	})
}
