package payout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/server/servertest"
)

// batch asks for payouts of these amounts.
func batch(account string, amounts ...int64) body {
	var list []body
	for i, amount := range amounts {
		list = append(list, body{"amount_cents": amount, "external_id": fmt.Sprintf("b-%d", i), "settlement_account": to(bpi, fmt.Sprintf("12345678%02d", i))})
	}
	return body{"source_account_id": account, "currency": "PHP", "payouts": list}
}

// results are what became of each payout, in words.
func results(b api.PayoutBatch) (list []string) {
	for _, r := range b.Results {
		text := r.Result + " " + r.Status
		if r.Error != nil {
			text = r.Result + " " + string(r.Error.Code)
		}
		list = append(list, strings.TrimSpace(text))
	}
	return list
}

func TestABatchReportsRefusedPayoutsAndCreatesTheOthers(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		ask := batch(account, 40_000, 50, 70_000, 30_000, 30_000, 30_000)
		ask["payouts"].([]body)[5]["external_id"] = "b-4"
		var b api.PayoutBatch
		x.Owner.Post(batches, ask).Created().Data(&b)
		// When the money runs out, what fits later is paid all the same.
		want := []string{"created pending", "refused AMOUNT_BELOW_MINIMUM", "refused INSUFFICIENT_FUNDS", "created pending", "created pending", "refused IDEMPOTENCY_CONFLICT"}
		if got := results(b); !slices.Equal(got, want) {
			t.Errorf("the results are %v, want %v", got, want)
		}
		if b.Payouts != 3 || b.TotalCents != 100_000 || b.Refused != 3 || b.Statuses["pending"] != 3 || b.ApprovalID != "" {
			t.Errorf("the batch is %+v", b)
		}
		x.Owner.Has(account, 0, 100_000)
		x.Owner.Get(batches + "/" + b.ID).OK().Data(&b)
		if b.Payouts != 3 || b.Refused != 3 || b.Statuses["pending"] != 3 {
			t.Errorf("later the batch is %+v", b)
		}
		if got := x.Owner.Get(payouts + "?workspace_id=" + x.WorkspaceID + "&batch_id=" + b.ID).OK().Column("id"); len(got) != 3 {
			t.Errorf("the batch has %v", got)
		}
		n.Tenant(t).Owner.Get(batches+"/"+b.ID).Fails(404, "RESOURCE_NOT_FOUND")
		// The same again makes nothing: each is there, or refused as before.
		x.Deposit(account, 1_000)
		var again api.PayoutBatch
		answer := x.Owner.Post(batches, ask).OK()
		answer.Data(&again)
		want = []string{"existed pending", "refused AMOUNT_BELOW_MINIMUM", "refused INSUFFICIENT_FUNDS", "existed pending", "existed pending", "refused IDEMPOTENCY_CONFLICT"}
		if got := results(again); answer.Status != 200 || again.ID != "" || !slices.Equal(got, want) {
			t.Errorf("once more: %d %v", answer.Status, got)
		}
		x.Owner.Has(account, 1_000, 100_000)
	})
}

func TestAnAtomicBatchIsMadeAsAWholeOrNotAtAll(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		ask := batch(account, 40_000, 70_000)
		ask["atomic"] = true
		x.Owner.Post(batches, ask).Invalid("payouts.1")
		x.Owner.Has(account, 100_000, 0)
		if count := n.Count(t, `SELECT count(*) FROM payout WHERE workspace_id = $1`, x.WorkspaceID); count != 0 {
			t.Errorf("there are %d payouts", count)
		}
		ask = batch(account, 40_000, 60_000)
		ask["atomic"] = true
		x.Owner.Post(batches, ask).Created()
		x.Owner.Has(account, 0, 100_000)
	})
}

func TestARehearsedBatchChangesNothing(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		x.Owner.Pay(account, 1_000) // so that the workspace has its data key
		ask := batch(account, 40_000, 70_000)
		ask["dry_run"] = true
		var b api.PayoutBatch
		n.Unchanged(t, func() { x.Owner.Post(batches, ask).OK().Data(&b) })
		if got := results(b); !slices.Equal(got, []string{"valid", "refused INSUFFICIENT_FUNDS"}) || b.TotalCents != 40_000 || b.ID != "" {
			t.Errorf("the results are %v, the batch %+v", got, b)
		}
	})
}

