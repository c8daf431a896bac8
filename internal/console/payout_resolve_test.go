package console_test

import (
	"testing"

	"bursar/api"
	"bursar/internal/browsertest"
)

func TestAPayoutIsResolvedInTheConsole(t *testing.T) {
	t.Parallel()
	n := start(t)
	x := n.FirstTenant(t)
	n.Member(t, "second@example.com", "admin")
	id := x.Stuck(api.ModeLive)
	page := open(t, n, adminEmail, "/payouts/"+id)
	page.WaitText("The bank’s records do not match this payout.")
	page.WaitText("The payout fails, PHP 1,000.00 is available again, and you can retry.")
	page.Accessible("a payout that needs attention")
	page.Click(`input[name="as"][value="not_paid"]`)
	page.Fill("Evidence", "BPI statement of 16 November, no debit")
	page.Shoot("payouts-resolve")
	page.ClickText("Resolve")
	page.WaitText("Sent for approval.")
	page.WaitText("A resolution waits for approval by another person.")
	page.Accessible("a payout whose resolution waits")
	page.Shoot("payouts-resolve-waits")

	second := open(t, n, "second@example.com", "/payouts/"+id)
	second.ClickText("Open the request")
	second.WaitText("BPI statement of 16 November, no debit")
	second.WaitText("Its money is available again")
	second.Accessible("the approval of a resolution")
	second.Shoot("approval-resolve")
	second.Fill("How did you check?", "Read the statement.")
	second.ClickText("Approve")
	second.WaitText("Approved.")
	page.Goto(n.PublicURL + room(n, "/payouts/"+id))
	page.WaitText("Attempt 1: Resolved as not paid")
	page.WaitText("Approved the resolution of PHP 1,000.00 to Juan dela Cruz")
	page.Shoot("payouts-resolved")
}

func TestAResolutionNeedsNoScripts(t *testing.T) {
	t.Parallel()
	n := start(t)
	id := n.FirstTenant(t).Stuck(api.ModeSandbox)
	page := open(t, n, adminEmail, "/payouts/"+id, browsertest.WithoutScripts())
	page.Click(`input[name="as"][value="paid"]`)
	page.Fill("Evidence", "BPI statement of 16 November, line 12")
	page.ClickText("Resolve")
	page.WaitText("Resolved.")
	page.WaitText("Attempt 1: Resolved as paid")
	n.Member(t, "viewer@example.com", "viewer")
	stuck := n.FirstTenant(t).Stuck(api.ModeSandbox)
	viewer := open(t, n, "viewer@example.com", "/payouts/"+stuck)
	viewer.WaitText("The bank’s records do not match this payout.")
	if viewer.Has(`form[action$="/resolve"]`) {
		t.Error("a viewer is offered to resolve")
	}
}
