package console_test

import (
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/browsertest"
	"bursar/internal/server/servertest"
)

// held makes a payout that a limit holds when it is due.
func held(t *testing.T, n *servertest.Node, approve func(approvalID string)) string {
	t.Helper()
	id := n.Admin(t).Post("/v2/payout-requests", servertest.Body{"source_account_id": source(t, n), "currency": "PHP", "amount_cents": 150050,
		"settlement_account": servertest.Body{"bank_account_name": "Ada Lovelace", "bank_account_number": "1234567890", "bank_code": bpi}}).Created().Text("id")
	if approve != nil {
		approve(n.Admin(t).Get("/v2/payout-requests/" + id).OK().Text("approval_id"))
	}
	n.Admin(t).Post("/v2/limits", servertest.Body{"workspace_id": n.First.WorkspaceID, "per": "payout", "amount_cents": 100_000}).Created()
	send(t, n)
	return id
}

func TestARequesterAloneConfirmsAHeldPayoutAtThePage(t *testing.T) {
	t.Parallel()
	n := start(t)
	id := held(t, n, nil)
	page := open(t, n, adminEmail, "/payouts/"+id)
	page.WaitText("This payout is on hold.")
	page.WaitText("at most 1,000.00 by one payout")
	page.WaitText("No other person can approve it.")
	if page.Has(`form[action$="/resolve"]`) {
		t.Error("a held payout is offered to be resolved")
	}
	page.Accessible("a payout that its requester confirms")
	page.Shoot("payouts-held-confirm")
	narrow(t, page)
	n.Clock.Advance(20 * time.Minute) // the sign-in is no longer recent
	confirm := func() {
		page.ClickText("Confirm")
		page.Click("dialog[open] button.primary")
	}
	confirm()
	page.Fill("Password", password)
	page.ClickText("Sign in")
	page.WaitText("This payout is on hold.")
	confirm()
	page.WaitText("Released.")
	send(t, n)
	if got := n.Admin(t).Get("/v2/payout-requests/" + id).OK().Text("status"); got != api.PayoutCompleted {
		t.Errorf("the payout is %s after it was confirmed", got)
	}
}

func TestThePageOfAHeldPayoutLeadsToItsApproval(t *testing.T) {
	t.Parallel()
	n := start(t)
	second := n.Person(t, n.Member(t, "second@example.com", "admin"))
	id := held(t, n, func(waits string) { second.Approve(waits).OK() })
	page := open(t, n, "second@example.com", "/payouts/"+id)
	page.WaitText("It needs approval by another person.")
	page.WaitText("at most 1,000.00 by one payout")
	page.Accessible("a payout that waits to be released")
	page.Shoot("payouts-held")
	page.ClickText("Open the request")
	page.WaitText("Held by")
	page.WaitText("at most 1,000.00 by one payout")
	page.Accessible("the approval of a held payout")
	page.Shoot("approval-held")
	maker := browse(t, n, adminEmail)
	if got := maker.post(room(n, "/payouts/"+id+"/confirm")); !strings.Contains(got.body, "Not released: it needs approval by another person.") {
		t.Errorf("confirming is answered by %d %s", got.status, got.body)
	}
	page.Fill("How did you check?", "Compared it with the limit.")
	page.ClickText("Approve")
	page.WaitText("Approved.")
	viewer := open(t, n, member(t, n, "viewer"), "/payouts/"+id, browsertest.WithoutScripts())
	viewer.WaitGone("This payout is on hold.")
}
