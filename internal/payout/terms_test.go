package payout_test

import (
	"math"
	"testing"

	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

// Neither a retry nor an approval gives a payout a new code that was changed in the store.
func TestAChangedPayoutIsNeitherRetriedNorReleased(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		forge := func(id string) {
			n.Write(t, func(tx *db.Tx) error { return tx.Exec(`UPDATE payout SET account_name = 'Mallory' WHERE id = $1`, id) })
		}
		failed := maker.Pay(account, 10_000, body{"settlement_account": to(bpi, "1234569001")})
		approve(second, failed).OK()
		n.RunPayouts(t)
		maker.PayoutIs(failed, "failed")
		forge(failed)
		n.Write(t, func(tx *db.Tx) error { // so many submissions are not tried
			return tx.Exec(`UPDATE payout_attempt SET not_paid = $2 WHERE payout_id = $1`, failed, int64(math.MaxInt64))
		})
		maker.Post(payouts+"/"+failed+"/retry", nil).Fails(422, "PAYOUT_STATE")

		held := maker.Pay(account, 10_000)
		approve(second, held).OK()
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		p := maker.PayoutHeld(held)
		forge(held)
		second.Approve(p.RecheckApprovalID).Fails(422, "PAYOUT_STATE")
		maker.PayoutHeld(held)
	})
}