func TestABatchIsApprovedOnce(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		var b api.PayoutBatch
		maker.Post(batches, batch(account, 10_000, 20_000, 30_000)).Created().Data(&b)
		if got := results(b); !slices.Equal(got, []string{"created initiated", "created initiated", "created initiated"}) || b.ApprovalID == "" {
			t.Fatalf("the results are %v", got)
		}
		maker.Has(account, 100_000, 0)
		if got := second.Get("/v1/approvals?state=pending&workspace_id=" + x.WorkspaceID).OK().Column("id"); !slices.Equal(got, []string{b.ApprovalID}) {
			t.Errorf("there wait %v", got)
		}
		// One that is cancelled leaves the others.
		maker.Post(payouts+"/"+b.Results[1].ID+"/cancel", nil).OK()
		second.Approve(b.ApprovalID).OK()
		maker.Has(account, 60_000, 40_000)
		maker.Get(batches + "/" + b.ID).OK().Data(&b)
		if b.Statuses["pending"] != 2 || b.Statuses["cancelled"] != 1 {
			t.Errorf("the batch is %+v", b.Statuses)
		}
		if got := n.Audited(t, b.ID); !slices.Equal(got, []string{"payout.batch.created", "payout.batch.approved"}) {
			t.Errorf("the story of the batch is %v", got)
		}
	})
}

func TestWhatWasCancelledBeforeItsBatchWasRejectedIsNotRejected(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		var b api.PayoutBatch
		maker.Post(batches, batch(x.Account(100_000), 10_000, 20_000)).Created().Data(&b)
		maker.Post(payouts+"/"+b.Results[0].ID+"/cancel", nil).OK()
		n.Clock.Advance(time.Minute)
		second.Post(payouts+"/"+b.Results[1].ID+"/reject", body{"reason": "not yet"}).OK()
		for i, want := range []bool{false, true} {
			var p api.Payout
			maker.Get(payouts + "/" + b.Results[i].ID).OK().Data(&p)
			if p.Status != api.PayoutCancelled || p.Rejected != want {
				t.Errorf("payout %d is %s, rejected: %v", i, p.Status, p.Rejected)
			}
		}
	})
}

func TestEachPayoutOfABatchHasItsOwnStory(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		for _, end := range []string{"approved", "rejected", "withdrawn"} {
			ask := batch(account, 10_000, 20_000)
			for _, p := range ask["payouts"].([]body) {
				delete(p, "external_id")
			}
			var b api.PayoutBatch
			maker.Post(batches, ask).Created().Data(&b)
			switch end {
			case "approved":
				second.Approve(b.ApprovalID).OK()
			case "rejected":
				second.Post(payouts+"/"+b.Results[0].ID+"/reject", body{"reason": "not yet"}).OK()
			case "withdrawn":
				maker.Post("/v1/approvals/"+b.ApprovalID+"/withdraw", nil).OK()
			}
			for _, r := range b.Results {
				if got := n.Audited(t, r.ID); !slices.Equal(got, []string{"payout.request.created", "payout.request." + end}) {
					t.Errorf("%s: the story is %v", end, got)
				}
				if end != "approved" {
					maker.PayoutIs(r.ID, "cancelled")
				}
			}
		}
		maker.Has(account, 70_000, 30_000)
	})
}

func TestTheApproverOfABatchSeesThatTheMoneyDoesNotSufficeForAll(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		var b api.PayoutBatch
		maker.Post(batches, batch(account, 40_000, 40_000)).Created().Data(&b)
		approve(second, maker.Pay(account, 50_000)).OK()
		refused := second.Approve(b.ApprovalID).Fails(422, "INSUFFICIENT_FUNDS")
		if !strings.Contains(string(refused.Body), `"available_balance":50000,"requested_amount":80000`) {
			t.Errorf("the answer is %s", refused.Body)
		}
		maker.Has(account, 50_000, 50_000)
		maker.Get(batches + "/" + b.ID).OK().Data(&b)
		if b.Statuses["initiated"] != 2 {
			t.Errorf("the batch is %+v", b.Statuses)
		}
	})
}

func TestManySmallPayoutsDoNotGetAroundARule(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(1_000_000)
		x.StoreRule(body{"above_cents": 50_000, "approvals": 1})
		x.Owner.PayoutIs(x.Owner.Pay(account, 50_000), "pending")
		x.Owner.PayoutIs(x.Owner.Pay(account, 50_001), "initiated")
		var b api.PayoutBatch
		x.Owner.Post(batches, batch(account, 25_000, 25_000)).Created().Data(&b)
		if b.Statuses["pending"] != 2 {
			t.Errorf("the batch is %+v", b)
		}
		ask := batch(account, 25_000, 25_001)
		for _, p := range ask["payouts"].([]body) {
			delete(p, "external_id")
		}
		x.Owner.Post(batches, ask).Created().Data(&b)
		if b.Statuses["initiated"] != 2 || b.ApprovalID == "" || !strings.Contains(b.ApprovalReason, "rule") {
			t.Errorf("the batch is %+v", b)
		}
		for i, p := range ask["payouts"].([]body) {
			p["settlement_rail"] = []string{"instapay", "pesonet"}[i]
		}
		x.Owner.Post(batches, ask).Created().Data(&b)
		if b.Statuses["initiated"] != 2 {
			t.Errorf("over two rails, the batch is %+v", b)
		}
	})
}

