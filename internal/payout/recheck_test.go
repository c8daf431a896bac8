package payout_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

// limitPerPayout sets a limit for single payouts.
func limitPerPayout(c *servertest.Client, workspaceID string, cents int64) {
	c.T().Helper()
	if set := c.Post("/v2/limits", body{"workspace_id": workspaceID, "per": "payout", "amount_cents": cents}); set.Status >= 300 {
		c.T().Fatalf("set a limit: %d %s", set.Status, set.Body)
	}
}

func TestAPayoutIsHeldByAStricterLimitUntilAnotherPersonReleasesIt(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		id := maker.Pay(account, 10_000)
		approve(second, id).OK()
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		p := maker.PayoutHeld(id)
		maker.Has(account, 90_000, 10_000)
		if p.RecheckApprovalID == "" {
			t.Fatal("nobody was asked to release it")
		}
		shown := second.Get("/v1/approvals/" + p.RecheckApprovalID).OK()
		if fields := string(shown.Body); !strings.Contains(fields, "at most 50.00 by one payout") || shown.Text("kind") != "payout_recheck" {
			t.Errorf("the approval does not name the limit: %s", fields)
		}
		maker.Post(payouts+"/"+id+"/confirm", nil).Fails(403, "SECOND_PERSON_REQUIRED")
		maker.Approve(p.RecheckApprovalID).Fails(403, "FORBIDDEN")
		maker.PayoutHeld(id)
		second.Approve(p.RecheckApprovalID).OK()
		n.RunPayouts(t)
		maker.PayoutIs(id, "completed")
		if got := n.Audited(t, id); !slices.Contains(got, "payout.recheck.approved") || !slices.Contains(got, "payout.request.needs_attention") {
			t.Errorf("the story is %v", got)
		}
	})
}

func TestALimitThatBecomesStricterAgainHoldsAReleasedPayoutAgain(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		id := maker.Pay(x.Account(100_000), 10_000)
		approve(second, id).OK()
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		p := maker.PayoutHeld(id)
		second.Approve(p.RecheckApprovalID).OK()
		limitPerPayout(x.Owner, x.WorkspaceID, 4_000)
		if again := maker.PayoutHeld(id); again.RecheckApprovalID == p.RecheckApprovalID {
			t.Error("the earlier approval is for the earlier limit")
		}
	})
}

func TestAHeldPayoutIsCancelledByItsRequesterOrByRejectingIt(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		ids := []string{maker.Pay(account, 10_000), maker.Pay(account, 10_000)}
		for _, id := range ids {
			approve(second, id).OK()
		}
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		one, two := maker.PayoutHeld(ids[0]), maker.PayoutHeld(ids[1])
		maker.Post(payouts+"/"+one.ID+"/cancel", body{}).OK()
		if got := second.Get("/v1/approvals/" + one.RecheckApprovalID).OK().Text("state"); got != "void" {
			t.Errorf("the approval of a cancelled payout is %s", got)
		}
		second.Post("/v1/approvals/"+two.RecheckApprovalID+"/reject", body{"reason": "too much"}).OK()
		for _, id := range ids {
			maker.PayoutIs(id, "cancelled")
		}
		maker.Has(account, 100_000, 0)
	})
}

func TestAStricterRuleByAmountHoldsAWholeBatch(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		x.Staff("disbursement_authorizer", 1)
		account := x.Account(100_000)
		var b api.PayoutBatch
		maker.Post(batches, body{"source_account_id": account, "currency": "PHP", "payouts": []body{
			{"amount_cents": 1_000, "settlement_account": to(bpi, "1234567890")}, {"amount_cents": 20_000, "settlement_account": to(bpi, "1234567891")},
		}}).Created().Data(&b)
		second.Approve(b.ApprovalID).OK()
		x.Owner.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 2, "above_cents": 15_000}).Created()
		var held []api.Payout
		for _, r := range b.Results {
			held = append(held, maker.PayoutHeld(r.ID))
		}
		if held[0].RecheckApprovalID == "" || held[0].RecheckApprovalID != held[1].RecheckApprovalID {
			t.Errorf("the batch is held by %q and %q", held[0].RecheckApprovalID, held[1].RecheckApprovalID)
		}
		if got := second.Get("/v1/approvals/" + held[0].RecheckApprovalID).OK().Number("approvals_needed"); got != 2 {
			t.Errorf("%d approvals are needed", got)
		}
		maker.Has(account, 79_000, 21_000)
	})
}

