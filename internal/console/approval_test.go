package console_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/browsertest"
	"bursar/internal/console"
	"bursar/internal/server/servertest"
	"bursar/internal/web"
)

// pending is a payee whose new account waits for a second person, and whose phone number
// changed as well.
func pending(t *testing.T, n *servertest.Node) (entry, approval string) {
	t.Helper()
	admin := n.Admin(t)
	entry = admin.Entry(servertest.Body{"name": "Ada Lovelace", "fields": servertest.Body{"phone": "+44 20 7946 0123"}})
	old := admin.AddMethod(entry, servertest.Account("111122223333"))
	n.Member(t, "second@example.com", "admin") // from now on it takes two
	admin.Patch("/v1/directory/"+entry, servertest.Body{"fields": servertest.Body{"phone": "+44 20 7946 0999"}}).OK()
	return entry, admin.Patch("/v1/directory/"+entry+"/receiving-methods/"+old, servertest.Body{"account_id": "444455556666"}).OK().Text("approval_id")
}

func TestASecondPersonApprovesInTheConsole(t *testing.T) {
	t.Parallel()
	n := start(t)
	entry, _ := pending(t, n)
	page := open(t, n, "second@example.com", "")
	if got := page.Text(`.sidebar a[href$="/approvals"] .badge`); !strings.HasPrefix(got, "1") {
		t.Errorf("the menu counts %q", got)
	}
	page.ClickText("Approvals")
	page.WaitText("Waits for you")
	page.Accessible("what waits")
	page.Shoot("approvals")
	page.ClickText("Changed receiving method of Ada Lovelace")
	page.WaitText("444455556666")
	page.WaitText("+44 20 7946 0123")
	page.WaitText("Phone changed lately.")
	page.Accessible("an approval")
	page.Shoot("approval")
	page.Fill("How did you check?", "Called Ada at the number of her contract.")
	page.ClickText("Approve")
	page.WaitText("Approved.")
	page.WaitText("Nothing waits")
	page.Accessible("nothing waits")
	page.Shoot("approvals-none")
	page.ClickText("All")
	page.ClickText("Changed receiving method of Ada Lovelace")
	page.WaitText("Called Ada at the number of her contract.")
	page.Goto(n.PublicURL + "/w/" + n.First.WorkspaceID + "/directory/" + entry)
	page.WaitText("Can be paid from")
	page.Accessible("a payee with a successor")
	page.Shoot("directory-entry-successor")
}

func TestApproversSeeUnverifiedAddressesAndRoleChanges(t *testing.T) {
	t.Parallel()
	n := start(t)
	payout, id := n.FirstTenant(t).Unverified()
	admin := browse(t, n, adminEmail)
	for path, want := range map[string][]string{
		"/approvals/" + id: {"Not verified</span></dd>", "Address not verified</span><br>", "Role changes in the last 30 days", "as disbursement_manager",
			"ws.payouts.create"},
		"/payouts/" + payout: {"Address not verified</span>. Expires", "Role changes in the last 30 days", "as disbursement_manager"},
		"/organization":      {"(address not verified)"},
	} {
		page := admin.get(room(n, path))
		for _, text := range want {
			if !strings.Contains(page.body, text) {
				t.Errorf("%s does not show %s: %d %s", path, text, page.status, page.body)
			}
		}
	}
}

func TestApprovalsNeedNoScripts(t *testing.T) {
	t.Parallel()
	n := start(t)
	_, approval := pending(t, n)
	page := open(t, n, "second@example.com", "/approvals/"+approval, browsertest.WithoutScripts())
	page.Fill("Reason to reject", "Ada knows nothing of it.")
	page.ClickText("Reject")
	page.WaitText("Rejected.")
	state := n.Admin(t).Get("/v1/approvals/" + approval).OK()
	if state.Text("state") != "rejected" || state.Text("reason") != "Ada knows nothing of it." {
		t.Errorf("the approval is %s", state.Body)
	}
}