func TestABatchOfWhichNothingCouldBeMadeSucceedsWithTheSameIdempotencyKeyOnceItCan(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		for _, atomic := range []bool{false, true} {
			account := x.Account(0)
			ask := batch(account, 10_000, 20_000)
			for i, p := range ask["payouts"].([]body) {
				p["external_id"] = fmt.Sprint(atomic, i)
			}
			ask["atomic"] = atomic
			send := func() *servertest.Answer {
				return x.Owner.Do("POST", batches, ask, "Idempotency-Key", fmt.Sprint("batch-", atomic))
			}
			if first := send(); atomic {
				first.Fails(400, "VALIDATION_ERROR")
			} else if b := servertest.Decoded[api.PayoutBatch](first.OK()); b.Refused != 2 {
				t.Errorf("without money the batch is %+v", b)
			}
			x.Deposit(account, 30_000)
			made := servertest.Decoded[api.PayoutBatch](send().Created())
			if made.Payouts != 2 {
				t.Errorf("with money the batch is %+v", made)
			}
			if again := servertest.Decoded[api.PayoutBatch](send().Created()); again.ID != made.ID {
				t.Errorf("the same once more is %+v", again)
			}
			x.Owner.Has(account, 0, 30_000)
		}
	})
}

func TestARehearsalKnowsTheLimitsOfTheWorkspace(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(1_000_000)
		x.Owner.Post("/v2/limits", body{"workspace_id": x.WorkspaceID, "per": "day", "amount_cents": 50_000}).Created()
		x.Owner.Post("/v2/limits", body{"workspace_id": x.WorkspaceID, "per": "payout", "amount_cents": 40_000}).Created()
		x.Owner.Pay(account, 10_000)
		n.Unchanged(t, func() {
			for amount, want := range map[int64]string{40_000: "", 40_001: "LIMIT_EXCEEDED"} {
				var got api.PayoutRehearsal
				x.Owner.Post(payouts+"/validate", request(account, amount)).OK().Data(&got)
				code := ""
				for _, f := range got.Faults {
					code += string(f.Code)
				}
				if code != want || got.Valid != (want == "") {
					t.Errorf("the rehearsal of %d is %+v, want %q", amount, got, want)
				}
			}
			ask := batch(account, 20_000, 30_000, 20_000, 1_000)
			ask["dry_run"] = true
			if got := results(servertest.Decoded[api.PayoutBatch](x.Owner.Post(batches, ask).OK())); !slices.Equal(got,
				[]string{"valid", "refused LIMIT_EXCEEDED", "valid", "refused LIMIT_EXCEEDED"}) {
				t.Errorf("the results are %q", got)
			}
		})
		// Anyone who makes it hears it, and not only whoever approves it at last.
		x.StoreRule(body{"approvals": 1})
		x.Owner.Post(payouts, request(account, 40_001)).Fails(422, "LIMIT_EXCEEDED")
	})
}

func TestALimitRefusesWhatPassesItAndCountsWhatIsCancelledNoMore(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(1_000_000)
		x.Owner.Post("/v2/limits", body{"workspace_id": x.WorkspaceID, "per": "day", "amount_cents": 50_000}).Created()
		id := x.Owner.Pay(account, 40_000)
		x.Owner.Post(payouts, request(account, 20_000)).Fails(422, "LIMIT_EXCEEDED")
		x.Owner.Has(account, 960_000, 40_000)
		x.Owner.Post(payouts+"/"+id+"/cancel", nil).OK()
		x.Owner.Pay(account, 20_000)
		var b api.PayoutBatch
		x.Owner.Post(batches, batch(account, 20_000, 20_000, 10_000)).Created().Data(&b)
		if got := results(b); !slices.Equal(got, []string{"created pending", "refused LIMIT_EXCEEDED", "created pending"}) {
			t.Errorf("the results are %v", got)
		}
		x.Owner.Has(account, 950_000, 50_000)
	})
}

func TestTheApprovalOfABatchEndsWithItsLastPayout(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		for round := range 4 {
			ask := batch(account, 10_000, 20_000)
			for i, p := range ask["payouts"].([]body) {
				p["external_id"] = fmt.Sprintf("%d-%d", round, i)
			}
			var b api.PayoutBatch
			maker.Post(batches, ask).Created().Data(&b)
			servertest.SideBySide(2, func(i int) *servertest.Answer { return maker.Post(payouts+"/"+b.Results[i].ID+"/cancel", nil).OK() })
			if got := second.Get("/v1/approvals/" + b.ApprovalID).OK().Text("state"); got != "void" {
				t.Errorf("the approval is %s", got)
			}
		}
	})
}
