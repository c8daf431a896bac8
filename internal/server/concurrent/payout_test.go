package concurrent_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"bursar/internal/fault"
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
				case answer.Code() == string(fault.InsufficientFunds):
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
