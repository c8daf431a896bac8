package servertest

import (
	"context"
	"strings"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/ledger"
	"bursar/internal/payout"
	"bursar/internal/rail"
)

// RunPayouts hands payouts to rails and processes the rails' notices until nothing is left to do, as
// the background work of a node does.
func (n *Node) RunPayouts(t testing.TB) {
	t.Helper()
	for {
		worked, err := n.Server.Dispatcher().Turn(t.Context())
		if err != nil {
			t.Fatalf("payouts: %v", err)
		}
		if !worked {
			return
		}
	}
}

// Sent creates a payout of 1,000.00 to an account number that needs no approval, and hands it to
// its rail. It returns its id.
func (x *Tenant) Sent(number string) string {
	x.t.Helper()
	id := x.pending(number, "")
	for {
		x.Node.RunPayouts(x.t)
		switch x.Owner.Get("/v2/payout-requests/" + id).OK().Text("status") { // another node may be sending it
		case "pending":
			continue
		case "processing":
			end := number[len(number)-4:]
			if end < "9011" || end > "9013" || x.sending(id) { // payouts to these numbers stay in that status
				continue
			}
		}
		return id
	}
}

// sending reports whether the answer of the rail is not stored yet.
func (x *Tenant) sending(id string) (unanswered bool) {
	x.t.Helper()
	err := x.Node.DB.Read(x.t.Context(), func(q db.Q) (err error) {
		unanswered, err = q.Row(`SELECT id FROM payout_attempt WHERE payout_id = $1 AND state = 'sending'`, id).Scan(new(string))
		return err
	})
	if err != nil {
		x.t.Fatalf("read the attempts of a payout: %v", err)
	}
	return unanswered
}

// Stuck creates a payout of a mode about which its rail contradicts itself.
func (x *Tenant) Stuck(mode string) string {
	x.t.Helper()
	id := x.Sent("1234569011")
	x.Contradict(id, mode)
	return id
}

// Contradict makes a payout need attention, as one of a mode.
func (x *Tenant) Contradict(id, mode string) {
	x.t.Helper()
	x.Node.Write(x.t, func(tx *db.Tx) error {
		return tx.Exec(`UPDATE payout SET attention = 'contradicted', mode = $2 WHERE id = $1`, id, mode)
	})
}

// Held creates a payout that was held, although no limit or rule holds it any longer.
func (x *Tenant) Held() string {
	x.t.Helper()
	x.Owner.Post(x.Path("/payout-stop"), Body{"reason": "no node may send it", "mode": "sandbox"}).OK()
	id := x.pending("1234567890", "recheck")
	x.Owner.Post(x.Path("/payout-resume"), Body{"mode": "sandbox"}).OK()
	return id
}

// pending creates a payout of 1,000.00 to an account number. Its money is reserved and it needs no approval.
func (x *Tenant) pending(number, attention string) string {
	x.t.Helper()
	const amount = 100_000
	account := x.Account(amount)
	made := x.Owner.Post("/v2/payout-requests", Body{"source_account_id": account, "amount_cents": amount, "currency": "PHP",
		"settlement_account": Body{"bank_account_name": "Juan dela Cruz", "bank_account_number": number, "bank_code": "BOPIPHMMXXX"}}).Created()
	id := made.Text("id")
	if made.Text("status") == "pending" && attention == "" {
		return id
	}
	_, err := db.Write(x.t.Context(), x.Node.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		event := audit.Event{Action: audit.PayoutApproved, WorkspaceID: x.WorkspaceID, ResourceID: id, Description: "A test approves"}
		event.Changes.Add("status", "initiated", "pending")
		if made.Text("status") == "initiated" {
			a, err := ledger.FindAccount(tx.Q, account)
			if err == nil {
				_, err = ledger.Reserve(tx, a, []ledger.Want{{Reference: id, Amount: amount}})
			}
			var rules []string // which would hold it, because it was not approved as they demand
			if err == nil {
				rules, err = db.Collect(tx.Q, func(r db.Rows) string { return r.Text(0) }, `SELECT id FROM payout_rule WHERE workspace_id = $1 ORDER BY id`, x.WorkspaceID)
			}
			if err == nil {
				err = tx.Exec(`UPDATE payout SET status = 'pending', approval_id = NULL, overrides = $3, send_at = $2 WHERE id = $1`, id, tx.Now(), strings.Join(rules, " "))
			}
			if err == nil {
				err = payout.Authenticate(tx, x.Node.Vault, id)
			}
			if err != nil {
				return struct{}{}, event, err
			}
		}
		return struct{}{}, event, tx.Exec(`UPDATE payout SET attention = $2 WHERE id = $1`, id, attention)
	})
	if err != nil {
		x.t.Fatalf("reserve: %v", err)
	}
	return id
}

// Simulate stores how services are in the sandbox of a workspace, and lets everyone know.
func Simulate(d *db.DB, workspaceID string, status rail.Status, services ...string) error {
	_, err := db.Write(context.Background(), d, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		for _, service := range services {
			if err := rail.SetSimulated(tx, workspaceID, service, status, "a test"); err != nil {
				return struct{}{}, audit.Event{}, err
			}
		}
		return struct{}{}, audit.Event{Action: audit.SimulatedServiceChanged, WorkspaceID: workspaceID, Description: "A test drives services"}, nil
	})
	return err
}
