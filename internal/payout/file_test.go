package payout_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// sendFile sends a file of payouts.
func sendFile(by *servertest.Client, account, file string, more ...string) *servertest.Answer {
	return sendFileAs(by, "text/csv", account, file, more...)
}

func sendFileAs(by *servertest.Client, kind, account, file string, more ...string) *servertest.Answer {
	query := servertest.Query(append([]string{"source_account_id", account, "currency", "PHP"}, more...)...)
	return by.Do(http.MethodPost, batches+"?"+query, file, "Content-Type", kind)
}

// batchesOf are the batches of the answer to a file.
func batchesOf(a *servertest.Answer) []api.PayoutBatch {
	return servertest.Decoded[[]api.PayoutBatch](a)
}

// lineResults are the results of all lines of a file, with their numbers.
func lineResults(list []api.PayoutBatch) (all []string) {
	for _, b := range list {
		for i, text := range results(b) {
			all = append(all, fmt.Sprintf("%d %s", b.Results[i].Line, text))
		}
	}
	return all
}

// manyLines is a file of payouts of 1.00 to different accounts.
func manyLines(n int) string {
	var file strings.Builder
	file.WriteString("amount,bank_code,account_number,account_name\n")
	for i := range n {
		fmt.Fprintf(&file, "1.00,%s,1234%06d,Payee %d\n", bpi, i, i)
	}
	return file.String()
}

// payee is an entry with an account.
func payee(x *servertest.Tenant, name, number string) (entry, method string) {
	entry = x.Entry(name)
	return entry, x.Owner.Post("/v1/directory/"+entry+"/receiving-methods", servertest.Account(number, body{"institution_code": bpi})).OK().Text("id")
}

func TestAFilePaysByCSVAndByNDJSON(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		payee(x, "Ada Lovelace", number("7801"))
		made := batchesOf(sendFile(x.Owner, account, "to,bank_code,account_number,account_name,amount,external_id\n"+
			"ada lovelace,,,,\"PHP 150.50\",a\n,"+bpi+",1234567801,Grace Hopper,200,b\n", "description", "Wages").Created())
		if got := lineResults(made); !slices.Equal(got, []string{"2 created pending", "3 created pending"}) {
			t.Fatalf("the lines are %v", got)
		}
		b := made[0]
		if len(made) != 1 || b.Payouts != 2 || b.TotalCents != 35_050 || b.Description != "Wages" || b.Results[0].To != "ada lovelace" || b.Results[0].ReceivingMethodID == "" {
			t.Errorf("the batches are %+v", made)
		}
		made = batchesOf(sendFileAs(x.Owner, "application/x-ndjson; charset=utf-8", account, `{"to":"Ada Lovelace","amount":100.5,"external_id":"c"}`+"\n").Created())
		if got := lineResults(made); !slices.Equal(got, []string{"1 created pending"}) {
			t.Errorf("the lines are %v", got)
		}
		x.Owner.Has(account, 100_000-35_050-10_050, 35_050+10_050)
	})
}

func TestALargeFileIsPaidInBatchesOfAThousandWithAnApprovalEach(t *testing.T) {
	dbtest.TakesSeconds(t)
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(250_000)
		file := manyLines(2_500)
		made := batchesOf(sendFile(maker, account, file).Created())
		var sizes []int64
		approvals := map[string]bool{}
		for _, b := range made {
			sizes = append(sizes, b.Payouts)
			approvals[b.ApprovalID] = true
			if got := n.Audited(t, b.ID); !slices.Equal(got, []string{"payout.batch.created"}) {
				t.Errorf("the story of a batch is %v", got)
			}
		}
		if !slices.Equal(sizes, []int64{1000, 1000, 500}) || len(approvals) != 3 || approvals[""] {
			t.Fatalf("the batches have %v payouts, and %d approvals", sizes, len(approvals))
		}
		if first, last := made[0].Results[0], made[2].Results[499]; first.Line != 2 || last.Line != 2501 || last.To != "Payee 2499" {
			t.Errorf("the first line is %+v, the last %+v", first, last)
		}
		second.Approve(made[2].ApprovalID).OK()
		maker.Has(account, 200_000, 50_000)
		again := batchesOf(sendFile(maker, account, file).OK())
		if got := lineResults(again); len(got) != 2_500 || got[0] != "2 existed initiated" || got[2499] != "2501 existed pending" {
			t.Errorf("again there are %d lines, the first %s", len(got), got[0])
		}
	})
}

