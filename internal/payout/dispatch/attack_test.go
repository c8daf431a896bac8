package dispatch_test

import (
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/rail"
)

// It was retried, and only then the rail says that the first attempt was paid.
func TestAPayoutThatIsContradictedWhileItWaitsIsNotSent(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("9001"))[0]
		b.turn()
		b.write(func(tx *db.Tx) error { return rail.SetSimulated(tx, "ws_1", "instapay", rail.Down, "so that it waits") })
		b.write(func(tx *db.Tx) error {
			b.logs(audit.PayoutRetried, id)
			_, err := retryFailed(tx, b.vault, id)
			return err
		})
		b.hear("late", decided(id, rail.Completed, ""))
		b.is(id, "pending contradicted")
		b.write(func(tx *db.Tx) error { return rail.SetSimulated(tx, "ws_1", "instapay", rail.Up, "") })
		b.turn()
		b.is(id, "pending contradicted")
		equal(t, "attempts", b.attempts(id), []string{"1 rejected"})
	})
}
