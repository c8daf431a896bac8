package payout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/ledger"
	"bursar/internal/payout"
	"bursar/internal/rail"
	"bursar/internal/server/servertest"
)

// number is an account number that ends in four digits.
func number(end string) string { return "123456" + end }

// approve approves the approval of a payout at its own endpoint, as someone who looked at it.
func approve(c *servertest.Client, id string) *servertest.Answer {
	c.T().Helper()
	digest := c.Get("/v1/approvals/" + c.Get(payouts+"/"+id).OK().Text("approval_id")).OK().Text("digest")
	return c.Post(payouts+"/"+id+"/approve", body{"digest": digest, "verification": "Compared with the invoice."})
}

func TestOnePersonPaysWithoutApprovalAndTheAnswerAndTheLogStateIt(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		var p api.Payout
		x.Owner.Post(payouts, request(account, 40_000, body{"description": "Rent"})).Created().Data(&p)
		if p.Status != api.PayoutPending || p.SettlementRail != "instapay" || p.SettlementAccount.BankAccountNumber != "•••• 7890" || p.ExpectedAt == 0 {
			t.Errorf("the payout is %+v", p)
		}
		if !strings.Contains(p.ApprovalReason, "No approval needed") || !strings.Contains(p.RailReason, "InstaPay") {
			t.Errorf("the reasons are %q and %q", p.ApprovalReason, p.RailReason)
		}
		x.Owner.Has(account, 60_000, 40_000)
		row := x.Owner.Get("/v1/audit?workspace_id=" + x.WorkspaceID + "&resource_id=" + p.ID).OK().LastRow("payout.request.created")
		if text := row["description"].(string); !strings.Contains(text, "No approval needed") || strings.Contains(text, "1234567890") {
			t.Errorf("the log says %q", text)
		}
	})
}

// set stores how services are in the sandbox of a workspace.
func set(t testing.TB, n *servertest.Node, workspaceID string, status rail.Status, services ...string) {
	t.Helper()
	if err := servertest.Simulate(n.DB, workspaceID, status, services...); err != nil {
		t.Fatal(err)
	}
}

// fail ends a payout as a rail does that refuses it.
func fail(t testing.TB, n *servertest.Node, id, code string) {
	t.Helper()
	n.Write(t, func(tx *db.Tx) error {
		p, err := payout.Find(tx.Q, id)
		if err != nil {
			return err
		}
		if err := tx.Exec(`UPDATE payout SET status = 'failed', failure_code = $2, ended_at = $3 WHERE id = $1`, id, code, tx.Now()); err != nil {
			return err
		}
		return ledger.Release(tx, []ledger.Reserved{{AccountID: p.AccountID, WorkspaceID: p.WorkspaceID, Currency: p.Currency, Mode: p.Mode, Reference: id, Amount: p.Amount}})
	})
}

