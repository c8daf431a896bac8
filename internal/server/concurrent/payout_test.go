package concurrent_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bursar/api"
	"bursar/internal/config"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// salary requests a payout of PHP 10.00.
func salary(account, externalID string) body {
	return body{"source_account_id": account, "amount_cents": 1_000, "currency": "PHP", "external_id": externalID,
		"settlement_account": body{"bank_account_name": "Juan dela Cruz", "bank_account_number": "1234567890", "bank_code": "BOPIPHMMXXX"}}
}

func TestOfPayoutsAtTheSameMomentOnlyThoseAreRefusedThatDoNotFit(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		const callers, fit = 40, 25
		x := n.Tenant(t)
		account := x.Account(fit * 1_000)
		var paid, short atomic.Int64
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				answer := x.Owner.On(t).Post("/v2/payout-requests", salary(account, fmt.Sprint("salary ", i)))
				switch {
				case answer.Status == http.StatusCreated:
					paid.Add(1)
				case answer.Code() == string(api.CodeInsufficientFunds):
					short.Add(1)
				default:
					t.Errorf("payout %d: %d %s", i, answer.Status, answer.Body)
				}
			})
		}
		all.Wait()
		if paid.Load() != fit || short.Load() != callers-fit {
			t.Errorf("%d were paid and %d refused", paid.Load(), short.Load())
		}
		if got := x.Owner.Balances(account); got != [3]int64{0, fit * 1_000, 0} {
			t.Errorf("the account has %v", got)
		}
	})
}

func TestOfPayoutsWithTheSameExternalIDAtTheSameMomentThereIsOne(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		ids := make([]string, 20)
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() {
				ids[i] = x.Owner.On(t).Post("/v2/payout-requests", salary(account, "the same")).Text("id")
			})
		}
		all.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Fatalf("the payouts are %v", ids)
			}
		}
		if got := x.Owner.Balances(account); got != [3]int64{99_000, 1_000, 0} {
			t.Errorf("the account has %v", got)
		}
	})
}

// The payouts of a batch are screened side by side, and each gets its own verdict.
func TestEachPayoutOfABatchGetsItsOwnVerdict(t *testing.T) {
	screening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p api.Payout
		_ = json.NewDecoder(r.Body).Decode(&p)
		decision := []string{"allow", "deny"}[p.AmountCents%2]
		_, _ = fmt.Fprintf(w, `{"decision":%q,"reason":"list of %d"}`, decision, p.AmountCents)
	}))
	t.Cleanup(screening.Close)
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, func(c *config.Serve) { c.ScreeningURL = screening.URL })
		x := n.Tenant(t)
		var list []body
		for i := range 40 {
			p := salary("", fmt.Sprint("salary ", i))
			p["amount_cents"] = 1_000 + i
			delete(p, "source_account_id")
			delete(p, "currency")
			list = append(list, p)
		}
		var b api.PayoutBatch
		x.Owner.Post("/v2/batch-payout-requests", body{"source_account_id": x.Account(100_000), "currency": "PHP", "payouts": list}).Created().Data(&b)
		for i, r := range b.Results {
			if denied := r.Error != nil && strings.Contains(r.Error.Message, fmt.Sprint("list of ", 1_000+i)); denied != (i%2 == 1) {
				t.Errorf("payout %d is %s, %v", i, r.Result, r.Error)
			}
		}
		if len(b.Results) != len(list) {
			t.Errorf("there are %d results", len(b.Results))
		}
	})
}
