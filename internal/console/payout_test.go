package console_test

import (
	"strings"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/browsertest"
	"bursar/internal/db"
	"bursar/internal/ledger"
	"bursar/internal/payout"
	"bursar/internal/server/servertest"
)

// bpi is an institution that both rails reach.
const bpi = "BOPIPHMMXXX"

// payee is an entry of the directory that can be paid.
func payee(t *testing.T, n *servertest.Node, name, number string) (entry, method string) {
	t.Helper()
	admin := n.Admin(t)
	entry = admin.Entry(servertest.Body{"name": name, "tags": []string{"Staff"}})
	return entry, admin.AddMethod(entry, servertest.Account(number, servertest.Body{"account_name": name, "institution_code": bpi}))
}

func TestAPayeeIsPaidFromTheirPage(t *testing.T) {
	t.Parallel()
	n := start(t)
	entry, _ := payee(t, n, "Ada Lovelace", "1234567890")
	page := open(t, n, adminEmail, "/directory/"+entry)
	page.ClickText("Pay")
	page.WaitText("Arrives at once, at any hour.")
	page.WaitText("(sandbox): PHP 1,000,000.00 available")
	page.Accessible("the form that pays")
	page.Shoot("payouts-pay")
	page.ExpectStatus(422)
	page.Fill("Amount", "2,000,000.00")
	page.Check("InstaPay")
	page.ClickText("Review")
	page.WaitText("InstaPay carries")
	page.WaitText("PHP 1,000,000.00 is available")
	page.Accessible("a payout with faults")
	page.Shoot("payouts-pay-faults")
	page.Fill("Amount", "1,500.50")
	page.Fill("Description", "Invoice 42")
	page.Fill("Your reference", "invoice-42")
	page.ClickText("Review")
	page.WaitText("Nothing has been sent yet.")
	page.WaitText("PHP 998,499.50 left after this")
	page.Accessible("the review of a payout")
	page.Shoot("payouts-review")
	page.ClickText("Change")
	page.ClickText("Review")
	page.ClickText("Pay PHP 1,500.50")
	page.WaitURL("/payouts/po_")
	page.WaitText("Asked to pay PHP 1,500.50 to Ada Lovelace")
	page.WaitText("sandbox")
	page.Accessible("a payout")
	page.Shoot("payouts-one")
	page.ClickText("Payouts")
	page.WaitText("1 payout shown")
	page.Accessible("the list of payouts")
	page.Shoot("payouts")
}

func TestPayingNeedsNoScripts(t *testing.T) {
	t.Parallel()
	n := start(t)
	entry, _ := payee(t, n, "Ada Lovelace", "1234567890")
	page := open(t, n, adminEmail, "/directory/"+entry+"/pay", browsertest.WithoutScripts())
	page.Fill("Amount", "60000")
	page.ClickText("Review")
	page.WaitText("PESONet")
	page.ClickText("Pay PHP 60,000.00")
	page.WaitText("Scheduled")
	page.ClickText("Cancel")
	page.WaitText("Cancelled. Nothing is paid.")
}

func TestAPayeeIsNotPaidByWhoMayNot(t *testing.T) {
	t.Parallel()
	n := start(t)
	entry, _ := payee(t, n, "Ada Lovelace", "1234567890")
	viewer := browse(t, n, member(t, n, "viewer"))
	if body := viewer.get(room(n, "/directory/"+entry)).body; strings.Contains(body, "/pay\"") {
		t.Error("a viewer is offered to pay")
	}
	if got := viewer.get(room(n, "/directory/"+entry+"/pay")); got.status != 403 {
		t.Errorf("the form is answered by %d", got.status)
	}
}

// send lets the dispatcher do what is due now.
func send(t *testing.T, n *servertest.Node) {
	t.Helper()
	for worked := true; worked; {
		var err error
		if worked, err = n.Server.Dispatcher().Turn(t.Context()); err != nil {
			t.Fatalf("send payouts: %v", err)
		}
	}
}

// source is the account that the setup has made.
func source(t *testing.T, n *servertest.Node) string {
	t.Helper()
	return n.Admin(t).Get("/v2/accounts?workspace_id=" + n.First.WorkspaceID).OK().Column("id")[0]
}

// paid makes a payout to a receiving method.
func paid(t *testing.T, n *servertest.Node, method string, cents int64) string {
	t.Helper()
	return n.Admin(t).Post("/v2/payout-requests", servertest.Body{"source_account_id": source(t, n), "currency": "PHP", "amount_cents": cents,
		"receiving_method_id": method, "description": "Invoice 42"}).Created().Text("id")
}

