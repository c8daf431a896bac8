package payout_test

import (
	"strings"
	"testing"

	"bursar/internal/server/servertest"
)

// All tenants of a sandbox share its bank: none of them fills it.
func TestAnAccountOfTheSandboxIsNotFilledWithoutEnd(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(0)
		deposit := func(amount int64) *servertest.Answer {
			return x.Owner.Post("/v2/simulations/deposits", body{"account_id": account, "amount_cents": amount})
		}
		deposit(1_000_000_000_001).Invalid("amount_cents")
		deposit(999_999_999_999).Created()
		x.Owner.Pay(account, 5_000) // what is reserved is held as well
		deposit(2).Invalid("amount_cents")
		deposit(1).Created()
		x.Owner.Has(account, 999_999_995_000, 5_000)
	})
}

// Another tenant's payout is not there: not to read, and not to drive.
func TestNothingOfAnotherTenantsPayoutsIsThere(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, other := n.Tenant(t), n.Tenant(t).Owner
		account := x.Account(100_000)
		id := x.Sent(number("9011"))
		batch := x.Owner.Post(batches, batch(account, 1_000)).Created().Text("id")
		rule := x.StoreRule(body{"approvals": 1})
		limit := x.Owner.Post("/v2/limits", body{"workspace_id": x.WorkspaceID, "per": "day", "amount_cents": 1}).Created().Text("id")
		for _, path := range []string{
			payouts + "/" + id, payouts + "/" + id + "?reveal=true", payouts + "/" + id + "/receipt", payouts + "?workspace_id=" + x.WorkspaceID,
			payouts + "?source_account_id=" + account, batches + "/" + batch, "/v2/approval-rules?workspace_id=" + x.WorkspaceID, "/v2/limits?workspace_id=" + x.WorkspaceID,
			"/v2/accounts/" + account + "/postings", "/v2/deposits?workspace_id=" + x.WorkspaceID,
		} {
			if got := other.Get(path); got.Status == 200 || strings.Contains(string(got.Body), id) {
				t.Errorf("%s answers %d %s", path, got.Status, got.Body)
			}
		}
		for _, verb := range []string{"settle", "reject", "return"} {
			other.Post("/v2/simulations/payouts/"+id+"/"+verb, nil).Fails(404, "RESOURCE_NOT_FOUND")
		}
		for _, verb := range []string{"publish", "retry", "cancel"} {
			other.Post(payouts+"/"+id+"/"+verb, nil).Fails(404, "RESOURCE_NOT_FOUND")
		}
		other.Post(payouts+"/"+id+"/resolve", body{"as": "paid", "evidence": "x"}).Fails(404, "RESOURCE_NOT_FOUND")
		other.Post("/v2/simulations/deposits", body{"account_id": account, "amount_cents": 1}).Fails(404, "RESOURCE_NOT_FOUND")
		other.Delete("/v2/approval-rules/"+rule).Fails(404, "RESOURCE_NOT_FOUND")
		other.Delete("/v2/limits/"+limit).Fails(404, "RESOURCE_NOT_FOUND")
		x.Owner.PayoutIs(id, "processing")
	})
}
