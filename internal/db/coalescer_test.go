package db_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/fault"
	"bursar/internal/wait"
)

// spender spends of a balance, which is a row. Its first transaction waits for open, so that all
// others gather behind it.
type spender struct {
	*db.Coalescer[int64, int64]
	open         chan struct{}
	transactions atomic.Int64
	largest      atomic.Int64
}

// spend takes amounts from the balance in the order given; those that do not fit are refused, and a
// negative one is a mistake of the program. Each leaves a row.
func (s *spender) spend(tx *db.Tx, list []db.Request[int64]) ([]db.Result[int64], error) {
	if s.transactions.Add(1) == 1 && s.open != nil {
		<-s.open
	}
	s.largest.Store(max(s.largest.Load(), int64(len(list))))
	var text string
	if _, err := tx.Row(`UPDATE setting SET value = value WHERE name = 'balance' RETURNING value`).Scan(&text); err != nil {
		return nil, err
	}
	left, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, err
	}
	results := make([]db.Result[int64], len(list))
	for i, one := range list {
		switch amount := one.In; {
		case amount < 0:
			return nil, errors.New("a mistake of the program")
		case amount > left:
			results[i].Err = fault.New(api.CodeInsufficientFunds, "only %d left", left)
		default:
			left -= amount
			results[i] = db.Result[int64]{Out: left, Event: happened}
			if err := tx.Exec(insertSetting, fmt.Sprint("spent ", amount), "v"); err != nil {
				return nil, err
			}
		}
	}
	return results, tx.Exec(`UPDATE setting SET value = $1 WHERE name = 'balance'`, strconv.FormatInt(left, 10))
}

func newSpender(t testing.TB, d *db.DB, balance int64) *spender {
	t.Helper()
	err := change(t.Context(), d, happened, func(tx *db.Tx) error { return tx.Exec(insertSetting, "balance", strconv.FormatInt(balance, 10)) })
	if err != nil {
		t.Fatal(err)
	}
	s := &spender{open: make(chan struct{})}
	s.Coalescer = db.NewCoalescer(d, s.spend)
	return s
}

// together runs mutations of which all but the first wait for each other.
func (s *spender) together(t testing.TB, requests ...func() error) []error {
	t.Helper()
	errs := make([]error, len(requests))
	var all sync.WaitGroup
	start := func(i int) { all.Go(func() { errs[i] = requests[i]() }) }
	start(0)
	wait.Until(t, "the first runs", func() bool { return s.transactions.Load() == 1 })
	for i := 1; i < len(requests); i++ {
		start(i)
		wait.Until(t, "it waits", func() bool { return s.Coalescer.Waiting("balance") == i })
	}
	close(s.open)
	all.Wait()
	return errs
}

func (s *spender) ask(t testing.TB, by db.Caller, amount int64) func() error {
	return func() error {
		_, err := s.Write(t.Context(), "balance", by, amount)
		return err
	}
}

func balance(t testing.TB, d *db.DB) int64 {
	t.Helper()
	return int64(count(t, d, `SELECT CAST(value AS bigint) FROM setting WHERE name = 'balance'`))
}

func TestGatheredMutationsShareATransactionAndAreDecidedInOrder(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		s := newSpender(t, d, 100)
		errs := s.together(t, s.ask(t, db.Caller{}, 1), s.ask(t, db.Caller{}, 50), s.ask(t, db.Caller{}, 60), s.ask(t, db.Caller{}, 49))
		var short *fault.Fault
		if errs[0] != nil || errs[1] != nil || !errors.As(errs[2], &short) || errs[3] != nil {
			t.Errorf("the mutations got %v", errs)
		}
		if s.transactions.Load() != 2 || s.largest.Load() != 3 {
			t.Errorf("there were %d transactions, the largest with %d mutations", s.transactions.Load(), s.largest.Load())
		}
		if balance(t, d) != 0 || auditRows(t, d) != 4 { // one belongs to the balance
			t.Errorf("%d is left, with %d audit rows", balance(t, d), auditRows(t, d))
		}
	})
}

func TestAMutationThatTheStoreRefusesDoesNotFailThoseGatheredWithIt(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		mustPut(t, d, "spent 7")
		s := newSpender(t, d, 100)
		errs := s.together(t, s.ask(t, db.Caller{}, 1), s.ask(t, db.Caller{}, 5), s.ask(t, db.Caller{}, 7), s.ask(t, db.Caller{}, 9))
		if errs[0] != nil || errs[1] != nil || errs[3] != nil || !db.IsUnique(errs[2]) {
			t.Errorf("the mutations got %v", errs)
		}
		if left := balance(t, d); left != 100-1-5-9 {
			t.Errorf("%d is left", left)
		}
	})
}

func TestAFailureOfACoalescedTransactionIsReturnedToAllCallers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		s := newSpender(t, d, 100)
		errs := s.together(t, s.ask(t, db.Caller{}, 1), s.ask(t, db.Caller{}, 5), s.ask(t, db.Caller{}, -1))
		if errs[0] != nil || errs[1] == nil || errs[2] == nil {
			t.Errorf("the mutations got %v", errs)
		}
		if left := balance(t, d); left != 99 {
			t.Errorf("%d is left", left)
		}
	})
}

func TestAGatheredMutationWhoseCallerHasLeftIsNotCarriedOut(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		s := newSpender(t, d, 100)
		gone, leave := context.WithCancel(t.Context())
		errs := s.together(t, s.ask(t, db.Caller{}, 1), func() error {
			leave()
			// A context that has ended is noticed at once, and the mutation still waits.
			_, err := s.Write(gone, "balance", db.Caller{}, 20)
			return err
		}, s.ask(t, db.Caller{}, 3))
		if errs[0] != nil || !errors.Is(errs[1], context.Canceled) || errs[2] != nil {
			t.Errorf("the mutations got %v", errs)
		}
		if left := balance(t, d); left != 96 {
			t.Errorf("%d is left", left)
		}
	})
}

func TestAGatheredMutationWithAUsedIdempotencyKeyGetsTheFirstAnswer(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		s := newSpender(t, d, 100)
		keyed := func() db.Caller {
			k, err := d.NewIdempotencyKey(t.Context(), "usr_1", "key", []byte("request"), func(out any) (int, []byte, error) { return 200, []byte(fmt.Sprint(out)), nil })
			if err != nil {
				t.Fatal(err)
			}
			return db.Caller{IdempotencyKey: k}
		}
		errs := s.together(t, s.ask(t, keyed(), 10), s.ask(t, keyed(), 10), s.ask(t, db.Caller{}, 3))
		var replay *db.Replay
		if errs[0] != nil || !errors.As(errs[1], &replay) || string(replay.Body) != "90" || errs[2] != nil {
			t.Errorf("the mutations got %v", errs)
		}
		if left := balance(t, d); left != 87 {
			t.Errorf("%d is left", left)
		}
	})
}

// BenchmarkGather compares 64 callers who change the same row in transactions of their own with the
// same callers queued.
func BenchmarkGather(b *testing.B) {
	for name, store := range map[string]func(testing.TB) dbtest.Store{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres} {
		for _, queued := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/queued=%t", name, queued), func(b *testing.B) {
				d := store(b).Open(b)
				s := newSpender(b, d, 1<<60)
				s.transactions.Store(1) // none waits for the first
				var n atomic.Int64
				b.SetParallelism(32)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						amount, key := n.Add(1), "balance"
						if !queued {
							key = strconv.FormatInt(amount, 10)
						}
						if _, err := s.Write(b.Context(), key, db.Caller{}, amount); err != nil {
							b.Error(err)
						}
					}
				})
			})
		}
	}
}