func TestAnAccountShowsItsBalancesAndStatement(t *testing.T) {
	t.Parallel()
	n := start(t)
	_, method := payee(t, n, "Ada Lovelace", "1234567890")
	paid(t, n, method, 150050)
	send(t, n)
	n.Clock.Advance(24 * time.Hour)
	paid(t, n, method, 2500000)
	send(t, n)
	paid(t, n, method, 6000000) // PESONet, later
	page := open(t, n, adminEmail, "/accounts")
	page.WaitText("PHP 913,499.50")
	page.WaitText("PHP 60,000.00")
	page.Accessible("accounts")
	page.Shoot("accounts")
	page.ClickText("Sandbox")
	page.WaitText("PHP 26,500.50 in all.")
	page.WaitText("Reserved for a payout")
	page.ClickText("Numbers by day")
	page.Accessible("an account")
	page.Eval("scrollTo(0, 0)", nil)
	page.Shoot("accounts-one")
	page.Select("Part", "Reserved")
	page.ClickText("Filter")
	if got := page.Texts("tbody td[data-label=Balance]"); got[0] != "PHP 60,000.00" {
		t.Errorf("the reserved part is %q", got)
	}
	name, data := page.DownloadBy(func() { page.ClickText("Download as CSV") })
	if lines := strings.Split(strings.TrimSpace(string(data)), "\n"); len(lines) != 6 || !strings.HasPrefix(name, "statement-acc_") || !strings.Contains(lines[1], ",reserved,60000.00,60000.00,PHP,") {
		t.Errorf("%s is %s", name, data)
	}
	page.ClickText("Freeze")
	page.ClickText("Freeze")
	page.WaitText("Frozen. Nothing is paid from it")
	page.ClickText("Unfreeze")
	page.WaitText("The account pays again.")
	page.Fill("Name", "Payroll")
	page.ClickText("Rename")
	page.WaitText("Renamed.")
	page.ExpectStatus(422)
	page.ClickText("Close")
	page.ClickText("Close for ever")
	page.WaitText("An account is closed when nothing is available, reserved or pending.")
	page.Goto(n.PublicURL + room(n, "/accounts/new"))
	page.Accessible("a new account")
	page.Shoot("accounts-new")
	page.Fill("Name", "Grants")
	page.ClickText("Open the account")
	page.WaitText("Account opened.")
	page.WaitText("Nothing was paid out in the last 30 days.")
	page.Accessible("an empty account")
}

func TestACompletedPayoutHasAReceipt(t *testing.T) {
	t.Parallel()
	n := start(t)
	_, method := payee(t, n, "Ada Lovelace", "1234567890")
	_, gone := payee(t, n, "Grace Hopper", "1234569002")
	id, failed := paid(t, n, method, 150050), paid(t, n, gone, 100)
	send(t, n)
	page := open(t, n, adminEmail, "/payouts/"+id)
	page.WaitText("Ada Lovelace has the money.")
	page.WaitText("Attempt 1: The payee has the money")
	page.WaitText("Completed the payout by instapay")
	page.Accessible("a completed payout")
	page.Shoot("payouts-one-completed")
	page.ClickText("Show")
	page.WaitText("1234567890")
	page.WaitText("Saw the account number of")
	page.ClickText("Receipt")
	page.WaitText("no real money moved")
	page.WaitText("End-to-end ID")
	page.Accessible("a receipt")
	page.Shoot("payouts-receipt")
	for _, scheme := range []string{"light", "dark"} {
		page.InPrint(scheme, func() {
			var look struct{ Paper, Ink, Aside string }
			page.Eval(`(({ Paper: getComputedStyle(document.documentElement).backgroundColor, Ink: getComputedStyle(document.querySelector(".receipt dd")).color,
				Aside: getComputedStyle(document.querySelector(".sidebar")).display }))`, &look)
			if look.Paper != "rgb(255, 255, 255)" || look.Ink != "rgb(0, 0, 0)" || look.Aside != "none" {
				t.Errorf("a receipt is printed in the scheme %s as %+v", scheme, look)
			}
		})
	}
	if got := page.PrintedPages(); got != 1 {
		t.Errorf("a receipt is printed on %d pages", got)
	}
	page.Goto(n.PublicURL + room(n, "/payouts/"+failed))
	page.WaitText("The bank says that the account is closed (ACCOUNT_CLOSED, AC04")
	page.WaitText("Ask the payee for another account")
	page.Accessible("a failed payout")
	page.Shoot("payouts-one-failed")
	page.ExpectStatus(422)
	page.Goto(n.PublicURL + room(n, "/payouts/"+failed+"/receipt"))
	page.WaitText("This payout was not paid.")
	page.WaitText("The bank says that the account is closed (ACCOUNT_CLOSED, AC04")
	page.Accessible("the receipt of a failed payout")
	page.Shoot("payouts-unpaid")
	page.Back()
	page.ClickText("Retry")
	page.ClickText("Pay again")
	page.WaitText("was reported as closed")
}

