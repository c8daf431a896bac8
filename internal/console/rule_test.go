package console_test

import (
	"strings"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

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

func TestASuspendedRuleShowsTheReason(t *testing.T) {
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