func TestWhoAskedIsOfferedToWithdrawOnly(t *testing.T) {
	t.Parallel()
	n := start(t)
	entry, approval := pending(t, n)
	page := open(t, n, adminEmail, "/directory/"+entry)
	page.WaitText("Waits for approval")
	page.Accessible("a payee with an account that waits")
	page.Shoot("directory-entry-pending")
	page.ClickText("Who asked, and for what")
	page.WaitText("You asked for this yourself")
	if page.Has("#verification") {
		t.Error("who asked is offered to approve")
	}
	page.ClickText("Withdraw")
	page.ClickText("Withdraw")
	page.WaitText("Withdrawn.")
	if state := n.Admin(t).Get("/v1/approvals/" + approval).OK().Text("state"); state != "withdrawn" {
		t.Errorf("the approval is %s", state)
	}
}

func TestThePolicyIsSaidPlainly(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := open(t, n, adminEmail, "/organization")
	page.WaitText("decides alone where money goes")
	page.Select("How many people a change takes", "Always two")
	page.ClickText("Save the policy")
	page.WaitText("takes a second person, and can be paid 24 hours after") // nobody has said that it should not cool
	page.Fill("Hours until an approved change can be paid", "48")
	page.ClickText("Save the policy")
	page.WaitText("Policy saved.")
	page.WaitText("takes a second person, and can be paid 48 hours after")
	page.Accessible("the policy of receiving methods")
	page.Select("How many people a change takes", "Always one, such as for a sole trader")
	page.ClickText("Save the policy")
	page.WaitText("it waits for a second person's approval")
	page.Shoot("organization-policy")
	page.ExpectStatus(400)
	visitor := browse(t, n, adminEmail)
	if got := visitor.post(room(n, "/organization/receiving"), "receiving_approval", "two_persons", "receiving_cooling_hours", "many"); got.status != http.StatusBadRequest {
		t.Errorf("answered %d", got.status)
	}
}

// No form lets one person make a method payable, or the default.
func TestNoFormMakesAMethodPayableByOnePerson(t *testing.T) {
	t.Parallel()
	n := start(t)
	pages, err := console.New(console.Services{}, console.Config{PublicURL: n.PublicURL, Endpoints: &web.Endpoints{}})
	if err != nil {
		t.Fatal(err)
	}
	forms := refusedForms(t, n)
	first := func() (entry string, methods []string, approval string) {
		t.Helper()
		admin := n.Admin(t)
		entry = admin.Entry(servertest.Body{"name": "Payee"})
		made := admin.Post("/v1/directory/"+entry+"/receiving-methods", servertest.Account("1")).OK()
		return entry, []string{made.Text("id")}, made.Text("approval_id")
	}
	n.Member(t, "second@example.com", "admin")
	visitor, admin := browse(t, n, adminEmail), n.Admin(t)
	for _, route := range pages.Routes() {
		form, known := forms[route.Path]
		if route.Method != http.MethodPost || !known || strings.Contains(route.Path, "/members/{userId}") || strings.HasPrefix(route.Path, "/w/{ws}/organization") && !strings.HasSuffix(route.Path, "/receiving") {
			continue
		}
		t.Run(route.Path, func(t *testing.T) {
			entry, methods, approval := first()
			id := form.id
			switch {
			case strings.Contains(route.Path, "/directory/{id}"):
				id = entry
			case strings.Contains(route.Path, "/approvals/{id}"):
				id = approval
			}
			pairs := slices.Clone(form.pairs)
			if i := slices.Index(pairs, "digest"); i >= 0 {
				pairs[i+1] = admin.Get("/v1/approvals/" + approval).OK().Text("digest")
			}
			path := strings.NewReplacer("{ws}", n.First.WorkspaceID, "{id}", id, "{role}", "clerk", "{method_id}", methods[0]).Replace(route.Path)
			visitor.post(path, append(pairs, "is_default", "yes")...)
			answer := admin.Get("/v1/directory/" + entry)
			if answer.Status != http.StatusOK {
				return // the form deletes the entry
			}
			var payee api.Entry
			answer.Data(&payee)
			if got := *payee.ReceivingMethods; len(got) > 0 {
				t.Errorf("one person made %v payable", got)
			}
		})
	}
}

