package payout_test

import (
	"testing"

	"bursar/internal/server/servertest"
)

func TestAPayoutThatIsThereIsFoundWhenItsAccountCouldNotPayItAgain(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(1_000)
		again := body{"external_id": "once"}
		id := x.Owner.Pay(account, 1_000, again)
		if got := x.Owner.Post(payouts, request(account, 1_000, again)).OK().Text("id"); got != id {
			t.Errorf("the payout is %s, want %s", got, id)
		}
		x.Owner.Has(account, 0, 1_000)
	})
}