func TestARequesterAloneConfirmsAHeldPayoutWithAFreshLogin(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		person := n.Person(t, x.Owner)
		id := person.Pay(account, 10_000)
		person.PayoutIs(id, "pending")
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		if p := person.PayoutHeld(id); p.RecheckApprovalID != "" {
			t.Errorf("it waits for %s", p.RecheckApprovalID)
		}
		x.Owner.Post(payouts+"/"+id+"/confirm", nil).Fails(403, "FORBIDDEN") // an API key of theirs
		person.Post(payouts+"/"+id+"/confirm", nil).OK()
		person.Post(payouts+"/"+id+"/confirm", nil).Fails(422, "PAYOUT_STATE")
		n.RunPayouts(t)
		person.PayoutIs(id, "completed")
	})
}

func TestANewSecondPersonReleasesInsteadOfTheRequester(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		person := n.Person(t, x.Owner)
		id := person.Pay(x.Account(100_000), 10_000)
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		person.PayoutHeld(id)
		x.Member("admin")
		x.EverybodyCounts()
		approval := person.Post(payouts+"/"+id+"/confirm", nil).Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")
		if p := person.PayoutHeld(id); p.RecheckApprovalID != approval {
			t.Errorf("it waits for %s, the answer names %s", p.RecheckApprovalID, approval)
		}
	})
}

func TestOnlyTheRequesterOverridesWhatHoldsAPayout(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		robot, person := x.Machine(x.Owner, "disbursement_manager"), n.Person(t, x.Owner)
		id := robot.Pay(x.Account(100_000), 10_000)
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		x.Owner.PayoutHeld(id)
		robot.Post(payouts+"/"+id+"/confirm", nil).Fails(403, "FORBIDDEN")
		person.Post(payouts+"/"+id+"/confirm", nil).Fails(403, "FORBIDDEN")
		x.Owner.PayoutHeld(id)
	})
}

func TestAPayoutThatNothingHoldsAnyMoreIsConfirmedByAnyoneWhoMayPay(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		robot := x.Machine(x.Owner, "disbursement_manager")
		id := robot.Pay(x.Account(100_000), 10_000)
		set := x.Owner.Post("/v2/limits", body{"workspace_id": x.WorkspaceID, "per": "payout", "amount_cents": 5_000}).OK().Text("id")
		x.Owner.PayoutHeld(id)
		x.Owner.Delete("/v2/limits/" + set).OK()
		x.Owner.PayoutHeld(id)
		robot.Post(payouts+"/"+id+"/confirm", nil).OK()
		n.RunPayouts(t)
		x.Owner.PayoutIs(id, "completed")
	})
}

// What was approved while a stricter rule waited for its own approval is held once that rule is in force.
func TestARuleIsStricterFromWhenItIsInForce(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		x.Define("cfo", "ws.payouts.read", "ws.payouts.create", "ws.payouts.approve")
		x.Staff("cfo", 2)
		account := x.Account(100_000)
		x.Owner.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 1, "role": "admin", "above_cents": 1}).Created()
		waits := x.Owner.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 2, "role": "cfo", "above_cents": 1}).Created().Text("approval_id")
		n.Clock.Advance(time.Second)
		id := maker.Pay(account, 10_000)
		approve(second, id).OK()
		n.Clock.Advance(time.Second)
		second.Approve(waits).OK()
		maker.PayoutHeld(id)
	})
}

func TestARuleThatRequiresAnotherRoleIsStricter(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		x.Define("cfo", "ws.payouts.read", "ws.payouts.create", "ws.payouts.approve")
		x.Staff("cfo", 1)
		id := maker.Pay(x.Account(100_000), 10_000)
		approve(second, id).OK()
		n.Clock.Advance(time.Second)
		x.Owner.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 1, "role": "cfo", "above_cents": 1}).Created()
		p := maker.PayoutHeld(id)
		second.Approve(p.RecheckApprovalID).Fails(403, "FORBIDDEN")
	})
}

// An approval releases a batch once, whichever limit holds which of its payouts.
func TestTheApprovalOfAHeldBatchNamesAllThatHoldsIt(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		var b api.PayoutBatch
		maker.Post(batches, body{"source_account_id": x.Account(100_000), "currency": "PHP", "payouts": []body{
			{"amount_cents": 10_000, "settlement_account": to(bpi, "1234567890")}, {"amount_cents": 20_000, "settlement_account": to(bpi, "1234567891")},
		}}).Created().Data(&b)
		second.Approve(b.ApprovalID).OK()
		limitPerPayout(x.Owner, x.WorkspaceID, 15_000)
		x.Owner.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 1, "role": "admin", "up_to_cents": 10_000}).Created()
		p := maker.PayoutHeld(b.Results[0].ID)
		second.Approve(p.RecheckApprovalID).OK()
		n.RunPayouts(t)
		for _, r := range b.Results {
			maker.PayoutIs(r.ID, "completed")
		}
	})
}