func TestEachCodeThatIsAnsweredAtOnce(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		owner, account := x.Owner, x.Account(10_000_000)
		closed := owner.Pay(account, 1_000, body{"settlement_account": to(bpi, "5555555555")})
		fail(t, n, closed, "ACCOUNT_CLOSED")
		onlyPesonet := "PAEYPHM2XXX"
		down := func(service string) func() func() {
			return func() func() {
				set(t, n, x.WorkspaceID, rail.Down, service)
				return func() { set(t, n, x.WorkspaceID, rail.Up, service) }
			}
		}
		status := func(status string) { owner.Patch("/v2/accounts/"+account, body{"status": status}).OK() }
		for name, c := range map[string]struct {
			more   body
			amount int64
			status int
			code   string
			before func() (after func())
			detail string
		}{
			"an unknown bank":                   {body{"settlement_account": to("NOBANK", "1234567890")}, 100, 400, "INVALID_INSTITUTION", nil, `"institution":"NOBANK"`},
			"a bank that the rail cannot reach": {body{"settlement_rail": "instapay", "settlement_account": to(onlyPesonet, "1234567890")}, 100, 400, "INVALID_INSTITUTION", nil, `"rail":"instapay"`},
			"too little for the rail":           {nil, 99, 422, "AMOUNT_BELOW_MINIMUM", nil, `"minimum":100`},
			"too much for the rail":             {body{"settlement_rail": "instapay"}, 5_000_001, 422, "AMOUNT_ABOVE_MAXIMUM", nil, `"maximum":5000000`},
			"a number that is none":             {body{"settlement_account": to(bpi, "123456789")}, 100, 422, "INVALID_ACCOUNT", nil, ""},
			"an account that was closed":        {body{"settlement_account": to(bpi, "555-555-5555")}, 100, 422, "ACCOUNT_CLOSED", nil, ""},
			"a rail that is down":               {nil, 100, 422, "RAIL_UNAVAILABLE", down("instapay"), ""},
			"a bank that is down":               {nil, 100, 422, "BANK_UNAVAILABLE", down(bpi), ""},
			"more than there is":                {body{"settlement_rail": "pesonet"}, 10_000_001, 422, "INSUFFICIENT_FUNDS", nil, `"available_balance":10000000`},
			"an account that is frozen": {nil, 100, 422, "ACCOUNT_FROZEN", func() func() {
				status("frozen")
				return func() { status("active") }
			}, `"status":"frozen"`},
			"a rail that is none":      {body{"settlement_rail": "carrier-pigeon"}, 100, 400, "VALIDATION_ERROR", nil, "settlement_rail"},
			"another currency":         {body{"currency": "USD"}, 100, 400, "VALIDATION_ERROR", nil, "currency"},
			"a method that is none":    {body{"settlement_account": nil, "receiving_method_id": "rm_1"}, 100, 404, "RESOURCE_NOT_FOUND", nil, ""},
			"two destinations at once": {body{"receiving_method_id": "rm_1"}, 100, 400, "VALIDATION_ERROR", nil, "receiving_method_id"},
		} {
			t.Run(name, func(t *testing.T) {
				if c.before != nil {
					defer c.before()()
				}
				got := owner.On(t).Post(payouts, request(account, c.amount, c.more)).Fails(c.status, c.code)
				if !strings.Contains(string(got.Body), c.detail) {
					t.Errorf("the answer is %s", got.Body)
				}
				owner.On(t).Has(account, 10_000_000, 0)
			})
		}
		if count := n.Count(t, `SELECT count(*) FROM payout WHERE workspace_id = $1`, x.WorkspaceID); count != 1 {
			t.Errorf("there are %d payouts", count)
		}
	})
}

func TestADryRunReportsAllFaultsAtOnceAndChangesNothing(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(1_000)
		x.Owner.Pay(account, 100) // so that the workspace has its data key
		set(t, n, x.WorkspaceID, rail.Down, "instapay", bpi)
		var got api.PayoutRehearsal
		n.Unchanged(t, func() {
			x.Owner.Post(payouts+"/validate", request(account, 5_000_001, body{"settlement_rail": "instapay", "settlement_account": to(bpi, "1")})).OK().Data(&got)
		})
		var codes []string
		for _, f := range got.Faults {
			codes = append(codes, string(f.Code))
		}
		want := []string{"AMOUNT_ABOVE_MAXIMUM", "INVALID_ACCOUNT", "RAIL_UNAVAILABLE", "BANK_UNAVAILABLE", "INSUFFICIENT_FUNDS"}
		if got.Valid || !slices.Equal(codes, want) {
			t.Errorf("the faults are %v, want %v", codes, want)
		}
		set(t, n, x.WorkspaceID, rail.Up, "instapay", bpi)
		x.Owner.Post(payouts+"/validate", request(account, 500)).OK().Data(&got)
		if !got.Valid || got.SettlementRail != "instapay" || got.ExpectedAt == 0 || got.ApprovalsNeeded != 0 {
			t.Errorf("the rehearsal says %+v", got)
		}
	})
}

func TestExactlyTheMaximumGoesAtOnceAndACentavoMoreWaitsForACycle(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000_000)
		for amount, want := range map[int64]string{100: "instapay", 5_000_000: "instapay", 5_000_001: "pesonet"} {
			if got := x.Owner.Post(payouts, request(account, amount)).Created().Text("settlement_rail"); got != want {
				t.Errorf("%d goes by %s, want %s", amount, got, want)
			}
		}
		x.Owner.Pay(account, 5_000_000, body{"settlement_rail": "instapay"})
		x.Owner.Post(payouts, request(account, 5_000_001, body{"settlement_rail": "instapay"})).Fails(422, "AMOUNT_ABOVE_MAXIMUM")
	})
}

