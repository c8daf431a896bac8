package e2e_test

import (
	"fmt"
	"net/http"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/torture"
)

// A batch is made as a whole or not at all, wherever the server is killed, and the same request with
// the same key makes it once.
func TestABatchIsMadeOnceAndAsAWholeWhenTheServerIsKilled(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := beginPayday(t, store, 1)
		const size = 200
		for round := range torture.Rounds(3, 60) {
			var list []servertest.Body
			for i := range size {
				list = append(list, servertest.Body{"amount_cents": 100, "settlement_account": servertest.Body{
					"bank_account_name": "Juan dela Cruz", "bank_account_number": fmt.Sprintf("%010d", 1_000_000_000+i), "bank_code": "BOPIPHMMXXX"}})
			}
			c := call{method: http.MethodPost, path: "/v2/batch-payout-requests", key: fmt.Sprint("batch-", round),
				body: servertest.Body{"source_account_id": d.accounts[0], "currency": "PHP", "payouts": list}}
			url, first := d.url(0), make(chan reply)
			go func() {
				got, _ := send(d.client, url, d.token, c) // an answer may be lost
				first <- got
			}()
			for range d.random.IntN(12) { // some moment while it is made
				servertest.Remote(t, url, d.made).Outside(t, "/healthz")
			}
			d.restart(t, 0)
			told := <-first
			before := len(everyRow(d.admin(t), "/v2/payout-requests?limit=100&workspace_id="+d.made.WorkspaceID)) - round*size
			if before != 0 && before != size || told.id != "" && before != size {
				t.Errorf("%d of %d payouts are there, and the answer was %+v", before, size, told)
			}
			got, err := send(d.client, d.url(0), d.token, c)
			if err != nil || got.status != http.StatusCreated || told.id != "" && told.id != got.id || got.replayed != (before == size) {
				t.Errorf("with %d payouts there, the same request is answered %+v %v, after %+v", before, got, err, told)
			}
			after := len(everyRow(d.admin(t), "/v2/payout-requests?limit=100&workspace_id="+d.made.WorkspaceID)) - round*size
			if after != size {
				t.Errorf("after the retry there are %d payouts, want %d", after, size)
			}
		}
	})
}