func TestAnImportIsApprovedInTheConsole(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.Member(t, "second@example.com", "admin")
	var file strings.Builder
	file.WriteString("type,name,fields.phone,method.provider,method.account_name,method.account_id\n")
	for i := range 60 { // more than a page
		fmt.Fprintf(&file, "person,Payee %d,+44 20 79460%03d,bank,Payee %d,1000%04d\n", i, i, i, i)
	}
	file.WriteString("person,Mallory,,bank,Somebody else,10000007\n")
	n.Admin(t).Import(file.String()).OK()
	page := open(t, n, "second@example.com", "/approvals")
	if page.Has(`input[name="shown"]`) {
		t.Error("an import can be selected in the list, which does not show its lines")
	}
	page.ClickText("Import: 61 lines")
	page.WaitText("Payee 7")
	page.WaitText("10000007")
	page.WaitText("+44 20 79460007") // to call them
	page.Accessible("the approval of an import")
	page.Shoot("approval-import")
	page.SetViewport(375, 812)
	var wide int
	page.Eval(`document.documentElement.scrollWidth`, &wide)
	if wide > 375 {
		t.Errorf("the page is %d wide on a phone", wide)
	}
	page.Shoot("approval-import-phone")
	page.SetViewport(1280, 800)
	page.Check("Leave out line 3") // of the first page
	page.ClickText("Next page")
	page.WaitText("Payee 59")
	page.Check("Leave out line 62") // which has the account of another payee and another name
	page.Fill("How did you check?", "Compared with the signed contracts.")
	page.ClickText("Approve")
	page.WaitText("Approved.")
	page.ClickText("All")
	page.ClickText("Import: 61 lines")
	page.WaitText("59 approved, 2 left out.")
	page.ClickText("Account of another payee")
	page.WaitGone("Payee 3")
	page.WaitText("Left out")
}

func TestALineThatClearsAValueIsShownToTheApprover(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	entry := admin.Entry(servertest.Body{"name": "Ada", "external_id": "PWR"})
	admin.AddMethod(entry, servertest.Account("111122223333"))
	n.Member(t, "second@example.com", "admin")
	id := admin.Import(`{"id":"`+entry+`","external_id":""}`+"\n", "match", "id").OK().Text("approval_id")
	page := browse(t, n, "second@example.com").get(room(n, "/approvals/"+id)).body
	if !strings.Contains(page, `External ID:</span> <span class="muted">none</span> <span class="muted">(now PWR)`) {
		t.Errorf("the approval %q shows no line that clears the external id: %s", id, page)
	}
}

func TestALineShowsWhatItsPayeeWasCalledLately(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	entry := admin.Entry(servertest.Body{"name": "Cleaner"})
	admin.Patch("/v1/directory/"+entry, servertest.Body{"name": "Power Co"}).OK()
	n.Member(t, "second@example.com", "admin")
	file := "id,method.provider,method.account_name,method.account_id\n" + entry + ",bank,Power Co,10001\n"
	id := admin.Import(file, "match", "id").OK().Text("approval_id")
	page := browse(t, n, "second@example.com").get(room(n, "/approvals/"+id)).body
	if !strings.Contains(page, `<span class="badge warn">Changed lately</span> Cleaner → Power Co`) {
		t.Errorf("the approval %q does not show the earlier name: %s", id, page)
	}
}