func TestAPayoutOutsideTheHoursOfItsRailIsScheduled(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000_000)
		manila := time.FixedZone("Manila", 8*60*60)
		// 2027-03-03 is a Wednesday without a holiday around it.
		at := func(hour, minute, second int) {
			n.Clock.Advance(time.Date(2027, 3, 3, hour, minute, second, 0, manila).Sub(n.Clock.Now()))
			x.Owner.Token = x.Owner.Again(t).Token
		}
		for _, c := range []struct {
			hour, minute, second int
			send                 string
		}{{9, 59, 0, "2027-03-03 10:00"}, {10, 0, 30, "2027-03-03 13:00"}, {15, 59, 0, "2027-03-03 16:00"}, {16, 0, 30, "2027-03-04 10:00"}} {
			at(c.hour, c.minute, c.second)
			var p api.Payout
			x.Owner.Post(payouts, request(account, 6_000_000)).Created().Data(&p)
			if got := time.UnixMilli(p.SendAt).In(manila).Format("2006-01-02 15:04"); got != c.send || p.Status != api.PayoutPending || p.ExpectedAt < p.SendAt {
				t.Errorf("at %d:%d it is sent %s, and %s", c.hour, c.minute, got, p.Status)
			}
		}
	})
}

func TestAnExternalIDNamesOnePayoutPermanently(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		named := body{"external_id": "invoice-42"}
		answers := servertest.SideBySide(8, func(int) *servertest.Answer { return x.Owner.Post(payouts, request(account, 10_000, named)) })
		if got := servertest.Statuses(answers); got["201"] != 1 || got["200"] != 7 {
			t.Fatalf("the answers are %v", got)
		}
		id := answers[0].Text("id")
		for _, a := range answers {
			if a.Text("id") != id {
				t.Errorf("there is %s beside %s", a.Text("id"), id)
			}
		}
		x.Owner.Has(account, 90_000, 10_000)
		for name, more := range map[string]body{
			"amount": {"amount_cents": 20_000}, "description": {"description": "x"}, "rail": {"settlement_rail": "instapay"}, "status": nil,
			"number": {"settlement_account": to(bpi, "1234567891")}, "bank": {"settlement_account": to("TLBPPHMMXXX", "1234567890")},
		} {
			again := x.Owner.Post(payouts, request(account, 10_000, named, more))
			if more == nil {
				again.OK()
				continue
			}
			if again.Fails(409, "IDEMPOTENCY_CONFLICT"); !strings.Contains(again.Message(), id) {
				t.Errorf("%s: the answer says %q", name, again.Message())
			}
		}
		x.Owner.Has(account, 90_000, 10_000)                                                                             // a conflict moves no money
		x.Owner.Post(payouts, request(account, 10_000, named, body{"settlement_account": to(bpi, "123-456-7890")})).OK() // the same number
		x.Owner.Post(payouts+"/"+id+"/cancel", nil).OK()
		if got := x.Owner.Post(payouts, request(account, 10_000, named)).OK().Text("status"); got != "cancelled" {
			t.Errorf("the payout is %s", got)
		}
		x.Owner.Has(account, 100_000, 0)
		// Another workspace has ids of its own.
		y := n.Tenant(t)
		y.Owner.Pay(y.Account(100_000), 10_000, named)
	})
}

func TestARetryWithTheSameIdempotencyKeySucceedsOnceThereIsMoney(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(0)
		send := func() *servertest.Answer {
			return x.Owner.Do("POST", payouts, request(account, 10_000), "Idempotency-Key", "key-1")
		}
		send().Fails(422, "INSUFFICIENT_FUNDS")
		x.Deposit(account, 10_000)
		id := send().Created().Text("id")
		if again := send().Created(); again.Text("id") != id {
			t.Errorf("there is %s beside %s", again.Text("id"), id)
		}
		x.Owner.Has(account, 0, 10_000)
	})
}

// Anyone who retries days later, with a key that the server has forgotten, pays nothing twice.
func TestARetryAfterTheIdempotencyKeyHasExpiredFindsThePayoutByItsExternalID(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		send := func(by *servertest.Client) *servertest.Answer {
			return by.Do("POST", payouts, request(account, 10_000, body{"external_id": "invoice-42"}), "Idempotency-Key", "key-1")
		}
		id := send(x.Owner).Created().Text("id")
		n.Clock.Advance(72 * time.Hour)
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		later := x.Owner.Again(t)
		if got := send(later).OK().Text("id"); got != id { // 200: it was there, and is not the stored answer, which is 201
			t.Errorf("there is %s beside %s", got, id)
		}
		later.Has(account, 90_000, 10_000)
	})
}

