package payout_test

import (
	"strings"
	"testing"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/payout"
	"bursar/internal/rail"
	"bursar/internal/server/servertest"
)

// attend marks a payout as one that somebody has to look at.
func attend(t testing.TB, n *servertest.Node, id, why string) {
	t.Helper()
	put(t, n, func(tx *db.Tx) error { return tx.Exec(`UPDATE payout SET attention = $2 WHERE id = $1`, id, why) })
}

// The rail has refused it and says later that it was paid: who pays it again pays it twice.
func TestAContradictedPayoutIsNotRetried(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		id := pay(x.Owner, account, 10_000)
		fail(t, n, id, "BANK_UNAVAILABLE")
		attend(t, n, id, "contradicted")
		if got := x.Owner.Post(payouts+"/"+id+"/retry", nil).Fails(422, "PAYOUT_STATE").Message(); !strings.Contains(got, "may have been paid") {
			t.Errorf("the answer says %q", got)
		}
		state(x.Owner, id, "failed")
		has(x.Owner, account, 100_000, 0)
	})
}

func TestAContradictedPayoutIsNotApproved(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		id := pay(maker, account, 10_000)
		attend(t, n, id, "contradicted")
		approve(second, id).Fails(422, "PAYOUT_STATE")
		state(maker, id, "initiated")
		has(maker, account, 100_000, 0)
	})
}

// It was retried, and only then the rail says that the first attempt was paid.
func TestAPayoutThatIsContradictedWhileItWaitsIsNotSent(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("9001"))[0]
		b.turn()
		b.write(func(tx *db.Tx) error { return rail.SetStatus(tx, true, "instapay", rail.Down, "so that it waits") })
		b.write(func(tx *db.Tx) error {
			_, err := payout.RetryFailed(tx, id)
			return err
		})
		b.hear("late", decided(id, rail.Completed, ""))
		b.is(id, "pending contradicted")
		b.write(func(tx *db.Tx) error { return rail.SetStatus(tx, true, "instapay", rail.Up, "") })
		b.turn()
		b.is(id, "pending contradicted")
		equal(t, "attempts", b.attempts(id), []string{"1 rejected"})
	})
}
