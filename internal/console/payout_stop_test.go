package console_test

import (
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/server/servertest"
)

func TestSendingIsStoppedAndResumedAtThePage(t *testing.T) {
	t.Parallel()
	n := start(t)
	_, method := payee(t, n, "Ada Lovelace", "1234567890")
	page := open(t, n, adminEmail, "/payouts")
	page.WaitText("Nothing more is handed to a rail until sending is resumed.")
	page.Fill("Reason", "Wrong amounts in the payroll file")
	page.Accessible("the payouts, with the form that stops")
	page.Shoot("payouts-stop")
	page.Click("button.danger")
	page.WaitText("Stopped. Nothing more is sent.")
	page.WaitText("Sending live payouts is stopped.")
	page.WaitText("Sending sandbox payouts is stopped.")
	id := paid(t, n, method, 150050)
	send(t, n)
	page.Goto(n.PublicURL + room(n, "/payouts"))
	page.WaitText("Wrong amounts in the payroll file")
	page.WaitText("Stopped")
	page.Accessible("the payouts while stopped")
	narrow(t, page)
	page.Shoot("payouts-stopped")
	page.Goto(n.PublicURL + room(n, "/payouts/"+id))
	page.WaitText("Its money is reserved. It is sent once sending has resumed.")
	page.WaitText("Sending sandbox payouts is stopped.")
	page.Accessible("a payout while stopped")
	page.Shoot("payouts-one-stopped")
	page.ClickText("Resume")
	page.Click("dialog[open] button.primary")
	page.WaitText("Resumed.")
	page.WaitText("Sending live payouts is stopped.")
	send(t, n)
	if got := n.Admin(t).Get("/v2/payout-requests/" + id).OK().Text("status"); got != api.PayoutCompleted {
		t.Errorf("the payout is %s after sending has resumed", got)
	}
}

func TestResumingLivePayoutsTakesTwoAtTheConsole(t *testing.T) {
	t.Parallel()
	n := start(t)
	second := member(t, n, "disbursement_authorizer")
	admin, approver, viewer := browse(t, n, adminEmail), browse(t, n, second), browse(t, n, member(t, n, "viewer"))
	if got := viewer.get(room(n, "/payouts")); strings.Contains(got.body, "Stop sending") {
		t.Error("a viewer is offered to stop")
	}
	if got := approver.post(room(n, "/payouts/stop"), "reason", ""); got.status != 400 || !strings.Contains(got.body, "reason-problem") {
		t.Errorf("a stop without a reason is answered by %d", got.status)
	}
	approver.post(room(n, "/payouts/stop"), "reason", "The bank called")
	if got := viewer.get(room(n, "/payouts")); !strings.Contains(got.body, "The bank called") || strings.Contains(got.body, "Resume live payouts") {
		t.Errorf("a viewer sees %s", got.body)
	}
	if got := admin.post(room(n, "/payouts/resume"), "mode", "live"); !strings.Contains(got.body, "Payouts are sent once another person approves.") || !strings.Contains(got.body, "Resuming waits for approval.") {
		t.Errorf("the request is answered by %d %s", got.status, got.body)
	}
	waits := n.Admin(t).Get("/v1/workspaces/" + n.First.WorkspaceID + "/payout-stop").OK()
	if got := approver.get(room(n, "/approvals/"+waits.Text("approval_id"))); !strings.Contains(got.body, "Resume sending live payouts") || !strings.Contains(got.body, "The bank called") {
		t.Errorf("the approval shows %s", got.body)
	}
	now := servertest.Decoded[api.PayoutSending](waits)
	if !now.Live.Stopped {
		t.Error("one person resumed live payouts")
	}
}