func TestManyAreApprovedInTheConsole(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	n.Member(t, "second@example.com", "admin")
	for _, name := range []string{"Ada", "Bob", "Carol"} {
		admin.AddMethod(admin.Entry(servertest.Body{"name": name}), servertest.Account("111122223333"))
	}
	page := open(t, n, "second@example.com", "/approvals")
	page.WaitText("Account number: •••• 3333")
	page.Accessible("approvals that can be selected")
	page.Check("Select New receiving method of Ada")
	page.Check("Select New receiving method of Carol")
	page.Fill("How did you check the selected ones, or why do you reject them?", "Called both.")
	page.ClickText("Approve selected")
	page.WaitText("Approved 2.")
	page.WaitText("New receiving method of Bob")
	page.WaitGone("New receiving method of Carol")
	page.Check("Select New receiving method of Bob")
	page.Fill("How did you check the selected ones, or why do you reject them?", "Nobody knows him.")
	page.ClickText("Reject selected")
	page.WaitText("Rejected 1.")
	page.WaitText("Nothing waits")
}

// Without mail, whoever can extend how long a new approver does not count sees it on the home page.
func TestHomeOffersToExtendTheWaitOfWhomTheOnlyApproverAdded(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := browse(t, n, adminEmail)
	x := n.FirstTenant(t)
	maker := x.Member("disbursement_manager")
	added := x.Member("viewer")
	other := browse(t, n, maker.Email())
	if got := admin.get(room(n, "")); strings.Contains(got.body, "Extend by 72 hours") {
		t.Error("there is something to extend")
	}
	x.Owner.Post(x.Path("/roles"), servertest.Body{"user_id": added.UserID, "role": "disbursement_authorizer"}).OK()
	if got := admin.get(room(n, "")); !strings.Contains(got.body, "One person added an approver") || !strings.Contains(got.body, "Extend by 72 hours") {
		t.Errorf("the home page says %s", got.body)
	}
	if got := other.get(room(n, "")); strings.Contains(got.body, "One person added an approver") {
		t.Error("who cannot extend it sees it")
	}
	if got := admin.post(room(n, "/approvals/second-person"), "workspace_id", n.First.WorkspaceID); !strings.Contains(got.body, "Extended by 72 hours.") {
		t.Errorf("answered %d: %s", got.status, got.body)
	}
	if got := admin.get(room(n, "")); strings.Contains(got.body, "Extend by 72 hours") {
		t.Error("it can be extended again")
	}
}

// Without mail, approvers and owners see on the home page that the last second person has left, and until when changes need one. Whoever
// removes them reads what no one can decide any more.
func TestHomeOffersToExtendTheDemandAfterTheLastSecondPersonHasLeft(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := browse(t, n, adminEmail)
	x := n.FirstTenant(t)
	viewer, second := browse(t, n, x.Member("viewer").Email()), x.Member("admin")
	x.Owner.Post("/v1/directory/"+x.Entry("Payee")+"/receiving-methods", servertest.Account("1")).OK()
	if got := admin.get(room(n, "")); strings.Contains(got.body, "no second person left") {
		t.Error("with two people one is missing")
	}
	if got := admin.post(room(n, "/members/"+second.UserID+"/remove")); !strings.Contains(got.body, "1 approval waits: no one who is left can decide.") {
		t.Errorf("the removal is answered by %d %s", got.status, got.body)
	}
	for _, path := range []string{"", "/approvals"} {
		if got := admin.get(room(n, path)); !strings.Contains(got.body, "has no second person left. Until ") || !strings.Contains(got.body, "Extend by 72 hours") {
			t.Errorf("%q says %s", path, got.body)
		}
	}
	if got := viewer.get(room(n, "")); strings.Contains(got.body, "Extend by 72 hours") {
		t.Error("a viewer is offered to extend it")
	}
	if got := admin.post(room(n, "/approvals/second-person"), "workspace_id", n.First.WorkspaceID); !strings.Contains(got.body, "Extended by 72 hours.") {
		t.Errorf("the extension is answered by %d %s", got.status, got.body)
	}
	if got := admin.get(room(n, "/approvals")); !strings.Contains(got.body, "no second person left") || strings.Contains(got.body, "Extend by 72 hours") {
		t.Errorf("after the extension the approvals say %s", got.body)
	}
}
