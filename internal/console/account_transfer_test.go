package console_test

import (
	"strings"
	"testing"

	"bursar/internal/browsertest"
	"bursar/internal/server/servertest"
)

func TestMoneyIsMovedBetweenAccounts(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.Admin(t).Post("/v2/accounts", servertest.Body{"workspace_id": n.First.WorkspaceID, "name": "Payroll"}).Created()
	page := open(t, n, adminEmail, "/accounts/"+source(t, n))
	page.ClickText("Move money")
	page.WaitText("Sandbox has PHP 1,000,000.00 available.")
	page.Accessible("the form that moves money")
	page.Shoot("accounts-transfer")
	page.ExpectStatus(400)
	page.Fill("Amount", "1,200,000.50")
	page.ClickText("Review")
	page.WaitText("Is more than the account has: PHP 1,000,000.00 is available.")
	page.Fill("Amount", "250,000.50")
	page.Fill("Description", "Wages of May")
	page.ClickText("Review")
	page.WaitText("PHP 749,999.50")
	page.WaitText("Nothing has been moved yet.")
	page.Accessible("the review of a transfer")
	page.Shoot("accounts-transfer-review")
	page.ClickText("Change")
	page.ClickText("Review")
	page.ClickText("Move PHP 250,000.50")
	page.WaitText("Moved PHP 250,000.50 to Payroll.")
	page.WaitText("Moved between accounts")
	page.WaitText("Wages of May")
	page.WaitText("PHP 749,999.50")
}

func TestTestMoneyIsAddedInTheSandbox(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := open(t, n, adminEmail, "/accounts/"+source(t, n), browsertest.WithoutScripts())
	page.ExpectStatus(400)
	page.Fill("Amount", "some")
	page.ClickText("Add")
	page.WaitText("Must be a number such as 1,500.00.")
	page.Accessible("an account with a wrong amount of test money")
	page.Fill("Amount", "1,500.25")
	page.ClickText("Add")
	page.WaitText("Added test money. No real money moved.")
	page.WaitText("PHP 1,001,500.25")
}

func TestAViewerIsOfferedToMoveNothing(t *testing.T) {
	t.Parallel()
	n := start(t)
	viewer, account := browse(t, n, member(t, n, "viewer")), source(t, n)
	if body := viewer.get(room(n, "/accounts/"+account)).body; strings.Contains(body, "/transfer") || strings.Contains(body, "/deposit") {
		t.Error("a viewer is offered to move money")
	}
	if got := viewer.get(room(n, "/accounts/"+account+"/transfer")); got.status != 403 {
		t.Errorf("the form is answered by %d", got.status)
	}
}
