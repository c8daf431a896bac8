package control_test

import (
	"fmt"
	"strings"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

func TestARuleThatCannotBeSatisfiedIsRefused(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		refused := func(what string, terms body, says string) {
			t.Helper()
			terms["workspace_id"] = g.WorkspaceID
			before := n.Count(t, `SELECT count(*) FROM payout_rule WHERE workspace_id = $1`, g.WorkspaceID)
			got := g.Owner.Post("/v2/approval-rules", terms)
			got.Invalid("approvals")
			if !strings.Contains(string(got.Body), says) {
				t.Errorf("%s: %s", what, got.Body)
			}
			if after := n.Count(t, `SELECT count(*) FROM payout_rule WHERE workspace_id = $1`, g.WorkspaceID); after != before {
				t.Errorf("%s: what was refused is stored", what)
			}
		}
		refused("one person", body{"approvals": 1}, "besides the requester 1 have to approve, and the workspace has 0")
		refused("one person, by keys", body{"approvals": 1, "keys_may_approve": true}, "the workspace has 0")
		robot := func(madeBy string) {
			t.Helper()
			by := db.Caller{Actor: audit.Actor{Type: audit.User, ID: madeBy}}
			if _, _, err := n.Identity.CreateClient(t.Context(), by, g.WorkspaceID, "Robot", "disbursement_manager"); err != nil {
				t.Fatal(err)
			}
		}
		robot(g.Owner.UserID)
		refused("one person and their machine client", body{"approvals": 1}, "the workspace has 0")
		refused("a sum of a day", body{"approvals": 1, "per": "day", "each": "payee", "above_cents": 100}, "the workspace has 0")

		bob := g.Member("disbursement_authorizer")
		g.rule(body{"approvals": 1})
		refused("two others", body{"approvals": 2}, "besides the requester 2 have to approve, and the workspace has 1")
		g.Define("cfo", "ws.read", "ws.payouts.read", "ws.payouts.approve")
		refused("a role that nobody has", body{"approvals": 1, "role": "cfo"}, "besides the requester 1 with the role cfo have to approve, and the workspace has 0")
		g.Give(bob, "cfo")
		cfo, _ := g.rule(body{"approvals": 1, "role": "cfo", "above_cents": 10_000})

		carol := g.Member("disbursement_authorizer") // who does not count yet
		refused("two of whom a rule asks for one of a role", body{"approvals": 2}, "together with the rule "+cfo)
		refused("up to an amount above that of the other rule", body{"approvals": 2, "up_to_cents": 10_001, "mode": "live"}, cfo)
		g.rule(body{"approvals": 2, "up_to_cents": 10_000})

		g.Owner.Delete(g.Path("/members/" + carol.UserID)).OK()
		refused("once one has gone", body{"approvals": 2, "up_to_cents": 5_000}, "the workspace has 1")
		g.expect("the rule of before", g.need("acc", "instapay", 100), "2")
		g.expect("which of them", fmt.Sprint(n.Count(t, `SELECT count(*) FROM payout_rule WHERE workspace_id = $1`, g.WorkspaceID)), "3")
		robot(carol.UserID) // in which neither of those who are left has a part
		g.rule(body{"approvals": 2, "up_to_cents": 5_000})
	})
}

// A rule that waits for approval is checked again, because people may have gone.
func TestARuleThatCanNoLongerBeSatisfiedIsNotApproved(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		second := n.Person(t, g.Member("admin"))
		third := g.Member("disbursement_authorizer")
		id, waits := g.rule(body{"approvals": 2, "keys_may_approve": true})
		g.Owner.Delete(g.Path("/members/" + third.UserID)).OK()
		second.Approve(waits).Fails(422, "APPROVAL_CHANGED")
		g.Owner.Delete("/v2/approval-rules/" + id).OK()
		g.expect("without the rule", g.need("acc", "instapay", 100), "1")
	})
}
