package payout_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bursar/api"
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
		fmt.Fprintf(&file, "1.00,%s,12345%06d,Payee %d\n", bpi, i, i)
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
		has(x.Owner, account, 100_000-35_050-10_050, 35_050+10_050)
	})
}
