package payout_test

import (
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

// Who asked for a payout that was paid, and can write to the store, does not have it paid once more on the old approval.
func TestAPaidPayoutIsNotRetriedByARow(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		id := maker.Pay(account, 10_000)
		approve(second, id).OK()
		n.RunPayouts(t)
		maker.PayoutIs(id, "completed")
		n.Write(t, func(tx *db.Tx) error { return tx.Exec(`UPDATE payout SET status = 'failed' WHERE id = $1`, id) })
		answer := maker.Post(payouts+"/"+id+"/retry", nil)
		n.RunPayouts(t)
		if p := servertest.Decoded[api.Payout](maker.Get(payouts + "/" + id)); len(p.Attempts) > 1 {
			t.Errorf("the retry answered %d, and the payout is %s with %d attempts: it was paid twice, and approved once", answer.Status, p.Status, len(p.Attempts))
		}
	})
}

// An API key lets a device in: that is no sign-in.
func TestAKeyDoesNotConfirmAHeldPayoutByADevice(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		id := x.Owner.Pay(x.Account(100_000), 10_000) // with a key
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		x.Owner.PayoutHeld(id)
		x.Owner.Post(payouts+"/"+id+"/confirm", nil).Fails(403, "FORBIDDEN")
		code := n.NewDeviceCode(t, nil)
		x.Owner.Decide(code, "approve").OK()
		device := *x.Owner
		device.Token = n.PollDevice(t, code).OK().Text("token")
		n.Clock.Advance(time.Hour)
		if got := device.Post(payouts+"/"+id+"/confirm", nil); got.Status/100 != 4 {
			t.Errorf("a key has released it: %d %s", got.Status, got.Body)
		}
	})
}

// A rule that demands people is stricter than one that lets keys approve.
func TestARuleThatLetsNoKeysApproveIsStricter(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		colleague := x.Member("admin") // a session of a key
		rule := x.Owner.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 1, "keys_may_approve": true}).Created()
		n.Person(t, colleague).Approve(rule.Text("approval_id")).OK()
		id := x.Owner.Pay(account, 10_000)
		approve(colleague, id).OK()
		n.Clock.Advance(time.Second)
		x.Owner.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 1, "above_cents": 5_000}).Created()
		x.Owner.PayoutHeld(id)
	})
}
