package payout_test

import (
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/ledger"
	"bursar/internal/server/servertest"
)

func TestAReceiptIsForWhatHasArrived(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		id := x.Sent(number("0001"))
		got := servertest.Decoded[api.PayoutReceipt](x.Owner.Get("/v2/payout-requests/" + id + "/receipt"))
		if got.PayoutID != id || got.AmountCents != 100_000 || got.CompletedAt == 0 || !strings.HasPrefix(got.Reference, "SIM") || got.EndToEndID == "" ||
			got.SettlementAccount.BankAccountNumber != "•••• 0001" || got.SourceName != "Payroll" || got.BankName == "" {
			t.Errorf("the receipt is %+v", got)
		}
		attempts := servertest.Decoded[api.Payout](x.Owner.Get("/v2/payout-requests/" + id)).Attempts
		if len(attempts) != 1 || attempts[0].State != "completed" || attempts[0].EndToEndID != got.EndToEndID || attempts[0].SettledAt == 0 {
			t.Errorf("the attempts are %+v", attempts)
		}
		n.Tenant(t).Owner.Get("/v2/payout-requests/"+id+"/receipt").Fails(404, "RESOURCE_NOT_FOUND")

		for end, code := range map[string]string{
			"9001": "INVALID_ACCOUNT AC01", "9002": "ACCOUNT_CLOSED AC04", "9003": "PROCESSING_FAILED AC06", "9004": "BANK_UNAVAILABLE AB08", "9005": "RAIL_UNAVAILABLE AB01",
			"9006": "PROCESSING_FAILED AM04", "9011": "PAYOUT_STATE ",
		} {
			answer := x.Owner.Get("/v2/payout-requests/" + x.Sent(number(end)) + "/receipt")
			if got := answer.Code() + " " + answer.Detail("reason"); answer.Status != 422 || got != code {
				t.Errorf("the receipt of %s: %d %s, want %s", end, answer.Status, got, code)
			}
		}
	})
}

func TestTheSandboxIsDriven(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		drive := func(id, verb string, content any, headers ...string) *servertest.Answer {
			return x.Owner.Do("POST", "/v2/simulations/payouts/"+id+"/"+verb, content, headers...)
		}
		id := x.Sent(number("9011"))
		key := []string{"Idempotency-Key", "settle-it"}
		if got := drive(id, "settle", nil, key...).OK().Text("status"); got != "completed" {
			t.Errorf("settled, it is %s", got)
		}
		if got := drive(id, "settle", nil, key...).OK().Text("status"); got != "completed" {
			t.Errorf("asked once more with the same key, it is %s", got)
		}
		drive(id, "settle", nil).Fails(422, "PAYOUT_STATE")
		drive(id, "reject", nil).Fails(422, "PAYOUT_STATE")
		if got := drive(id, "return", servertest.Body{"reason": "AC06"}).OK(); got.Text("status") != "reversed" {
			t.Errorf("returned, it is %s", got.Body)
		}
		drive(id, "return", nil).Fails(422, "PAYOUT_STATE")
		if got := drive(x.Sent(number("9011")), "reject", servertest.Body{"reason": "RC01"}).OK(); got.Text("status") != "failed" {
			t.Errorf("rejected, it is %s", got.Body)
		} else {
			answer := x.Owner.Get("/v2/payout-requests/"+got.Text("id")+"/receipt").Fails(422, "PROCESSING_FAILED")
			if answer.Detail("failure_code") != "INVALID_INSTITUTION" {
				t.Errorf("the receipt is %s", answer.Body)
			}
		}

		account := x.Account(0)
		x.Owner.Post("/v2/simulations/deposits", servertest.Body{"account_id": account, "amount_cents": 700}).Created()
		if got := x.Owner.Balances(account); got != [3]int64{700, 0, 0} {
			t.Errorf("the account has %v", got)
		}
	})
}

// Nothing of the simulator reaches what is live, not even for who may do everything: neither a payout that
// waits for its end, nor one that could come back, nor an account.
func TestTheSandboxReachesNothingThatIsLive(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		open, paid := x.Sent(number("9011")), x.Sent(number("0001"))
		var live string
		n.Write(t, func(tx *db.Tx) error {
			a, err := ledger.NewAccount(tx, x.WorkspaceID, "Real", "PHP", api.ModeLive)
			live = a.ID
			if err == nil {
				err = tx.Exec(`UPDATE payout SET mode = 'live' WHERE id IN ($1, $2)`, open, paid)
			}
			return err
		})
		n.Unchanged(t, func() {
			x.Owner.Post("/v2/simulations/deposits", body{"account_id": live, "amount_cents": 700}).Fails(404, "RESOURCE_NOT_FOUND")
			for _, id := range []string{open, paid} {
				for _, verb := range []string{"settle", "reject", "return"} {
					x.Owner.Post("/v2/simulations/payouts/"+id+"/"+verb, nil).Fails(404, "RESOURCE_NOT_FOUND")
				}
			}
			n.RunPayouts(t)
		})
	})
}

