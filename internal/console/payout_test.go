package console_test

import (
	"strings"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/ledger"
	"bursar/internal/payout"
	"bursar/internal/server/servertest"
)

func TestACompletedPayoutHasAReceipt(t *testing.T) {
	t.Parallel()
	n := start(t)
	_, method := payee(t, n, "Ada Lovelace", "1234567890")
	_, gone := payee(t, n, "Grace Hopper", "1234569002")
	id, failed := paid(t, n, method, 150050), paid(t, n, gone, 100)
	n.RunPayouts(t)
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

func TestHomeShowsProblemsWithMoney(t *testing.T) {
	t.Parallel()
	n := start(t)
	_, gone := payee(t, n, "Grace Hopper", "1234569002")
	paid(t, n, gone, 100)
	n.RunPayouts(t)
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
