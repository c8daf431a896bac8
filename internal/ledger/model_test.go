package ledger_test

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/ledger"
	"bursar/internal/torture"
)

// books is what the ledger should say, and the store that is to say it.
type books struct {
	d        *db.DB
	accounts []ledger.Account
	want     map[string]*[3]int64 // available, reserved, pending
	open     []ledger.Reserved    // reserved and not ended
	paid     []ledger.Reserved    // completed
	settled  []ledger.Reserved
	pending  []announced
	serial   int
}

type announced struct {
	account   int
	amount    int64
	reference string
}

func (b *books) write(fn func(tx *db.Tx) error) error {
	_, err := db.Write(context.Background(), b.d, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), fn(tx)
	})
	return err
}

func (b *books) must(rt *rapid.T, fn func(tx *db.Tx) error) {
	if err := b.write(fn); err != nil {
		rt.Fatal(err)
	}
}

func (b *books) of(i int) *[3]int64 { return b.want[b.accounts[i].ID] }

func (b *books) draw(rt *rapid.T) int {
	return rapid.IntRange(0, len(b.accounts)-1).Draw(rt, "account")
}

func amount(rt *rapid.T) int64 { return rapid.Int64Range(1, 50).Draw(rt, "amount") }

func (b *books) deposit(rt *rapid.T) {
	i, n := b.draw(rt), amount(rt)
	booked := rapid.Bool().Draw(rt, "booked")
	b.serial++
	reference := fmt.Sprint("ref-", b.serial)
	b.must(rt, func(tx *db.Tx) error {
		_, _, err := ledger.Deposit(tx, b.accounts[i], n, api.DepositFromBank, reference, booked)
		return err
	})
	if booked {
		b.of(i)[0] += n
	} else {
		b.of(i)[2] += n
		b.pending = append(b.pending, announced{i, n, reference})
	}
}

func (b *books) book(rt *rapid.T) {
	if len(b.pending) == 0 {
		rt.Skip("nothing is announced")
	}
	one := b.pending[0]
	b.pending = b.pending[1:]
	b.must(rt, func(tx *db.Tx) error {
		_, _, err := ledger.Deposit(tx, b.accounts[one.account], one.amount, api.DepositFromBank, one.reference, true)
		return err
	})
	b.of(one.account)[2] -= one.amount
	b.of(one.account)[0] += one.amount
}

func (b *books) reserve(rt *rapid.T) {
	i, amounts := b.draw(rt), rapid.SliceOfN(rapid.Int64Range(1, 50), 1, 70).Draw(rt, "amounts")
	var wants []ledger.Want
	for _, n := range amounts {
		b.serial++
		wants = append(wants, ledger.Want{Reference: fmt.Sprint("po_", b.serial), Amount: n})
	}
	var refused []error
	b.must(rt, func(tx *db.Tx) (err error) {
		refused, err = ledger.Reserve(tx, b.accounts[i], wants)
		return err
	})
	for j, w := range wants {
		fits := w.Amount <= b.of(i)[0]
		if fits != (refused[j] == nil) || !fits && code(refused[j]) != "INSUFFICIENT_FUNDS" {
			rt.Fatalf("%d of %d is refused with %v", w.Amount, b.of(i)[0], refused[j])
		}
		if fits {
			b.of(i)[0] -= w.Amount
			b.of(i)[1] += w.Amount
			a := b.accounts[i]
			b.open = append(b.open, ledger.Reserved{AccountID: a.ID, WorkspaceID: a.WorkspaceID, Currency: a.Currency, Mode: a.Mode, Reference: w.Reference, Amount: w.Amount})
		}
	}
}

// take removes some of a list.
func take(rt *rapid.T, list *[]ledger.Reserved) []ledger.Reserved {
	if len(*list) == 0 {
		rt.Skip("there are none")
	}
	n := rapid.IntRange(1, len(*list)).Draw(rt, "how many")
	some := (*list)[:n:n]
	*list = (*list)[n:]
	return some
}

func (b *books) release(rt *rapid.T) {
	some := take(rt, &b.open)
	b.must(rt, func(tx *db.Tx) error { return ledger.Release(tx, some) })
	for _, r := range some {
		b.want[r.AccountID][1] -= r.Amount
		b.want[r.AccountID][0] += r.Amount
	}
}

func (b *books) complete(rt *rapid.T) {
	some := take(rt, &b.open)
	b.must(rt, func(tx *db.Tx) error { return ledger.Complete(tx, some) })
	for _, r := range some {
		b.want[r.AccountID][1] -= r.Amount
	}
	b.paid = append(b.paid, some...)
}