func TestHealthReportsHowManyPayoutsWaitForAService(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000_000)
		for range 3 {
			x.Owner.Pay(account, 10_000)
		}
		x.Owner.Pay(account, 10_000, body{"settlement_account": to("GXCHPHM2XXX", "09171234567")})
		x.Owner.Pay(account, 6_000_000) // more than InstaPay takes
		depths := func(want map[string]int64) {
			t.Helper()
			for name, n := range want {
				if got := servertest.Decoded[api.ServiceHealth](x.Owner.Get(payouts + "/health/" + name)).QueueDepth; got != n {
					t.Errorf("%d payouts wait for %s, want %d", got, name, n)
				}
			}
		}
		depths(map[string]int64{"instapay": 4, "pesonet": 1, "simulator": 5, bpi: 4, "GXCHPHM2XXX": 1, "TLBPPHMMXXX": 0})
		n.RunPayouts(t) // the one by PESONet waits for its cycle
		n.Write(t, func(tx *db.Tx) error {
			return tx.Exec(`UPDATE payout SET status = 'cancelled' WHERE rail = 'pesonet' AND status = 'pending'`)
		})
		depths(map[string]int64{"instapay": 0, "pesonet": 0, "simulator": 0, bpi: 0, "GXCHPHM2XXX": 0})
	})
}

func TestHealthOfServices(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		health := func(name string) api.ServiceHealth {
			t.Helper()
			return servertest.Decoded[api.ServiceHealth](x.Owner.Get("/v2/payout-requests/health/" + name))
		}
		set := func(name, status string) {
			t.Helper()
			x.Owner.Post("/v2/simulations/services/"+name, servertest.Body{"workspace_id": x.WorkspaceID, "status": status, "reason": "a test"}).OK()
		}
		for name, kind := range map[string]string{"instapay": "rail", "pesonet": "rail", "simulator": "connector", "GXCHPHM2XXX": "institution"} {
			if got := health(name); got.Kind != kind || got.Status != "up" || got.Mode != "sandbox" || (got.NextWindow != 0) != (name == "pesonet") {
				t.Errorf("%s: %+v", name, got)
			}
			set(name, "down")
			if got := health(name); got.Status != "down" || got.Reason != "a test" || got.Since == 0 {
				t.Errorf("%s: %+v", name, got)
			}
			set(name, "up")
		}
		set("simulator", "degraded")
		if got := health("instapay"); got.Status != "degraded" {
			t.Errorf("a rail whose connector is degraded: %+v", got)
		}
		for _, name := range []string{"nobody", "instapay?mode=live", "GXCHPHM2XXX?mode=live"} {
			x.Owner.Get("/v2/payout-requests/health/"+name).Fails(404, "RESOURCE_NOT_FOUND")
		}
		x.Owner.Post("/v2/simulations/services/nobody", servertest.Body{"workspace_id": x.WorkspaceID, "status": "up"}).Fails(404, "RESOURCE_NOT_FOUND")
	})
}

func TestInstitutionsThatCanBePaid(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		var all, byRail, alias []api.Institution
		c.Get("/v2/receiving_institutions").OK().Data(&all)
		c.Get("/v2/receiving-institutions").OK().Data(&alias)
		c.Get("/v2/receiving_institutions?rail=instapay").OK().Data(&byRail)
		if len(all) < 90 || len(alias) != len(all) || len(byRail) == 0 || len(byRail) >= len(all) {
			t.Errorf("%d institutions, %d by the alias, %d on instapay", len(all), len(alias), len(byRail))
		}
		for _, i := range byRail {
			if i.Code == "" || i.Name == "" || i.Kind == "" || !strings.Contains(i.Rails[0].Rail+i.Rails[len(i.Rails)-1].Rail, "instapay") {
				t.Errorf("on instapay is %+v", i)
			}
		}
		c.Get("/v2/receiving_institutions?rail=pigeon").Invalid("rail")
		if walked := c.Walk("/v2/receiving_institutions?limit=40", nil); len(walked) != len(all) {
			t.Errorf("%d on all pages, want %d", len(walked), len(all))
		}
		n.Stranger(t).Get("/v2/receiving_institutions").Fails(401, "UNAUTHORIZED")
	})
}