func TestHomeTellsWhatIsWrongWithMoney(t *testing.T) {
	t.Parallel()
	n := start(t)
	_, gone := payee(t, n, "Grace Hopper", "1234569002")
	paid(t, n, gone, 100)
	send(t, n)
	admin := n.Admin(t)
	admin.Post("/v2/simulations/services/instapay", servertest.Body{"workspace_id": n.First.WorkspaceID, "status": "down"}).OK()
	if _, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (int64, audit.Event, error) {
		recalled, err := payout.StopRails(tx, "a test")
		return recalled, audit.None("a test"), err
	}); err != nil {
		t.Fatal(err)
	}
	page := open(t, n, adminEmail, "")
	page.WaitText("Payouts are not sent: the store was restored from a backup")
	page.WaitText("PHP 1.00 to Grace Hopper (sandbox) failed today")
	page.WaitText("InstaPay (sandbox) is down: its payouts wait")
	page.Accessible("home with trouble")
	page.Shoot("home-trouble")
	n.Member(t, "viewer@example.com", "viewer")
	body := browse(t, n, "viewer@example.com").get(room(n, "")).body
	if !strings.Contains(body, "failed today") {
		t.Error("a viewer does not see what failed")
	}
}

// A payout that was recovered after a restore has neither a payee nor a requester.
func TestARecoveredPayoutIsShown(t *testing.T) {
	t.Parallel()
	n := start(t)
	id, account := "po_01jd2m8k3vq7w5x9y0z1a2b3c4", source(t, n)
	_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), tx.Exec(`INSERT INTO unknown_payment (end_to_end_id, payout_id, attempt, submission, connector, rail, account_id, amount, currency,
			external_hash, sent_at, acknowledged_at) VALUES ($1, $2, 1, 1, 'ourbank', 'instapay', $3, 100, 'PHP', '', $4, 0)`, payout.EndToEndID(id, 1), id, account, tx.Now())
	})
	if err == nil {
		_, err = payout.Acknowledge(t.Context(), n.DB, db.Caller{}, []string{id})
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := n.Admin(t).Get("/v2/payout-requests/" + id).OK(); got.Text("attention") != "outcome_unknown" || got.Text("status") != "processing" {
		t.Errorf("it is %v", got)
	}
	n.Admin(t).Get("/v2/payout-requests?workspace_id=" + n.First.WorkspaceID).OK()
	admin := browse(t, n, adminEmail)
	for _, path := range []string{"", "/payouts", "/payouts/" + id} {
		if got := admin.get(room(n, path)); got.status != 200 || path != "" && !strings.Contains(got.body, "Unknown payee") {
			t.Errorf("%s is answered with %d: %s", path, got.status, got.body)
		}
	}
}

func TestNoPageOfAWorkspaceShowsWhatIsInSuspense(t *testing.T) {
	t.Parallel()
	n := start(t)
	_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (string, audit.Event, error) {
		id, err := ledger.Suspend(tx, "PHP", "sandbox", 12345, "stray", "unknown")
		return id, audit.None("a test"), err
	})
	if err != nil {
		t.Fatal(err)
	}
	admin, system := browse(t, n, adminEmail), ledger.SystemAccount(ledger.Suspense, "PHP", "sandbox")
	for _, path := range []string{"", "/accounts", "/accounts/" + source(t, n), "/payouts", "/rules"} {
		if body := admin.get(room(n, path)).body; strings.Contains(body, "suspense") || strings.Contains(body, "123.45") {
			t.Errorf("%s tells of suspense", path)
		}
	}
	for _, path := range []string{"/accounts/" + system, "/accounts/" + system + "/statement", "/accounts/" + system + "/transfer"} {
		if got := admin.get(room(n, path)); got.status != 404 {
			t.Errorf("%s is answered by %d", path, got.status)
		}
	}
}