// Each of two people has retried one payout of a batch: neither is a second person for releasing it.
func TestWhoRetriedAPayoutOfABatchDoesNotReleaseIt(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		var b api.PayoutBatch
		maker.Post(batches, body{"source_account_id": x.Account(100_000), "currency": "PHP", "payouts": []body{
			{"amount_cents": 10_000, "settlement_account": to(bpi, "1234569004")}, {"amount_cents": 20_000, "settlement_account": to(bpi, "1234559004")},
		}}).Created().Data(&b)
		second.Approve(b.ApprovalID).OK()
		n.RunPayouts(t)
		x.Owner.Post(x.Path("/payout-stop"), body{"reason": "a drill", "mode": "sandbox"}).OK()
		maker.Post(payouts+"/"+b.Results[0].ID+"/retry", nil).OK()
		second.Post(payouts+"/"+b.Results[1].ID+"/retry", nil).OK()
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		x.Owner.Post(x.Path("/payout-resume"), body{"mode": "sandbox"}).OK()
		n.RunPayouts(t)
		p := servertest.Decoded[api.Payout](maker.Get(payouts + "/" + b.Results[1].ID))
		if p.Attention != "recheck" {
			t.Fatalf("%s %s", p.Status, p.Attention)
		}
		for _, who := range []*servertest.Client{maker, second} {
			who.Approve(p.RecheckApprovalID).Fails(403, "FORBIDDEN")
		}
	})
}

// Its terms name the approval of the retry, and no longer what was overridden before.
func TestAPayoutThatWasReleasedAndFailedIsRetriedWithANewApproval(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		id := maker.Pay(x.Account(100_000), 10_000, body{"settlement_account": to(bpi, "1234569004")})
		approve(second, id).OK()
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		p := maker.PayoutHeld(id)
		second.Approve(p.RecheckApprovalID).OK()
		n.RunPayouts(t)
		maker.PayoutIs(id, "failed")
		loosened := x.Owner.Post("/v2/limits", body{"workspace_id": x.WorkspaceID, "per": "payout", "amount_cents": 50_000})
		second.Approve(loosened.Text("approval_id")).OK()
		x.Owner.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 1, "role": "admin", "above_cents": 1}).Created()
		n.Write(t, func(tx *db.Tx) error {
			return tx.Exec(`UPDATE approval SET expires_at = 1 WHERE id = $1`, p.ApprovalID)
		}) // a month has passed
		maker.Post(payouts+"/"+id+"/retry", nil).OK()
		maker.PayoutIs(id, "initiated")
		approve(second, id).OK()
		n.RunPayouts(t)
		if p := servertest.Decoded[api.Payout](maker.Get(payouts + "/" + id)); p.Status != "failed" || len(p.Attempts) != 2 {
			t.Errorf("the payout is %s %q with %d attempts", p.Status, p.Attention, len(p.Attempts))
		}
	})
}

// A rule without an amount applies to all payouts, also to those that are approved and not sent yet.
func TestAStricterRuleWithoutAnAmountHoldsWhatIsNotSent(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for name, terms := range map[string]body{"more approvals": {"approvals": 2}, "approval by a role": {"approvals": 1, "role": "cfo"}} {
			x, maker, second := n.Pair(t)
			x.Define("cfo", "ws.read", "ws.payouts.read", "ws.payouts.approve")
			cfo := x.Member("cfo")
			x.EverybodyCounts()
			account := x.Account(100_000)
			id := maker.Pay(account, 10_000)
			approve(second, id).OK()
			terms["workspace_id"] = x.WorkspaceID
			x.Owner.Post("/v2/approval-rules", terms).Created()
			held := maker.PayoutHeld(id)
			shown := second.Get("/v1/approvals/" + held.RecheckApprovalID).OK()
			if got := shown.Number("approvals_needed"); got != int64(terms["approvals"].(int)) {
				t.Errorf("%s: its release needs %d approvals", name, got)
			}
			n.Person(t, cfo).Approve(held.RecheckApprovalID).OK()
			if name == "more approvals" {
				second.Approve(held.RecheckApprovalID).OK()
			}
			n.RunPayouts(t)
			maker.PayoutIs(id, "completed")
		}
	})
}
