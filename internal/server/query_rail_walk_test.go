package server_test

import (
	"fmt"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/ledger"
	"bursar/internal/rail"
	"bursar/internal/rail/simulator"
)

// payments fills the bank of the sandbox. A few payments have something to tell, and services are down
// in some workspaces.
func (c *town) payments() {
	c.insert("simulated_service", "workspace_id, service, status, reason, since", c.many.others, func(i int) []any {
		return []any{c.workspaces[i%len(c.workspaces)], fmt.Sprintf("BANK%d", i), []string{"up", "up", "degraded", "down"}[i%4], "", c.past(i, c.many.others)}
	})
	c.insert("simulated_payment", "end_to_end_id, payout_id, rail, amount, currency, digits, state, code, return_code, taken_at, tell, due_at", c.many.others, func(i int) []any {
		var tell, due any
		if i%100 == 0 {
			tell, due = "settled", c.past(i, c.many.others)
		}
		return []any{fmt.Sprintf("PO%d", mixed(i)), fmt.Sprintf("po_%d", i), "instapay", 100, "PHP", "", "completed", "", "", c.past(i, c.many.others), tell, due}
	})
}

// rails lets every thing happen to payments of the sandbox that can.
func (w *tour) rails() {
	bank := simulator.New(w.node.DB)
	instapay := &rail.Rail{Name: "instapay", Currency: "PHP", Connector: bank}
	change := func(fn func(tx *db.Tx) (bool, error)) {
		_, err := db.Write(w.t.Context(), w.node.DB, db.Caller{}, func(tx *db.Tx) (bool, audit.Event, error) {
			done, err := fn(tx)
			return done, audit.None("the endpoints audit it"), err
		})
		w.must(err)
	}
	var list []rail.Payment
	for _, digits := range []string{"0000", "9011", "9012", "9013", "9014"} {
		list = append(list, rail.Payment{EndToEndID: "WALK" + digits, PayoutID: "po_" + digits, Attempt: 1, WorkspaceID: w.town.large.WorkspaceID, Amount: 100, Currency: "PHP", To: rail.Destination{AccountNumber: digits}})
	}
	w.begin("payments in the sandbox")
	for range 2 {
		_, err := bank.Submit(w.t.Context(), instapay, list)
		w.must(err)
		_, err = bank.LookUp(w.t.Context(), instapay, list)
		w.must(err)
	}
	w.begin("payments that are driven")
	change(func(tx *db.Tx) (bool, error) { return bank.Settle(tx, "WALK9011") })
	change(func(tx *db.Tx) (bool, error) { return bank.Return(tx, "WALK9011", "AC04") })
	w.begin("what the sandbox tells")
	for range 2 {
		all, err := bank.Receive(w.t.Context())
		w.must(err)
		for _, m := range all {
			w.must(bank.Done(w.t.Context(), m))
		}
		w.node.Clock.Advance(time.Minute)
	}
	w.begin("a deposit that a bank announces")
	change(func(tx *db.Tx) (bool, error) { return ledger.HasDeposit(tx.Q, ledger.Account{ID: "acc_1"}, 1, "R1") })
}
