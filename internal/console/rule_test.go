package console_test

import (
	"strings"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/browsertest"
	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

func TestRulesAreAddedAndRemovedInPlainWords(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.FirstTenant(t).Staff("admin", 2)
	page := open(t, n, adminEmail, "")
	page.ClickText("Payout rules")
	page.WaitText("No rules yet.")
	page.ClickText("Add a rule")
	page.Accessible("the form of a rule")
	page.Shoot("rules-new")
	page.ExpectStatus(400)
	page.Fill("Above", "100,000")
	page.Fill("Up to", "5")
	page.ClickText("Add the rule")
	page.WaitText("Must be more than the amount above which the rule begins.")
	page.Fill("Up to", "2000000.50")
	page.Select("From", "Sandbox (sandbox)")
	page.Select("Rail", "PESONet")
	page.Select("Approvals", "Two")
	page.Select("Role of who approves", "Admin")
	page.ClickText("Add the rule")
	page.WaitText("Sandbox payouts above PHP 100,000.00, up to PHP 2,000,000.50, from Sandbox by PESONet need 2 approvals by people with the role Admin.")
	page.ClickText("Set a limit")
	page.Accessible("the form of a limit")
	page.Shoot("rules-limit")
	page.Fill("At most", "250,000")
	page.Fill("How many payouts", "20")
	page.ClickText("Set the limit")
	page.WaitText("Must be a day")
	page.Select("Per", "One day in Manila")
	page.Select("Shared by all, or for each", "Each payee by themselves")
	page.Select("Mode", "Live and sandbox payouts")
	page.ClickText("Set the limit")
	page.WaitText("On one day, all payouts to any one payee together are at most PHP 250,000.00, and no more than 20 payouts.")
	page.Accessible("rules and limits")
	page.ClickText("Remove: Sandbox payouts above")
	page.ClickText("Remove")
	page.WaitText("its removal waits for a second person's approval")
}

func TestTheModeOfANewRuleIsThatOfTheAccounts(t *testing.T) {
	t.Parallel()
	n := start(t)
	visitor := browse(t, n, adminEmail)
	chosen := func(what, want string) {
		t.Helper()
		for _, form := range []string{"/rules/new", "/limits/new"} {
			got := visitor.get(room(n, form))
			_, mode, _ := strings.Cut(got.body, `<select id="mode"`)
			mode, _, _ = strings.Cut(mode, "</select>")
			if is := strings.Contains(mode, `value="`+want+`" selected`) || want == "both" && strings.Contains(mode, want) && !strings.Contains(mode, "selected"); !is {
				t.Errorf("with %s, %s answers %d and offers %s", what, form, got.status, mode)
			}
		}
	}
	chosen("an account of the sandbox", "sandbox")
	n.FirstTenant(t).LiveAccount()
	chosen("accounts of both modes", "both")
}

func TestWhatGuardsPayoutsLessWaitsForAnotherPerson(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	admin.Post("/v2/limits", servertest.Body{"workspace_id": n.First.WorkspaceID, "per": "payout", "amount_cents": 100000}).Created()
	n.Member(t, "second@example.com", "admin") // from now on it takes two
	page := open(t, n, adminEmail, "/rules/new", browsertest.WithoutScripts())
	page.Select("Approvals", "None")
	page.ClickText("Add the rule")
	page.WaitText("so it waits for a second person's approval")
	page.WaitText("All sandbox payouts need no approval.")
	page.WaitText("It does not hold until somebody else approves it.")
	page.ClickText("Remove: One payout is at most PHP 1,000.00.")
	page.WaitText("its removal waits for a second person's approval")
	page.WaitText("Until then this one holds.")
	page.ClickText("Approvals")
	page.WaitText("The end of a limit for payouts")
	page.WaitText("A new rule that demands less of payouts")
	page.Back()
	page.Accessible("rules that wait")
	page.Shoot("rules")
	page.ClickText("Give up: All sandbox payouts need no approval.")
	page.WaitText("No rules yet.")
	page.ClickText("Who asked, and for what")
	page.WaitText("You asked for this yourself")
	page.Accessible("the approval of a limit")
	page.Shoot("approval-limit")
}

func TestARuleThatIsSuspendedSaysWhy(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	admin.Post("/v2/approval-rules", servertest.Body{"workspace_id": n.First.WorkspaceID, "approvals": 0, "up_to_cents": 100000}).Created()
	second := n.Member(t, "second@example.com", "admin")
	page := open(t, n, adminEmail, "/rules")
	page.WaitText("Not in force")
	page.WaitText("one person alone made it and a second one has joined")
	page.Accessible("a rule made alone")
	page.ClickText("Remove: Payouts")
	page.ClickText("Remove")
	page.WaitText("No rules yet.")

	x := n.FirstTenant(t)
	x.EverybodyCounts()
	client, _, err := n.Identity.CreateClient(t.Context(), db.Caller{Actor: audit.Actor{ID: n.First.UserID}}, n.First.WorkspaceID, "Payroll", "disbursement_manager")
	if err != nil {
		t.Fatal(err)
	}
	rule := x.Owner.Post("/v2/approval-rules", servertest.Body{"workspace_id": n.First.WorkspaceID, "approvals": 0, "client_id": client, "up_to_cents": 100000}).Created()
	n.Person(t, second).Approve(rule.Text("approval_id")).OK()
	second.Post(x.Path("/clients/"+client+"/rotate"), nil).OK()
	page.Reload()
	page.WaitText("Not in force")
	page.WaitText("the machine client has a new secret from someone else")
	page.Accessible("a suspended rule")
	page.Shoot("rules-suspended")
	page.ClickText("Remove: Payouts")
	page.ClickText("Remove")
	page.WaitText("No rules yet.")
}

func TestOnePayeeIsLimitedFromTheirPage(t *testing.T) {
	t.Parallel()
	n := start(t)
	entry, _ := payee(t, n, "Ada Lovelace", "1234567890")
	page := open(t, n, adminEmail, "/directory/"+entry)
	page.ClickText("Limit what Ada Lovelace is paid")
	page.Fill("At most", "5000")
	page.ClickText("Set the limit")
	page.WaitText("One sandbox payout to Ada Lovelace is at most PHP 5,000.00.")
}

func TestAnAuditorReadsTheRulesAndChangesNone(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.FirstTenant(t).Staff("disbursement_authorizer", 3)
	n.Admin(t).Post("/v2/approval-rules", servertest.Body{"workspace_id": n.First.WorkspaceID, "approvals": 3}).Created()
	auditor := browse(t, n, member(t, n, "auditor"))
	body := auditor.get(room(n, "/rules")).body
	if !strings.Contains(body, "All payouts need 3 approvals.") || strings.Contains(body, "/remove") || strings.Contains(body, "/rules/new") {
		t.Errorf("an auditor sees %s", body)
	}
	for _, path := range []string{"/rules/new", "/limits/new"} {
		if got := auditor.get(room(n, path)); got.status != 403 {
			t.Errorf("%s is answered by %d", path, got.status)
		}
	}
}
