package control_test

import (
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/server/servertest"
)

// One person makes a rule for themselves, and then a second one joins.
func TestARuleThatOnePersonMadeAloneIsSuspendedWhenASecondJoinsUntilTheyConfirmIt(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		account := g.Account(1_000_000)
		free, _ := g.rule(body{"approvals": 0, "up_to_cents": 5_000})
		byKeys := g.StoreRule(body{"approvals": 2, "keys_may_approve": true, "above_cents": 50_000})
		strict := g.StoreRule(body{"approvals": 1, "above_cents": 20_000})
		g.expect("alone", g.need(account, "instapay", 100), "0")
		g.expect("alone, by the rule for keys", g.need(account, "instapay", 60_000), "2")
		before := g.Owner.Pay(account, 5_000)

		second := n.Person(t, g.Member("admin"))
		g.expect("once a second person is there", g.need(account, "instapay", 100), "1")
		g.expect("by the rule for keys, but without keys", g.need(account, "instapay", 60_000), "2")
		status := func() map[string]string {
			t.Helper()
			all := map[string]string{}
			for _, u := range servertest.Decoded[[]api.ApprovalRule](g.Owner.Get("/v2/approval-rules?workspace_id=" + g.WorkspaceID)) {
				all[u.ID] = u.Status + " " + u.SuspendedBecause
			}
			return all
		}
		if got := status(); got[free] != "suspended made_alone" || got[byKeys] != "suspended made_alone" || got[strict] != "active " {
			t.Errorf("the rules are %v", got)
		}
		g.Owner.PayoutHeld(before) // what no one else would have approved

		confirm := func(c *servertest.Client) *servertest.Answer {
			return c.Post("/v2/approval-rules/"+free+"/confirm", nil).OK()
		}
		waits := confirm(g.Owner).Text("approval_id")
		if again := confirm(g.Owner).Text("approval_id"); waits == "" || again != waits {
			t.Fatalf("the confirmation waits for %q, then %q", waits, again)
		}
		n.Person(t, g.Owner).Approve(waits).Fails(403, "FORBIDDEN")
		g.expect("while that waits", g.need(account, "instapay", 100), "1")
		second.Approve(waits).OK()
		g.expect("confirmed by two", g.need(account, "instapay", 100), "0")
		g.Owner.Post(payouts+"/"+before+"/confirm", nil).OK()
		n.RunPayouts(t)
		g.Owner.PayoutIs(before, "completed")
		if got := status(); got[free] != "active " || got[byKeys] != "suspended made_alone" {
			t.Errorf("after one is confirmed the rules are %v", got)
		}
	})
}

func TestASuspendedRuleThatStillGuardsEndsAfterAnotherPersonApproves(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		byKeys := g.StoreRule(body{"approvals": 2, "keys_may_approve": true, "role": "disbursement_authorizer"})
		second := n.Person(t, g.Member("admin"))
		g.Staff("admin", 2)
		g.Staff("disbursement_authorizer", 2)
		g.expect("suspended", g.need("acc", "instapay", 100), "2 disbursement_authorizer")
		replacement, waits := g.rule(body{"approvals": 3, "role": "admin"})
		g.expect("with the replacement requested", g.need("acc", "instapay", 100), "2 disbursement_authorizer")
		if waits == "" {
			t.Error("a rule of another role replaces the suspended one at once")
		}
		g.Owner.Delete("/v2/approval-rules/" + replacement).OK()

		confirmation := g.Owner.Post("/v2/approval-rules/"+byKeys+"/confirm", nil).OK().Text("approval_id")
		removal := g.Owner.Delete("/v2/approval-rules/" + byKeys).OK()
		if removal.Text("status") != "suspended" || removal.Text("approval_id") == "" {
			t.Fatalf("the removal does not wait: %s", removal.Body)
		}
		g.expect("repeated", g.Owner.Delete("/v2/approval-rules/"+byKeys).OK().Text("approval_id"), removal.Text("approval_id"))
		g.expect("the confirmation", second.Get("/v1/approvals/"+confirmation).OK().Text("state"), "void")
		g.expect("while the removal waits", g.need("acc", "instapay", 100), "2 disbursement_authorizer")
		second.Approve(removal.Text("approval_id")).OK()
		g.expect("after it is approved", g.need("acc", "instapay", 100), "1")
	})
}

// There were two people, and a new second one counts only after a while.
func TestARuleThatOnePersonMadeAfterTheOtherLeftIsSuspendedBeforeANewOneCounts(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		former := g.Member("admin")
		g.expect("with two people", g.need("acc", "instapay", 100), "1")
		g.Owner.Delete(g.Path("/members/" + former.UserID)).OK()
		n.Clock.Advance(80 * time.Hour)
		g.Owner = g.Owner.Again(t)
		free, waits := g.rule(body{"approvals": 0})
		g.expect("alone again, the rule waits for", waits, "")
		g.expect("and frees payouts", g.need("acc", "instapay", 100), "0")

		g.Member("disbursement_authorizer") // who approves what the owner requests, once they count
		g.expect("once another person has joined", g.need("acc", "instapay", 100), "1")
		u := servertest.Decoded[[]api.ApprovalRule](g.Owner.Get("/v2/approval-rules?workspace_id=" + g.WorkspaceID))[0]
		g.expect("the rule", u.ID+" "+u.Status+" "+u.SuspendedBecause, free+" suspended made_alone")
	})
}

// Confirming a suspended rule makes it as strict for the people who are there as making it again would.
func TestASuspendedRuleThatCannotBeSatisfiedIsNotConfirmed(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		byKeys := g.StoreRule(body{"approvals": 2, "keys_may_approve": true})
		second := n.Person(t, g.Member("admin"))
		confirm := func() *servertest.Answer { return g.Owner.Post("/v2/approval-rules/"+byKeys+"/confirm", nil) }
		confirm().Fails(422, "APPROVAL_CHANGED")
		third := g.Member("disbursement_authorizer")
		waits := confirm().OK().Text("approval_id")
		g.Owner.Delete(g.Path("/members/" + third.UserID)).OK()
		second.Approve(waits).Fails(422, "APPROVAL_CHANGED")
	})
}

// Without the rule nothing would hold what it let through.
func TestASuspendedRuleThatHoldsPayoutsIsRemovedByTwo(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		free, _ := g.rule(body{"approvals": 0})
		spare, _ := g.rule(body{"approvals": 0, "up_to_cents": 1})
		before := g.Owner.Pay(g.Account(1_000_000), 5_000)
		second := n.Person(t, g.Member("admin"))
		g.Owner.PayoutHeld(before)
		removal := g.Owner.Delete("/v2/approval-rules/" + free).OK()
		if removal.Text("status") != "suspended" || removal.Text("approval_id") == "" {
			t.Fatalf("the removal does not wait: %s", removal.Body)
		}
		g.Owner.Post(payouts+"/"+before+"/confirm", nil).Fails(403, "SECOND_PERSON_REQUIRED")
		second.Approve(removal.Text("approval_id")).OK()
		g.Owner.Post(payouts+"/"+before+"/confirm", nil).OK()
		n.RunPayouts(t)
		g.Owner.PayoutIs(before, "completed")
		g.expect("with nothing held", g.Owner.Delete("/v2/approval-rules/"+spare).OK().Text("status"), "removed")
	})
}
