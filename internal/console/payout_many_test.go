package console_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bursar/internal/browsertest"
	"bursar/internal/server/servertest"
)

// file writes a file that a browser can send.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestManyArePaidFromAFileAndOneApprovalIsForAll(t *testing.T) {
	t.Parallel()
	n := start(t)
	payee(t, n, "Ada Lovelace", "1234567890")
	n.Member(t, "second@example.com", "admin") // from now on it takes two
	page := open(t, n, adminEmail, "/payouts")
	page.ClickText("Pay many")
	page.WaitText("From a file")
	page.Accessible("the form that pays many")
	page.Shoot("payouts-many")
	page.ExpectStatus(422)
	page.Attach("#file", file(t, "payroll.csv", "to,bank_code,account_number,account_name,amount,external_id\n"+
		"Ada Lovelace,,,,\"1,500.50\",pay-1\n,"+bpi+",1234561234,Grace Hopper,2000,pay-2\n,NOSUCHXX,1234561234,Mary Jackson,10,pay-3\n,"+bpi+",1234561235,Edith Clarke,much,pay-4\n"+
		","+bpi+",1234561236,Hedy Lamarr,2000000,pay-5\nNobody,,,,1,pay-6\n"))
	page.Fill("What for", "Salaries of November")
	page.ClickText("Review")
	page.WaitText("4 of 6 payments cannot be paid like that.")
	page.WaitText("The directory has no entry called \"Nobody\".")
	page.WaitText("is missing")
	page.WaitText("The amount \"much\" must be a number with at most two decimals")
	page.WaitText("is available, and this takes PHP 2,000,000.00")
	page.Accessible("many with faults")
	page.Shoot("payouts-many-faults")
	page.ClickText("Leave out the faulty ones")
	page.WaitText("PHP 3,500.50")
	page.WaitGone("cannot be paid like that")
	page.Accessible("the review of many")
	page.Shoot("payouts-many-review")
	page.ClickText("Ask to pay PHP 3,500.50")
	page.WaitURL("/payouts/batches/bat_")
	page.WaitText("Asked for 2 payouts.")
	page.WaitText("Waits for approval")
	page.Accessible("a batch")
	page.Shoot("payouts-batch")
	page.ClickText("Who has to approve")
	page.WaitText("You asked for this yourself")

	second := open(t, n, "second@example.com", "")
	if got := second.Text(`.sidebar a[href$="/approvals"] .badge`); !strings.HasPrefix(got, "1") {
		t.Errorf("the menu counts %q", got)
	}
	second.ClickText("Approvals")
	second.WaitText("Pay PHP 3,500.50 from Sandbox, payouts: 2")
	second.Accessible("a batch that waits")
	second.Shoot("approvals-payouts")
	second.ClickText("Pay PHP 3,500.50 from Sandbox")
	second.WaitText("What would be paid")
	second.Accessible("the approval of a batch")
	second.Shoot("approval-batch")
	second.Fill("How did you check?", "Compared it with the payroll.")
	second.ClickText("Approve")
	second.WaitText("Approved.")
	send(t, n)
	page.Goto(n.PublicURL + room(n, "/payouts?status=completed"))
	page.WaitText("2 payouts shown")
	page.WaitText("Grace Hopper")
}

func TestAFileThatIsSentAgainPaysNobodyTwice(t *testing.T) {
	t.Parallel()
	n := start(t)
	payee(t, n, "Ada Lovelace", "1234567890")
	payroll := file(t, "payroll.csv", "to,bank_code,account_number,account_name,amount\nAda Lovelace,,,,100\n,"+bpi+",1234561234,Grace Hopper,200\n")
	page := open(t, n, adminEmail, "/payouts/many")
	page.Attach("#file", payroll)
	page.ClickText("Review")
	page.ClickText("Ask to pay PHP 300.00")
	page.WaitText("Asked for 2 payouts.")
	again := func(want string) {
		t.Helper()
		page.Goto(n.PublicURL + room(n, "/payouts/many"))
		page.Attach("#file", payroll)
		page.ClickText("Review")
		page.WaitText(want)
		if page.Has("main button.primary") {
			t.Error("there is something to send")
		}
	}
	again("This file was already sent on")
	page.WaitText("Sent before: Queued")
	send(t, n)
	again("This file was already paid on")
	page.WaitText("Sent before: Completed")
	page.Accessible("a file that was sent before")
	page.Shoot("payouts-many-again")
	page.ClickText("Open what became of it")
	page.WaitURL("/payouts/batches/bat_")
	if got := n.Count(t, `SELECT count(*) FROM payout`); got != 2 {
		t.Errorf("there are %d payouts", got)
	}
}

