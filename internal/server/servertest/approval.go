package servertest

import (
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/identity"
)

// Person signs in the person behind a client. It uses a device code that they approve in a
// browser, so that the session depends on no API key.
func (n *Node) Person(t testing.TB, c *Client) *Client {
	t.Helper()
	code := n.NewDeviceCode(t, nil)
	user := n.ApproveAtBrowser(t, c, code)
	return &Client{Node: n, Token: n.PollDevice(t, code).OK().Text("token"), UserID: user, t: t}
}

// ApproveAtBrowser approves a device code as the person behind a client, who has just signed in at
// a browser. It returns their id.
func (n *Node) ApproveAtBrowser(t testing.TB, c *Client, code string) string {
	t.Helper()
	user := Decoded[struct{ ID, Email, Name string }](c.Get("/v1/auth/me"))
	browser := db.Caller{Actor: audit.Actor{Type: audit.User, ID: user.ID, Email: user.Email, Name: user.Name, LoggedInAt: n.DB.Now()}}
	if _, err := n.Identity.Approve(t.Context(), browser, identity.CodeInput{Code: code}); err != nil {
		t.Fatalf("approve a device code: %v", err)
	}
	return user.ID
}

// Pair creates a tenant with two admins: maker, the requester, with an API key, and second,
// the approver, signed in as a person. Changes need both.
func (n *Node) Pair(t testing.TB) (x *Tenant, maker, second *Client) {
	t.Helper()
	x = n.Tenant(t)
	return x, x.Owner, n.Person(t, x.Member("admin"))
}

// Approve approves an approval in the version that was shown to the caller.
func (c *Client) Approve(id string) *Answer {
	c.t.Helper()
	shown := c.Get("/v1/approvals/" + id).OK()
	return c.Post("/v1/approvals/"+id+"/approve", Body{"digest": shown.Text("digest"), "verification": "Called the payee."})
}

// Unverified creates a payout that one of two people has approved. The addresses of its requester and of that person are not verified,
// and both have a new role. It returns the payout and its approval.
func (x *Tenant) Unverified() (payoutID, approvalID string) {
	x.t.Helper()
	first, maker := x.Member("admin"), x.Member("disbursement_manager")
	maker.SetEmailProof(x.t, "")
	first.SetEmailProof(x.t, "")
	x.Owner.Post("/v2/approval-rules", Body{"workspace_id": x.WorkspaceID, "approvals": 2}).Created()
	made := maker.Post("/v2/payout-requests", Body{"source_account_id": x.Account(100_000), "amount_cents": 1_000, "currency": "PHP",
		"settlement_account": Body{"bank_account_name": "Ada", "bank_account_number": "1234567890", "bank_code": "BOPIPHMMXXX"}}).Created()
	x.Node.Person(x.t, first).Approve(made.Text("approval_id")).OK()
	return made.Text("id"), made.Text("approval_id")
}

// EverybodyCounts makes all approvers of the tenant's workspace count from when it first had
// two, so that a test need not let a day pass.
func (x *Tenant) EverybodyCounts() {
	x.t.Helper()
	_, err := db.Write(x.t.Context(), x.Node.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		if err := tx.Exec(`DELETE FROM approver WHERE workspace_id = $1`, x.WorkspaceID); err != nil {
			return struct{}{}, audit.Event{}, err
		}
		return struct{}{}, audit.None("a test"), tx.Exec(`UPDATE receiving_policy SET two_seen_at = 0, payouts_seen_at = 0 WHERE workspace_id = $1`, x.WorkspaceID)
	})
	if err != nil {
		x.t.Fatalf("let everybody count: %v", err)
	}
}

// Again signs in the person behind a client again, with a new API key. Tests that let a long
// time pass need it.
func (c *Client) Again(t testing.TB) *Client {
	t.Helper()
	var email string
	err := c.Node.DB.Read(t.Context(), func(q db.Q) error {
		_, err := q.Row(`SELECT email FROM account WHERE id = $1`, c.UserID).Scan(&email)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := c.Node.Identity.CreateKeyFor(t.Context(), db.Caller{}, email, identity.NewKey{Name: "again", Scope: audit.Scope{Administer: true}})
	if err != nil {
		t.Fatal(err)
	}
	return c.Node.Login(t, key)
}
