package dispatch_test

import (
	"testing"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/ledger"
	"bursar/internal/rail"
)

// More payouts of a workspace wait than one claim takes, and all of them were due before.
func TestPayoutsThatWaitInAWorkspaceHoldUpNoOther(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		numbers := make([]string, 501)
		for i := range numbers {
			numbers[i] = number("0001")
		}
		held := b.pay(numbers...)
		var id string
		if err := b.vault.Ready(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		b.clock.advance(1)
		b.write(func(tx *db.Tx) error {
			if err := rail.SetSimulated(tx, "ws_1", "instapay", rail.Down, ""); err != nil {
				return err
			}
			if err := tx.Exec(`INSERT INTO workspace (id, number, organization_id, name, slug, member_version, created_at) VALUES ('ws_2', 2, 'org_1', 'Two', 'two', 0, 0)`); err != nil {
				return err
			}
			a, err := ledger.NewAccount(tx, "ws_2", "Payroll", "PHP", api.ModeSandbox)
			if err != nil {
				return err
			}
			_, event, err := ledger.Deposit(tx, a, amount, api.DepositFromSimulation, "", true)
			if b.events = append(b.events, event); err != nil {
				return err
			}
			ids, err := putPending(tx, b.vault, a, 2, "instapay", amount, number("0001"))
			id = ids[0]
			return err
		})
		b.turn()
		b.is(id, "completed")
		b.is(held[0], "pending")
		b.is(held[500], "pending")
		b.write(func(tx *db.Tx) error { return rail.SetSimulated(tx, "ws_1", "instapay", rail.Up, "") })
		b.turn()
		b.is(held[0], "completed")
		b.is(held[500], "completed")
	})
}