func TestADraftIsChangedAndPublished(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(10_000)
		var p api.Payout
		x.Owner.Post(payouts, request(account, 20_000, body{"status": "draft", "external_id": "d"})).Created().Data(&p)
		if p.Status != api.PayoutDraft || p.SendAt != 0 {
			t.Errorf("the draft is %+v", p)
		}
		one := payouts + "/" + p.ID
		x.Owner.Post(one+"/publish", nil).Fails(422, "INSUFFICIENT_FUNDS")
		x.Owner.PayoutIs(p.ID, "draft")
		x.Owner.Post(payouts, request(account, 20_000, body{"external_id": "d"})).Fails(409, "IDEMPOTENCY_CONFLICT") // it is a draft
		x.Owner.Patch(one, body{"amount_cents": 10_000, "settlement_rail": "pesonet", "settlement_account": to(bpi, "9876543210")}).OK().Data(&p)
		if p.AmountCents != 10_000 || p.SettlementRail != "pesonet" || p.SettlementAccount.BankAccountNumber != "•••• 3210" {
			t.Errorf("the draft is %+v", p)
		}
		x.Owner.Has(account, 10_000, 0)
		x.Owner.Post(one+"/publish", nil).OK()
		x.Owner.Has(account, 0, 10_000)
		x.Owner.Patch(one, body{"amount_cents": 1_000}).Fails(422, "PAYOUT_STATE")
		x.Owner.Post(one+"/publish", nil).Fails(422, "PAYOUT_STATE")
		if got := n.Audited(t, p.ID); !slices.Equal(got, []string{"payout.request.created", "payout.request.updated", "payout.request.published"}) {
			t.Errorf("the story is %v", got)
		}
	})
}

func TestMoneyOfAPayoutCanceledTwiceIsReleasedOnce(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		id := x.Owner.Pay(account, 40_000)
		answers := servertest.SideBySide(6, func(int) *servertest.Answer { return x.Owner.Post(payouts+"/"+id+"/cancel", body{"reason": "twice"}) })
		if got := servertest.Statuses(answers); got["200"] != 1 || got["422 PAYOUT_STATE"] != 5 {
			t.Errorf("the answers are %v", got)
		}
		x.Owner.Has(account, 100_000, 0)
		var p api.Payout
		x.Owner.Get(payouts + "/" + id).OK().Data(&p)
		if p.Status != api.PayoutCancelled || p.CancelReason != "twice" || p.EndedAt == 0 || p.SendAt != 0 {
			t.Errorf("the payout is %+v", p)
		}
	})
}

func TestAFailedPayoutIsRetriedAndNoOther(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		id := x.Owner.Pay(account, 40_000)
		x.Owner.Post(payouts+"/"+id+"/retry", nil).Fails(422, "PAYOUT_STATE")
		fail(t, n, id, "BANK_UNAVAILABLE")
		x.Owner.Has(account, 100_000, 0)
		var p api.Payout
		x.Owner.Get(payouts + "/" + id).OK().Data(&p)
		if p.Failure == nil || p.Failure.Code != "BANK_UNAVAILABLE" {
			t.Errorf("the failure is %+v", p.Failure)
		}
		x.Owner.Post(payouts+"/"+id+"/cancel", nil).Fails(422, "PAYOUT_STATE")
		answers := servertest.SideBySide(4, func(int) *servertest.Answer { return x.Owner.Post(payouts+"/"+id+"/retry", nil) })
		if got := servertest.Statuses(answers); got["200"] != 1 || got["422 PAYOUT_STATE"] != 3 {
			t.Errorf("the answers are %v", got)
		}
		x.Owner.Has(account, 60_000, 40_000)
		fail(t, n, id, "ACCOUNT_CLOSED")
		x.Owner.Post(payouts+"/"+id+"/retry", nil).Fails(422, "ACCOUNT_CLOSED")
		x.Owner.Has(account, 100_000, 0)
	})
}

