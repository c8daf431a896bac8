package payout_test

import (
	"slices"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/server/servertest"
)

// limitPerPayout sets a limit for single payouts.
func limitPerPayout(c *servertest.Client, workspaceID string, cents int64) {
	c.T().Helper()
	if set := c.Post("/v2/limits", body{"workspace_id": workspaceID, "per": "payout", "amount_cents": cents}); set.Status >= 300 {
		c.T().Fatalf("set a limit: %d %s", set.Status, set.Body)
	}
}

// hold lets a payout be claimed after something became stricter, and demands that it is held.
func hold(t *testing.T, n *servertest.Node, c *servertest.Client, id string) api.Payout {
	t.Helper()
	n.RunPayouts(t)
	p := servertest.Decoded[api.Payout](c.Get(payouts + "/" + id))
	if p.Status != api.PayoutPending || p.Attention != "recheck" || len(p.Attempts) != 0 {
		t.Fatalf("the payout is %s %q with %d attempts", p.Status, p.Attention, len(p.Attempts))
	}
	return p
}

func TestAPayoutIsHeldByAStricterLimitUntilAnotherPersonReleasesIt(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		id := pay(maker, account, 10_000)
		approve(second, id).OK()
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		p := hold(t, n, maker, id)
		has(maker, account, 90_000, 10_000)
		if p.RecheckApprovalID == "" {
			t.Fatal("nobody was asked to release it")
		}
		shown := second.Get("/v1/approvals/" + p.RecheckApprovalID).OK()
		if fields := string(shown.Body); !strings.Contains(fields, "at most 50.00 by one payout") || shown.Text("kind") != "payout_recheck" {
			t.Errorf("the approval does not name the limit: %s", fields)
		}
		maker.Post(payouts+"/"+id+"/confirm", nil).Fails(403, "SECOND_PERSON_REQUIRED")
		maker.Approve(p.RecheckApprovalID).Fails(403, "FORBIDDEN")
		hold(t, n, maker, id)
		second.Approve(p.RecheckApprovalID).OK()
		n.RunPayouts(t)
		state(maker, id, "completed")
		if got := n.Audited(t, id); !slices.Contains(got, "payout.recheck.approved") || !slices.Contains(got, "payout.request.needs_attention") {
			t.Errorf("the story is %v", got)
		}
	})
}

func TestALimitThatBecomesStricterAgainHoldsAReleasedPayoutAgain(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		id := pay(maker, x.Account(100_000), 10_000)
		approve(second, id).OK()
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		p := hold(t, n, maker, id)
		second.Approve(p.RecheckApprovalID).OK()
		limitPerPayout(x.Owner, x.WorkspaceID, 4_000)
		if again := hold(t, n, maker, id); again.RecheckApprovalID == p.RecheckApprovalID {
			t.Error("the earlier approval is for the earlier limit")
		}
	})
}

func TestAHeldPayoutIsCancelledByItsRequesterOrByRejectingIt(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		ids := []string{pay(maker, account, 10_000), pay(maker, account, 10_000)}
		for _, id := range ids {
			approve(second, id).OK()
		}
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		one, two := hold(t, n, maker, ids[0]), hold(t, n, maker, ids[1])
		maker.Post(payouts+"/"+one.ID+"/cancel", body{}).OK()
		if got := second.Get("/v1/approvals/" + one.RecheckApprovalID).OK().Text("state"); got != "void" {
			t.Errorf("the approval of a cancelled payout is %s", got)
		}
		second.Post("/v1/approvals/"+two.RecheckApprovalID+"/reject", body{"reason": "too much"}).OK()
		for _, id := range ids {
			state(maker, id, "cancelled")
		}
		has(maker, account, 100_000, 0)
	})
}

func TestAStricterRuleByAmountHoldsAWholeBatch(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		var b api.PayoutBatch
		maker.Post(batches, body{"source_account_id": account, "currency": "PHP", "payouts": []body{
			{"amount_cents": 1_000, "settlement_account": to(bpi, "1234567890")}, {"amount_cents": 20_000, "settlement_account": to(bpi, "1234567891")},
		}}).Created().Data(&b)
		second.Approve(b.ApprovalID).OK()
		x.Owner.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 2, "above_cents": 15_000}).Created()
		var held []api.Payout
		for _, r := range b.Results {
			held = append(held, hold(t, n, maker, r.ID))
		}
		if held[0].RecheckApprovalID == "" || held[0].RecheckApprovalID != held[1].RecheckApprovalID {
			t.Errorf("the batch is held by %q and %q", held[0].RecheckApprovalID, held[1].RecheckApprovalID)
		}
		if got := second.Get("/v1/approvals/" + held[0].RecheckApprovalID).OK().Number("approvals_needed"); got != 2 {
			t.Errorf("%d approvals are needed", got)
		}
		has(maker, account, 79_000, 21_000)
	})
}

func TestARequesterAloneConfirmsAHeldPayoutWithAFreshLogin(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		person := n.Person(t, x.Owner)
		id := pay(person, account, 10_000)
		state(person, id, "pending")
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		if p := hold(t, n, person, id); p.RecheckApprovalID != "" {
			t.Errorf("it waits for %s", p.RecheckApprovalID)
		}
		n.Unchanged(t, func() { x.Owner.Get(payouts + "/" + id).OK() })
		person.Post(payouts+"/"+id+"/confirm", nil).OK()
		person.Post(payouts+"/"+id+"/confirm", nil).Fails(422, "PAYOUT_STATE")
		n.RunPayouts(t)
		state(person, id, "completed")
	})
}
