package dispatch_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/ledger"
	"bursar/internal/wait"
)

// Two nodes create a payout with the same external id. The first is dispatched while the second has not seen it yet.
func TestTheSameExternalIDOnTwoNodesDoesNotDeadlock(t *testing.T) {
	dbtest.NeedsPostgres(t)
	store := dbtest.Postgres(t)
	var armed atomic.Bool
	var inserts, dispatches atomic.Int64
	var meanwhile func()
	store.Config.Trace = func(sql string, _ []any) {
		insert := strings.HasPrefix(sql, "INSERT INTO payout (")
		if insert {
			inserts.Add(1)
		}
		if (insert || strings.Contains(sql, "UPDATE ledger_account")) && armed.CompareAndSwap(true, false) {
			meanwhile()
		}
	}
	slow := openOffice(openBank(t, store))
	fast := slow.second()
	terms := slow.terms("0001", amount)
	terms.ExternalID = new("salary of May")
	var first api.Payout
	var dispatched sync.WaitGroup
	meanwhile = func() { // the slow node has found no payout of this external id, and locked nothing
		var err error
		if first, err = fast.create("usr_a", 0, terms); err != nil {
			t.Error(err)
		}
		holds := make(chan struct{})
		dispatched.Go(func() {
			_, err := db.Write(context.Background(), slow.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
				if _, err := tx.Row(`UPDATE payout SET status = 'processing' WHERE id = $1 RETURNING id`, first.ID).Scan(new(string)); err != nil {
					return struct{}{}, audit.None("a test"), err
				}
				if dispatches.Add(1) == 1 {
					close(holds)
				}
				wait.Until(t, "the slow node waits for the payout", func() bool {
					return slow.count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0
				})
				_, err := ledger.LockAccount(tx, slow.account.ID)
				return struct{}{}, audit.None("a test"), err
			})
			if err != nil {
				t.Error(err)
			}
		})
		<-holds
	}
	armed.Store(true)
	second, err := slow.create("usr_a", 0, terms)
	dispatched.Wait()
	if err != nil || second.ID != first.ID {
		t.Errorf("the second is %s, want %s: %v", second.ID, first.ID, err)
	}
	if inserts.Load() != 2 || dispatches.Load() != 1 {
		t.Errorf("%d inserts and %d dispatches: a deadlock has repeated one", inserts.Load(), dispatches.Load())
	}
}
