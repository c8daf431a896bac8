package payout_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"bursar/internal/fault"
	"bursar/internal/server/servertest"
)

func TestOfPayoutsAtTheSameMomentOnlyThoseAreRefusedThatDoNotFit(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		const callers, fit = 40, 25
		x := n.Tenant(t)
		account := x.Account(fit * 1_000)
		var paid, short atomic.Int64
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				answer := x.Owner.On(t).Post(payouts, request(account, 1_000, body{"external_id": fmt.Sprint("salary ", i)}))
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
		has(x.Owner, account, 0, fit*1_000)
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
				ids[i] = x.Owner.On(t).Post(payouts, request(account, 1_000, body{"external_id": "the same"})).Text("id")
			})
		}
		all.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Fatalf("the payouts are %v", ids)
			}
		}
		has(x.Owner, account, 99_000, 1_000)
	})
}

func TestAPayoutThatIsThereIsFoundWhenItsAccountCouldNotPayItAgain(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(1_000)
		again := body{"external_id": "once"}
		id := pay(x.Owner, account, 1_000, again)
		if got := x.Owner.Post(payouts, request(account, 1_000, again)).OK().Text("id"); got != id {
			t.Errorf("the payout is %s, want %s", got, id)
		}
		has(x.Owner, account, 0, 1_000)
	})
}