func TestMoneyAndLimitsAreCheckedForAllBatchesOfAFile(t *testing.T) {
	dbtest.TakesSeconds(t)
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		poor, rich := x.Account(100_200), x.Account(1_000_000)
		file := manyLines(1_005)
		if got := refusedWith(x.Owner, poor, file); len(got) != 3 || !strings.HasPrefix(got["lines.1004"], "INSUFFICIENT_FUNDS") {
			t.Errorf("without the money for all, %v are refused", got)
		}
		x.Owner.Post("/v2/limits", body{"workspace_id": x.WorkspaceID, "per": "day", "amount_cents": 100_100}).Created()
		if got := refusedWith(x.Owner, rich, file); len(got) != 4 || !strings.HasPrefix(got["lines.1003"], "LIMIT_EXCEEDED") {
			t.Errorf("above the limit, %v are refused", got)
		}
		x.Owner.Has(rich, 1_000_000, 0)
	})
}

func TestAResentFilePaysNoOneTwice(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account, other := x.Account(100_000), x.Account(100_000)
		file := manyLines(20)
		made := servertest.SideBySide(2, func(int) *servertest.Answer { return sendFile(x.Owner, account, file) })
		made = append(made, sendFile(x.Owner, account, file).OK())
		created := 0
		for _, answer := range made {
			for _, line := range lineResults(batchesOf(answer)) {
				if strings.HasSuffix(line, "created pending") {
					created++
				} else if !strings.Contains(line, " existed ") {
					t.Errorf("the line %s", line)
				}
			}
		}
		x.Owner.Has(account, 98_000, 2_000)
		if created != 20 {
			t.Errorf("%d payouts were made, want 20", created)
		}
		// The names of its lines are those of the file, so another account cannot pay it again.
		if got := refusedWith(x.Owner, other, file); len(got) != 20 || !strings.HasPrefix(got["lines.2"], "IDEMPOTENCY_CONFLICT") {
			t.Errorf("from another account: %v", got)
		}
		if got := lineResults(batchesOf(sendFile(x.Owner, account, file+"1.00,"+bpi+",1234900000,One more\n").Created())); len(got) != 21 || got[0] != "2 created pending" {
			t.Errorf("another file is %v", got)
		}
	})
}

func TestAFileThatWasInterruptedGoesOn(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		line := func(i int) string {
			return fmt.Sprintf(`{"amount":1,"bank_code":%q,"account_number":"12345678%02d","account_name":"Ada","external_id":"l-%d"}`+"\n", bpi, i, i)
		}
		sendFile(x.Owner, account, line(1)+line(2)).Created()
		if got := lineResults(batchesOf(sendFile(x.Owner, account, line(1)+line(2)+line(3)).Created())); !slices.Equal(got,
			[]string{"1 existed pending", "2 existed pending", "3 created pending"}) {
			t.Errorf("the lines are %v", got)
		}
	})
}

func TestAFileWithAnIdempotencyKeyGetsItsAnswerAgain(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		path := batches + "?currency=PHP&source_account_id=" + x.Account(100_000)
		send := func(file string) *servertest.Answer {
			return x.Owner.Do(http.MethodPost, path, file, "Content-Type", "text/csv", "Idempotency-Key", "payroll")
		}
		send("amount,to\n1,Nobody\n").Fails(http.StatusBadRequest, "VALIDATION_ERROR")
		x.Owner.Do(http.MethodPost, path, manyLines(2), "Content-Type", "text/csv", "Idempotency-Key", "other").Created()
		first := x.Owner.Do(http.MethodPost, path, manyLines(3), "Content-Type", "text/csv", "Idempotency-Key", "third").Created()
		again := x.Owner.Do(http.MethodPost, path, manyLines(3), "Content-Type", "text/csv", "Idempotency-Key", "third").Created()
		if string(first.Body) != string(again.Body) {
			t.Errorf("the answer is %s, then %s", first.Body, again.Body)
		}
		send(manyLines(4)).Fails(http.StatusConflict, "IDEMPOTENCY_CONFLICT")
	})
}

func TestADryRunOfAFileChangesNothing(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		x.Owner.Pay(account, 1_000)
		payee(x, "Ada Lovelace", number("7801"))
		n.Unchanged(t, func() {
			made := batchesOf(sendFile(x.Owner, account, "to,amount\nAda Lovelace,100\nNobody,1\nAda Lovelace,5000\n", "dry_run", "true").OK())
			if got := lineResults(made); !slices.Equal(got, []string{"2 valid", "3 refused VALIDATION_ERROR", "4 refused INSUFFICIENT_FUNDS"}) {
				t.Errorf("the lines are %v", got)
			}
			if r := made[0].Results[0]; r.To != "Ada Lovelace" || r.AmountCents != 10_000 || r.ReceivingMethodID == "" || r.SettlementRail != "instapay" || made[0].TotalCents != 10_000 {
				t.Errorf("the batch is %+v", made[0])
			}
		})
	})
}