func TestALineThatCannotBeTrustedIsLeftOutForGood(t *testing.T) {
	t.Parallel()
	n := start(t)
	_, method := payee(t, n, "Ada Lovelace", "1234567890")
	payee(t, n, "Grace Hopper", "1234567891")
	page := open(t, n, adminEmail, "/payouts/many")
	page.ExpectStatus(422)
	page.Attach("#file", file(t, "payroll.csv", "to,receiving_method_id,amount\nAda Lovelace,,100\nGrace Hopper,"+method+",200\nGrace Hopper,,1,500\n"))
	page.ClickText("Review")
	page.WaitText("A line names either a payee, a receiving method or an account, not several.")
	page.WaitText("The line has more cells than there are columns.")
	page.ClickText("Leave out the faulty ones")
	page.WaitText("Ask to pay PHP 100.00")
	page.WaitGone("Grace Hopper")
}

func TestManyArePaidFromATag(t *testing.T) {
	t.Parallel()
	n := start(t)
	payee(t, n, "Ada Lovelace", "1234567890")
	payee(t, n, "Grace Hopper", "1234567891")
	n.Admin(t).Entry(servertest.Body{"name": "Mary Jackson", "tags": []string{"Staff"}})
	page := open(t, n, adminEmail, "/payouts/many", browsertest.WithoutScripts())
	page.Select("Tag", "Staff")
	page.ClickText("Choose")
	page.WaitText("Nothing that can be paid")
	page.Accessible("amounts for a tag")
	page.Shoot("payouts-many-tag")
	page.ExpectStatus(400)
	page.ClickText("Review")
	page.WaitText("Type an amount for at least one payee.")
	for range 2 { // the same amounts are paid every month
		page.Goto(n.PublicURL + room(n, "/payouts/many?tag=Staff"))
		page.Fill("Amount for Ada Lovelace", "100")
		page.Fill("Amount for Grace Hopper", "200.50")
		page.ClickText("Review")
		page.WaitText("PHP 300.50")
		page.ClickText("Ask to pay PHP 300.50")
		page.WaitText("Asked for 2 payouts.")
	}
}

// approvable is a payout that waits for a second person.
func approvable(t *testing.T, n *servertest.Node) string {
	t.Helper()
	_, method := payee(t, n, "Ada Lovelace", "1234567890")
	n.Member(t, "second@example.com", "disbursement_authorizer")
	return paid(t, n, method, 150050)
}

func TestAnAuthorizerApprovesAPayout(t *testing.T) {
	t.Parallel()
	n := start(t)
	id := approvable(t, n)
	page := open(t, n, "second@example.com", "/payouts/"+id)
	page.WaitText("Nothing is paid until it is approved.")
	page.WaitText("Asked to pay PHP 1,500.50 to Ada Lovelace") // without the permission to read the log
	if page.Has(`a[href$="/audit"]`) || page.Has(`form[action$="/cancel"]`) {
		t.Error("an authorizer is offered the log, or to cancel")
	}
	page.Accessible("a payout that waits")
	page.Shoot("payouts-one-waits")
	page.Fill("How did you check?", "Compared it with invoice 42.")
	page.ClickText("Approve")
	page.WaitText("Approved.")
	send(t, n)
	page.Reload()
	page.WaitText("Ada Lovelace has the money.")
}

func TestApprovingAPayoutTakesAFreshSignIn(t *testing.T) {
	t.Parallel()
	n := start(t)
	id := approvable(t, n)
	second := browse(t, n, "second@example.com")
	n.Clock.Advance(time.Hour)
	got := second.post(room(n, "/payouts/"+id+"/approve"), "digest", "x", "verification", "called")
	if !strings.HasPrefix(got.path, "/signin") {
		t.Errorf("an old session leads to %s", got.path)
	}
	if state := n.Admin(t).Get("/v2/payout-requests/" + id).OK().Text("status"); state != "initiated" {
		t.Errorf("the payout is %s", state)
	}
}

