package ledger_test

import (
	"testing"

	"bursar/internal/server/servertest"
)

// One person may change accounts and decides no payouts; the other one decides payouts and could approve.
func TestWhoDecidesNoPayoutsDoesNotUnfreezeALiveAccountAlone(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		path := "/v2/accounts/" + x.LiveAccount()
		x.Define("bookkeeper", "ws.accounts.read", "ws.accounts.write")
		keeper := x.Member("bookkeeper")
		x.EverybodyCounts()
		x.Owner.Patch(path, body{"status": "frozen"}).OK()
		if got := keeper.Patch(path, body{"status": "active"}); got.Status != 403 {
			t.Errorf("unfrozen by one: %d %s", got.Status, got.Body)
		}
	})
}