func TestPayoutsAreListedByEachFilter(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		a, b := x.Account(100_000_000), x.Account(100_000_000)
		one := x.Owner.Pay(a, 1_000, body{"external_id": "x-1"})
		two := x.Owner.Pay(a, 6_000_000, body{"settlement_account": body{"bank_account_name": "MARIA CLARA", "bank_account_number": "1234567890", "bank_code": bpi}})
		three := x.Owner.Pay(b, 1_000, body{"status": "draft"})
		middle := servertest.Decoded[api.Payout](x.Owner.Get(payouts + "/" + two)).CreatedAt
		in := "?workspace_id=" + x.WorkspaceID
		for query, want := range map[string][]string{
			in: {three, two, one}, "?source_account_id=" + a: {two, one}, in + "&status=draft": {three}, in + "&rail=pesonet": {two},
			in + "&external_id=x-1": {one}, in + "&q=maria": {two}, in + "&q=Juan": {three, one}, in + "&q=nobody": {},
			in + "&status=pending&source_account_id=" + b: {}, in + fmt.Sprintf("&since=%d", middle+60_000): {}, in + fmt.Sprintf("&until=%d", middle-60_000): {},
			in + "&entry_id=entry_1": {}, in + "&batch_id=bat_1": {},
		} {
			if got := x.Owner.Get(payouts + query).OK().Column("id"); !slices.Equal(got, want) {
				t.Errorf("%s lists %v, want %v", query, got, want)
			}
		}
		if got := x.Owner.Walk(payouts+in+"&limit=1", func([]string) {}); !slices.Equal(got, []string{three, two, one}) {
			t.Errorf("page by page there are %v", got)
		}
		x.Owner.Get(payouts).Invalid("workspace_id")
		x.Owner.Get(payouts + in + "&status=lost").Invalid("status")
	})
}

func TestAnAccountNumberIsSealedAndMaskedAndRevealingItIsAudited(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		const number = "7418529630"
		id := maker.Pay(account, 1_000, body{"settlement_account": to(bpi, number)})
		for name, text := range map[string]string{
			"the store": n.Dump(t, "payout", "approval", "audit_log", "ledger_transaction"), "the log of the server": n.Log.String(),
			"the payout": string(maker.Get(payouts + "/" + id).OK().Body), "the list": string(maker.Get(payouts + "?workspace_id=" + x.WorkspaceID).OK().Body),
			"the approval": string(second.Get("/v1/approvals/" + maker.Get(payouts+"/"+id).OK().Text("approval_id")).OK().Body),
		} {
			if strings.Contains(text, number) {
				t.Errorf("%s shows the account number", name)
			}
		}
		if added := x.RowsAdded(func() {
			for range 2 {
				var p api.Payout
				if second.Get(payouts + "/" + id + "?reveal=true").OK().Data(&p); p.SettlementAccount.BankAccountNumber != number {
					t.Errorf("the number is %s", p.SettlementAccount.BankAccountNumber)
				}
			}
		}); added != 1 {
			t.Errorf("showing it twice left %d rows", added)
		}
		x.Member("viewer").Get(payouts+"/"+id+"?reveal=true").Fails(403, "FORBIDDEN")
	})
}

func TestNoOneSeesThePayoutsOfAnotherTenant(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, y := n.Tenant(t), n.Tenant(t)
		account := x.Account(100_000)
		id := x.Owner.Pay(account, 1_000)
		other := y.Owner
		other.Get(payouts+"/"+id).Fails(404, "RESOURCE_NOT_FOUND")
		other.Get(payouts+"?workspace_id="+x.WorkspaceID).Fails(404, "RESOURCE_NOT_FOUND")
		other.Get(payouts+"?source_account_id="+account).Fails(404, "RESOURCE_NOT_FOUND")
		other.Post(payouts, request(account, 1_000)).Fails(404, "RESOURCE_NOT_FOUND")
		other.Post(payouts+"/validate", request(account, 1_000)).Fails(404, "RESOURCE_NOT_FOUND")
		other.Post("/v2/batch-payout-requests", body{"source_account_id": account, "currency": "PHP", "payouts": []body{{"amount_cents": 100, "receiving_method_id": "rm_1"}}}).
			Fails(404, "RESOURCE_NOT_FOUND")
		for _, step := range []string{"publish", "cancel", "retry"} {
			other.Post(payouts+"/"+id+"/"+step, nil).Fails(404, "RESOURCE_NOT_FOUND")
		}
		other.Post(payouts+"/"+id+"/reject", body{"reason": "x"}).Fails(404, "RESOURCE_NOT_FOUND")
		// A payee of another tenant cannot be paid either.
		entry := x.Entry("Ada")
		method := x.Owner.AddMethod(entry, servertest.Account("1234567890", body{"institution_code": bpi}))
		other.Post(payouts, request(y.Account(1_000), 1_000, body{"settlement_account": nil, "receiving_method_id": method})).Fails(404, "RESOURCE_NOT_FOUND")
	})
}