func TestAPayoutIsRejectedWithAReason(t *testing.T) {
	t.Parallel()
	n := start(t)
	id := approvable(t, n)
	page := open(t, n, "second@example.com", "/payouts/"+id, browsertest.WithoutScripts())
	page.Fill("Reason to reject", "This invoice was paid already.")
	page.ClickText("Reject")
	page.WaitText("Rejected. Nothing is paid.")
	page.WaitText("Rejected by User second@example.com: This invoice was paid already.")
	if got := page.Text("h1 .badge"); got != "Rejected" {
		t.Errorf("the payout is %q", got)
	}
	page.Accessible("a payout that was rejected")
	page.Shoot("payouts-one-rejected")
	page.ClickText("Payouts")
	page.WaitText("1 payout shown")
	if got := page.Text("td .badge"); got != "Rejected" {
		t.Errorf("the list says %q", got)
	}
	maker := browse(t, n, adminEmail)
	if got := maker.post(room(n, "/payouts/"+id+"/approve"), "digest", "x"); got.status != http.StatusUnprocessableEntity {
		t.Errorf("approving what was rejected is answered by %d", got.status)
	}
}

func TestAPayoutIsDecidedFromTheList(t *testing.T) {
	t.Parallel()
	n := start(t)
	_, method := payee(t, n, "Grace Hopper", "1234567891")
	id := approvable(t, n)
	other := paid(t, n, method, 200)
	page := open(t, n, "second@example.com", "/approvals")
	page.WaitText("sandbox")
	page.ClickText("Decide: Pay PHP 1,500.50 to Ada Lovelace")
	page.Accessible("a payout that is decided in the list")
	page.Shoot("approvals-decide")
	page.Fill("How did you check?", "Compared it with invoice 42.")
	page.ClickText("Approve")
	page.WaitText("Approved.")
	page.WaitGone("Ada Lovelace")
	page.ClickText("Decide: Pay PHP 2.00 to Grace Hopper")
	page.Fill("Reason to reject", "Nobody knows it.")
	page.ClickText("Reject")
	page.WaitText("Nothing waits")
	for id, want := range map[string]string{id: "pending", other: "cancelled"} {
		if state := n.Admin(t).Get("/v2/payout-requests/" + id).OK().Text("status"); state != want {
			t.Errorf("the payout is %s, want %s", state, want)
		}
	}
}

func TestWhoeverApprovesHearsHowManyOthersMust(t *testing.T) {
	t.Parallel()
	n := start(t)
	_, method := payee(t, n, "Ada Lovelace", "1234567890")
	for _, email := range []string{"second@example.com", "third@example.com", "fourth@example.com"} {
		n.Member(t, email, "disbursement_authorizer")
	}
	n.FirstTenant(t).EverybodyCounts()
	n.Admin(t).Post("/v2/approval-rules", servertest.Body{"workspace_id": n.First.WorkspaceID, "approvals": 3}).Created()
	id := paid(t, n, method, 150050)
	page := open(t, n, "second@example.com", "/approvals")
	page.WaitText("0 of 3 approvals")
	page.ClickText("Decide: Pay PHP 1,500.50 to Ada Lovelace")
	page.Fill("How did you check?", "Compared it with invoice 42.")
	page.ClickText("Approve")
	page.WaitText("Approved. 2 more people must approve.")
	page.WaitText("1 of 3 approvals")
	page = open(t, n, "third@example.com", "/payouts/"+id)
	page.ClickText("Approve")
	page.WaitText("Approved. One more person must approve.")
	page = open(t, n, "fourth@example.com", "/payouts/"+id)
	page.ClickText("Approve")
	page.WaitText("Approved.")
	page.WaitGone("must approve")
}

func TestDecidingInTheListTakesAFreshSignInThatLeadsBack(t *testing.T) {
	t.Parallel()
	n := start(t)
	approvable(t, n)
	page := open(t, n, "second@example.com", "/approvals", browsertest.WithoutScripts())
	n.Clock.Advance(20 * time.Minute)
	page.ClickText("Decide: Pay PHP 1,500.50 to Ada Lovelace")
	page.Fill("How did you check?", "Compared it with invoice 42.")
	page.ClickText("Approve")
	page.Fill("Password", password)
	page.ClickText("Sign in")
	page.WaitText("Pay PHP 1,500.50 to Ada Lovelace")
	page.ClickText("Approve")
	page.WaitText("Approved.")
}

func TestWhatIsWrongWithADecisionInTheListIsSaidThere(t *testing.T) {
	t.Parallel()
	n := start(t)
	id := approvable(t, n)
	approval := n.Admin(t).Get("/v2/payout-requests/" + id).OK().Text("approval_id")
	got := browse(t, n, "second@example.com").post(room(n, "/approvals/"+approval+"/approve"), "from", "list", "digest", "x", "verification", "Compared it.")
	if got.status/100 != 4 || !strings.Contains(got.body, `value="Compared it."`) || !strings.Contains(got.body, `role="alert"`) {
		t.Errorf("answered %d: %s", got.status, got.body)
	}
}
