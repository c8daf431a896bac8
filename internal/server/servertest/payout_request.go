package servertest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

// Payouts and PayoutBatches are the endpoints that create payouts.
const (
	Payouts       = "/v2/payout-requests"
	PayoutBatches = "/v2/batch-payout-requests"
)

// BPI is a bank that both rails reach.
const BPI = "BOPIPHMMXXX"

// PayoutTo returns the destination of a payout at a bank.
func PayoutTo(bank, number string) Body {
	return Body{"bank_account_name": "Juan dela Cruz", "bank_account_number": number, "bank_code": bank}
}

// PayoutRequest returns a request for a payout to an account that takes any. A nil in more removes a field.
func PayoutRequest(account string, amount int64, more ...Body) Body {
	r := Body{"source_account_id": account, "amount_cents": amount, "currency": "PHP", "settlement_account": PayoutTo(BPI, "1234567890")}
	for _, m := range more {
		maps.Copy(r, m)
	}
	maps.DeleteFunc(r, func(_ string, value any) bool { return value == nil })
	return r
}

// Pay creates a payout and returns its id.
func (c *Client) Pay(account string, amount int64, more ...Body) string {
	c.t.Helper()
	return c.Post(Payouts, PayoutRequest(account, amount, more...)).Created().Text("id")
}

// Transfer moves money between accounts.
func (c *Client) Transfer(from, to string, amount int64) *Answer {
	c.t.Helper()
	return c.Post("/v2/transfers", Body{"source_account_id": from, "destination_account_id": to, "amount_cents": amount})
}

// PayoutIs requires that a payout has a status.
func (c *Client) PayoutIs(id, want string) {
	c.t.Helper()
	if got := c.Get(Payouts + "/" + id).OK().Text("status"); got != want {
		c.t.Fatalf("%s is %s, want %s", id, got, want)
	}
}

// PayoutHeld lets a payout be claimed after a limit or rule became stricter, and requires that it is held.
func (c *Client) PayoutHeld(id string) api.Payout {
	c.t.Helper()
	c.Node.RunPayouts(c.t)
	p := Decoded[api.Payout](c.Get(Payouts + "/" + id))
	if p.Status != api.PayoutPending || p.Attention != "recheck" || len(p.Attempts) != 0 {
		c.t.Fatalf("the payout is %s %q with %d attempts", p.Status, p.Attention, len(p.Attempts))
	}
	return p
}

// Has requires what an account has available and reserved.
func (c *Client) Has(account string, available, reserved int64) {
	c.t.Helper()
	if got := c.Balances(account); got != [3]int64{available, reserved, 0} {
		c.t.Fatalf("the account has %v available, reserved and pending, want %d and %d", got, available, reserved)
	}
}

// Machine creates a machine client with a role, whose secret its maker knows, and logs it in.
func (x *Tenant) Machine(maker *Client, role string) *Client {
	x.t.Helper()
	by := db.Caller{}
	by.ID = maker.UserID
	id, secret, err := x.Node.Identity.CreateClient(x.t.Context(), by, x.WorkspaceID, "Robot", role)
	if err != nil {
		x.t.Fatal(err)
	}
	client := x.Node.Holder(x.t, x.Node.Exchange(x.t, Basic(id, secret)).OK().Text("token"))
	client.UserID = id
	return client
}

// StoreRule stores a rule of a workspace of one person that others would have to satisfy, as if they had been there when it was made.
func (x *Tenant) StoreRule(terms Body) (id string) {
	x.t.Helper()
	text := func(name string) string { s, _ := terms[name].(string); return s }
	keys, _ := terms["keys_may_approve"].(bool)
	_, err := db.Write(x.t.Context(), x.Node.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		id = tx.NewID("rul")
		event := audit.Event{Action: audit.PayoutRuleCreated, WorkspaceID: x.WorkspaceID, ResourceID: id, Description: "Set a rule"}
		return struct{}{}, event, tx.Exec(`INSERT INTO payout_rule (id, workspace_id, account_id, rail, client_id, above, up_to, approvals, role, keys_may, status, created_at, active_at,
				mode, per, each_of, alone)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'active', $11, $11, 'both', 'payout', '', $10)`,
			id, x.WorkspaceID, text("account_id"), text("rail"), text("client_id"), terms["above_cents"], terms["up_to_cents"], terms["approvals"], text("role"), keys, tx.Now())
	})
	if err != nil {
		x.t.Fatal(err)
	}
	return id
}

// Write changes the store as something that is not tested would.
func (n *Node) Write(t testing.TB, fn func(tx *db.Tx) error) {
	t.Helper()
	_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), fn(tx)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// StartLive starts a server with a live rail that has the name of one of the sandbox, and returns a live account that has 1,000.00.
func StartLive(t testing.TB, store dbtest.Store) (n *Node, x *Tenant, account string) {
	t.Helper()
	folder := t.TempDir()
	file := filepath.Join(folder, "rails.json")
	text := fmt.Sprintf(`{"connectors": {"ourbank": {"kind": "iso20022", "settings": {"folder": %q, "debtor_name": "Bursar", "debtor_account": "001234567890",
		"debtor_bank": "BOPIPHMMXXX", "final": "ACSC"}}},
		"rails": [{"name": "instapay", "currency": "PHP", "minimum_cents": 100, "connector": "ourbank", "always": true, "members": "I"}]}`, folder)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n = Start(t, store, func(c *config.Serve) { c.Rails = file })
	x = n.Tenant(t)
	account = x.LiveAccount()
	x.Deposit(account, 100_000)
	return n, x, account
}
