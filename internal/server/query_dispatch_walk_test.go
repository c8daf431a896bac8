package server_test

import (
	"fmt"
	"time"

	"bursar/internal/payout"
	"bursar/internal/server/servertest"
	"bursar/internal/vault"
)

// status is what has become of a payout that fills a store, and of its attempt.
func status(i int) (payoutStatus, attemptState string) {
	switch i % 100 {
	case 0:
		return "pending", "not_received"
	case 1:
		return "processing", "unknown"
	}
	return "completed", "completed"
}

// attempts fills what payouts have become at their rails. A few of them wait: to be sent, or to be
// asked about.
func (c *town) attempts() {
	many := c.many.payouts
	ids, attempts := c.ids("po", many), c.ids("att", many)
	const columns = `id, workspace_id, account_id, amount, currency, mode, external_id, description, rail, rail_asked, rail_why, entry_id, method_id, institution_code,
		account_name, name_key, account_sealed, sealed_by, destination_key, batch_id, status, attention, failure_code, failure_reason, failure_text, cancel_reason, maker_id,
		involved, approval_id, approval_why, attempts, reserved_at, send_at, expected_at, version, created_at, updated_at, ended_at`
	c.insert("payout", columns, many, func(i int) []any {
		is, _ := status(i)
		at := c.past(i, many)
		sendAt := at
		if is == "pending" {
			sendAt = c.now + 1e9 // the test itself says what is due
		}
		sealed, err := c.vault.Seal(int64(c.numbers[c.spread(i)]), vault.PayoutAccount(ids[i]), []byte("1234567890"))
		if err != nil {
			c.t.Fatal(err)
		}
		return []any{ids[i], c.workspaces[c.spread(i)], c.ledger, 100, "XTS", "sandbox", fmt.Sprint("x-", i), "", []string{"instapay", "pesonet"}[i%2], "", "", nil, nil, "BOPIPHMMXXX",
			"Ada", fmt.Sprint("ada ", mixed(i)), sealed, vault.KeyOf(sealed), []byte(fmt.Sprint(mixed(i))), nil, is, "", "", "", "", "", c.accounts[i%len(c.accounts)],
			"", nil, "", 1, at, sendAt, at, 1, at, at, 0}
	})
	c.insert("payout_attempt", "id, payout_id, number, end_to_end_id, state, code, text, reference, node, ask_at, asked, created_at, answered_at, settled_at", many, func(i int) []any {
		_, is := status(i)
		at := c.past(i, many)
		return []any{attempts[i], ids[i], 1, payout.EndToEndID(ids[i], 1), is, "", "", "", "node", c.now + 1e9, 0, at, at, 0}
	})
	c.insert("rail_notice", "connector, message_id, entry_id, kind, payout_id, taken_at", many, func(i int) []any {
		return []any{"simulator", "simulator", "settled/" + payout.EndToEndID(ids[i], 1), "settled", ids[i], c.past(i, many)}
	})
}

// dispatch brings payouts to all ends that they can have.
func (w *tour) dispatch() {
	x := w.town.large
	w.begin("payouts at their rails")
	var last string
	for _, end := range []string{"0001", "9001", "9011", "9012", "9013", "9014"} {
		last = x.Sent("123456" + end)
	}
	w.node.Clock.Advance(10 * time.Second)
	w.node.RunPayouts(w.t)
	w.node.Clock.Advance(10 * time.Second)
	w.node.RunPayouts(w.t)

	w.begin("services")
	service := func(name, status string) {
		x.Owner.Post("/v2/simulations/services/"+name, servertest.Body{"workspace_id": x.WorkspaceID, "status": status}).OK()
	}
	service("BNORPHMMXXX", "down")
	x.Sent("1234560001")
	service("BNORPHMMXXX", "up")
	for _, name := range []string{"instapay", "simulator", "BOPIPHMMXXX"} {
		x.Owner.Get("/v2/payout-requests/health/" + name).OK()
		x.Owner.Get("/v2/payout-requests/health/" + name + "?workspace_id=" + x.WorkspaceID).OK()
	}
	x.Owner.Get("/v2/receiving_institutions").OK()
	x.Owner.Get("/v2/payout-requests/"+last+"/receipt").Fails(422, "PROCESSING_FAILED")
	x.Owner.Get("/v2/payout-requests/" + x.Sent("1234560001") + "/receipt").OK()
}