func (b *books) settle(rt *rapid.T) {
	some := take(rt, &b.paid)
	b.must(rt, func(tx *db.Tx) error { return ledger.Settle(tx, some) })
	b.settled = append(b.settled, some...)
}

func (b *books) comeBack(rt *rapid.T) {
	some := take(rt, &b.settled)
	b.must(rt, func(tx *db.Tx) error { return ledger.Return(tx, some) })
	for _, r := range some {
		b.want[r.AccountID][0] += r.Amount
	}
}

// anything posts whatever comes to mind: the ledger takes it only if it sums to zero and nothing goes
// below it.
func (b *books) anything(rt *rapid.T) {
	bucket := []ledger.Bucket{ledger.BucketAvailable, ledger.BucketReserved, ledger.BucketPending}
	good, after := true, map[string][3]int64{}
	for id, has := range b.want {
		after[id] = *has
	}
	var list []ledger.Transaction
	for range rapid.IntRange(1, 3).Draw(rt, "transactions") {
		tx := ledger.Transaction{Kind: ledger.KindTransfer, Reference: "trf_any"}
		var sum int64
		for range rapid.IntRange(0, 3).Draw(rt, "moves") {
			i, j, n := b.draw(rt), rapid.IntRange(0, 1).Draw(rt, "bucket")*2, rapid.Int64Range(-20, 20).Draw(rt, "change")
			tx.Moves = append(tx.Moves, ledger.Move{AccountID: b.accounts[i].ID, Bucket: bucket[j], Amount: n})
			has := after[b.accounts[i].ID]
			has[j] += n
			after[b.accounts[i].ID] = has
			sum += n
			good = good && n != 0 && has[j] >= 0
		}
		if len(tx.Moves) > 0 && rapid.Bool().Draw(rt, "balanced") && sum != 0 {
			id := b.accounts[0].ID
			tx.Moves = append(tx.Moves, ledger.Move{AccountID: id, Bucket: ledger.BucketAvailable, Amount: -sum})
			has := after[id]
			has[0] -= sum
			after[id] = has
			good, sum = good && has[0] >= 0, 0
		}
		good = good && sum == 0 && len(tx.Moves) > 0
		list = append(list, tx)
	}
	err := b.write(func(tx *db.Tx) error {
		_, err := ledger.Post(tx, list...)
		return err
	})
	if good != (err == nil) {
		rt.Fatalf("%+v ends with %v", list, err)
	}
	if err == nil {
		for id, has := range after {
			*b.want[id] = has
		}
		// What is pending may now be less than what was announced, so those cannot be booked any more.
		for id := range after {
			b.pending = keepBookable(b, id)
		}
	}
}

// keepBookable drops announcements that other moves have used up.
func keepBookable(b *books, id string) (left []announced) {
	sum := int64(0)
	for _, one := range b.pending {
		if b.accounts[one.account].ID == id {
			if sum += one.amount; sum > b.want[id][2] {
				continue
			}
		}
		left = append(left, one)
	}
	return left
}

// check compares the store with what it should say.
func (b *books) check(rt *rapid.T) {
	err := b.d.Read(context.Background(), func(q db.Q) error {
		for _, a := range b.accounts {
			got, err := ledger.FindAccount(q, a.ID)
			if err != nil {
				return err
			}
			if has := [3]int64{got.Available, got.Reserved, got.Pending}; has != *b.want[a.ID] {
				rt.Fatalf("%s has %v, want %v", a.ID, has, *b.want[a.ID])
			}
		}
		return nil
	})
	if err != nil {
		rt.Fatal(err)
	}
	report, err := ledger.Verify(context.Background(), b.d, rapid.Bool().Draw(rt, "online"), func(done, total int64) {})
	if err != nil || len(report.Mismatches) > 0 {
		rt.Fatalf("the ledger does not verify: %v, %v", report.Mismatches, err)
	}
}

func TestTheBooksAgreeWhateverHappens(t *testing.T) {
	torture.Rapid(t, 10, 1000, 20)
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := open(t, store)
		rapid.Check(t, func(rt *rapid.T) {
			b := &books{d: d, want: map[string]*[3]int64{}}
			for range 3 {
				a := newAccount(t, d, 100)
				b.accounts, b.want[a.ID] = append(b.accounts, a), &[3]int64{100, 0, 0}
			}
			rt.Repeat(map[string]func(*rapid.T){
				"deposit": b.deposit, "book": b.book, "reserve": b.reserve, "release": b.release, "complete": b.complete,
				"settle": b.settle, "return": b.comeBack, "anything": b.anything, "": b.check,
			})
		})
	})
}
