package budget_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/budget"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/fault"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var guesses = budget.Kind{Name: "guesses", Burst: 3, Every: time.Minute}

// clock is a clock that a test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time          { return c.now }
func (c *clock) Advance(d time.Duration) { c.now = c.now.Add(d) }

// each runs a test with the budgets of a store on each engine.
func each(t *testing.T, run func(t *testing.T, b *budget.Budgets, d *db.DB, c *clock)) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		c := &clock{time.UnixMilli(1_700_000_000_000)}
		d := store.OpenAt(t, c.Now)
		run(t, budget.New(d), d, c)
	})
}

// waits returns how long a refusal says to wait, 0 for an attempt that was let through.
func waits(t testing.TB, err error) time.Duration {
	t.Helper()
	var limited *fault.Fault
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &limited) || limited.Code != api.CodeRateLimited || limited.RetryAfter <= 0:
		t.Fatalf("the error is %v", err)
	}
	return limited.RetryAfter
}

// left uses up a budget and returns how many attempts it had.
func left(t testing.TB, b *budget.Budgets, use budget.Use) (n int) {
	t.Helper()
	for waits(t, b.Spend(t.Context(), use)) == 0 {
		n++
	}
	return n
}

// write runs fn as a mutation.
func write(ctx context.Context, d *db.DB, fn func(tx *db.Tx) error) error {
	_, err := db.Write(ctx, d, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), fn(tx)
	})
	return err
}

// stored returns the ids of the rows in the store.
func stored(t *testing.T, d *db.DB) (ids []string) {
	t.Helper()
	err := d.Read(t.Context(), func(q db.Q) (err error) {
		ids, err = db.Collect(q, func(r db.Rows) string { return r.Text(0) }, `SELECT id FROM budget`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestABudgetHoldsItsBurstAndRegainsOneAttemptAtATime(t *testing.T) {
	each(t, func(t *testing.T, b *budget.Budgets, _ *db.DB, c *clock) {
		ada := guesses.Of("ada")
		if got := left(t, b, ada); got != 3 {
			t.Errorf("a budget of 3 gave %d attempts", got)
		}
		for _, step := range []struct {
			pass time.Duration
			want int
		}{
			{time.Minute - time.Millisecond, 0},
			{time.Millisecond, 1},
			{30 * time.Second, 0},
			{90 * time.Second, 2}, // what was begun before counts
			{time.Hour, 3},        // no more than the burst
		} {
			c.Advance(step.pass)
			if got := left(t, b, ada); got != step.want {
				t.Errorf("%v later there are %d attempts, want %d", step.pass, got, step.want)
			}
		}
	})
}

func TestACallerThatWaitsAsAdvisedIsLetThroughAndNoSooner(t *testing.T) {
	each(t, func(t *testing.T, b *budget.Budgets, _ *db.DB, c *clock) {
		key := 0
		rapid.Check(t, func(rt *rapid.T) {
			key++
			use := guesses.Of(fmt.Sprint(key))
			var passed []time.Time
			attempt := func() time.Duration {
				wait := waits(t, b.Spend(t.Context(), use))
				if wait == 0 {
					passed = append(passed, c.Now())
				}
				return wait
			}
			for range rapid.IntRange(1, 8).Draw(rt, "attempts") {
				c.Advance(time.Duration(rapid.IntRange(0, 90_000).Draw(rt, "pause")) * time.Millisecond)
				if wait := attempt(); wait > 0 {
					c.Advance(wait - time.Millisecond)
					if early := attempt(); early != time.Millisecond {
						rt.Fatalf("a millisecond before the time it says to wait for %v", early)
					}
					c.Advance(time.Millisecond)
					if late := attempt(); late > 0 {
						rt.Fatalf("who waited as told has to wait for %v", late)
					}
				}
			}
			for i, first := range passed {
				for j, last := range passed[i:] {
					if most := guesses.Burst + int(last.Sub(first)/guesses.Every); j+1 > most {
						rt.Fatalf("%d attempts in %v", j+1, last.Sub(first))
					}
				}
			}
		})
	})
}

func TestARefusedAttemptUsesUpNothing(t *testing.T) {
	each(t, func(t *testing.T, b *budget.Budgets, _ *db.DB, c *clock) {
		used, whole := guesses.Of("used up"), guesses.Of("whole")
		left(t, b, used)
		c.Advance(20 * time.Second)
		for range 5 {
			for _, uses := range [][]budget.Use{{used}, {used, whole}, {whole, used}} {
				if wait := waits(t, b.Spend(t.Context(), uses...)); wait != 40*time.Second {
					t.Errorf("it says to wait for %v", wait)
				}
			}
		}
		if got := left(t, b, whole); got != 3 {
			t.Errorf("the other budget has %d attempts left", got)
		}
	})
}

func TestAskingUsesUpNothing(t *testing.T) {
	each(t, func(t *testing.T, b *budget.Budgets, d *db.DB, _ *clock) {
		ada, bob := guesses.Of("ada"), guesses.Of("bob")
		peek := func(uses ...budget.Use) error {
			return d.Read(t.Context(), func(q db.Q) error { return b.Peek(q, uses...) })
		}
		for range 5 {
			if a, b := waits(t, b.Check(t.Context(), ada, bob)), waits(t, peek(ada, bob)); a > 0 || b > 0 {
				t.Fatalf("a whole budget says to wait for %v and %v", a, b)
			}
		}
		if got := left(t, b, ada); got != 3 {
			t.Errorf("there are %d attempts left", got)
		}
		if a, b := waits(t, b.Check(t.Context(), bob, ada)), waits(t, peek(bob, ada)); a != time.Minute || b != time.Minute {
			t.Errorf("an empty budget says to wait for %v and %v", a, b)
		}
	})
}

func TestAWriteThatFailsUsesUpNothing(t *testing.T) {
	each(t, func(t *testing.T, b *budget.Budgets, d *db.DB, _ *clock) {
		ada, bob, onPurpose := guesses.Of("ada"), guesses.Of("bob"), errors.New("on purpose")
		for range 5 {
			err := write(t.Context(), d, func(tx *db.Tx) error { return errors.Join(b.Take(tx, ada, bob), onPurpose) })
			if !errors.Is(err, onPurpose) {
				t.Fatal(err)
			}
		}
		if err := write(t.Context(), d, func(tx *db.Tx) error { return b.Take(tx, ada) }); err != nil {
			t.Fatal(err)
		}
		if a, b := left(t, b, ada), left(t, b, bob); a != 2 || b != 3 {
			t.Errorf("there are %d and %d attempts left", a, b)
		}
		if wait := waits(t, write(t.Context(), d, func(tx *db.Tx) error { return b.Take(tx, bob) })); wait != time.Minute {
			t.Errorf("it says to wait for %v", wait)
		}
	})
}

func TestBudgetsOfKindsAndKeysAreApart(t *testing.T) {
	each(t, func(t *testing.T, b *budget.Budgets, _ *db.DB, _ *clock) {
		other := budget.Kind{Name: "guesses at codes", Burst: 3, Every: time.Minute}
		for _, kind := range []budget.Kind{guesses, other} {
			for _, key := range []string{"", "ada", "Ada", "at codes\nada", "guesses\nada", "a\x00da", strings.Repeat("ada", 1000)} {
				if got := left(t, b, kind.Of(key)); got != 3 {
					t.Errorf("%s of %.20q had %d attempts", kind.Name, key, got)
				}
			}
		}
	})
}

func TestTheStoreDoesNotRevealWhatWasTyped(t *testing.T) {
	each(t, func(t *testing.T, b *budget.Budgets, d *db.DB, _ *clock) {
		for _, key := range []string{"ada@example.com", strings.Repeat("x", 5000)} {
			if err := b.Spend(t.Context(), guesses.Of(key)); err != nil {
				t.Fatal(err)
			}
		}
		ids := stored(t, d)
		if len(ids) != 2 || len(ids[0]) != len(ids[1]) || len(ids[0]) > 64 || strings.Contains(strings.Join(ids, ""), "ada") {
			t.Errorf("the rows are %q", ids)
		}
	})
}

func TestBudgetsHoldForAllNodesAndAfterARestart(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		c := &clock{time.UnixMilli(1_700_000_000_000)}
		one, two := budget.New(store.OpenAt(t, c.Now)), budget.New(store.OpenAt(t, c.Now))
		ada := guesses.Of("ada")
		for _, node := range []*budget.Budgets{one, two} {
			if err := node.Spend(t.Context(), ada); err != nil {
				t.Fatal(err)
			}
		}
		restarted := budget.New(store.OpenAt(t, c.Now))
		if got := left(t, restarted, ada); got != 1 {
			t.Errorf("a node that was just started gave %d attempts", got)
		}
		for _, node := range []*budget.Budgets{one, two} {
			if wait := waits(t, node.Spend(t.Context(), ada)); wait != time.Minute {
				t.Errorf("a node says to wait for %v", wait)
			}
		}
	})
}

func TestAttemptsAtOnceAreNoMoreThanTheBurst(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		c := &clock{time.UnixMilli(1_700_000_000_000)}
		nodes := []*budget.Budgets{budget.New(store.OpenAt(t, c.Now)), budget.New(store.OpenAt(t, c.Now))}
		for round := range 5 {
			var passed atomic.Int32
			var all sync.WaitGroup
			start := make(chan struct{})
			for i := range 20 {
				all.Go(func() {
					<-start
					var limited *fault.Fault
					switch err := nodes[i%2].Spend(t.Context(), guesses.Of(fmt.Sprint(round))); {
					case err == nil:
						passed.Add(1)
					case !errors.As(err, &limited) || limited.Code != api.CodeRateLimited:
						t.Errorf("the error is %v", err)
					}
				})
			}
			close(start)
			all.Wait()
			if passed.Load() != 3 {
				t.Errorf("%d attempts passed at once", passed.Load())
			}
		}
	})
}

// Anyone who writes would have to wait for the writes of a flood.
func TestARefusedFloodWritesNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		var changes atomic.Int32
		store.Config.Trace = func(sql string, _ []any) {
			if strings.HasPrefix(sql, "INSERT INTO budget") {
				changes.Add(1)
			}
		}
		c := &clock{time.UnixMilli(1_700_000_000_000)}
		b := budget.New(store.OpenAt(t, c.Now))
		used := guesses.Of("used up")
		left(t, b, used)
		before := changes.Load()
		for range 10 {
			if waits(t, b.Spend(t.Context(), guesses.Of("whole"), used)) == 0 {
				t.Error("an empty budget let an attempt through")
			}
		}
		if before != 3 || changes.Load() != before {
			t.Errorf("3 attempts wrote %d times, and the flood %d times", before, changes.Load()-before)
		}
	})
}

func TestOnceIsGoodASingleTime(t *testing.T) {
	each(t, func(t *testing.T, _ *budget.Budgets, d *db.DB, c *clock) {
		once := func(name, key string) (first bool) {
			t.Helper()
			if err := write(t.Context(), d, func(tx *db.Tx) (err error) {
				first, err = budget.Once(tx, name, key, time.Minute)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return first
		}
		for _, name := range []string{"challenge", "state"} {
			for _, key := range []string{"a", "b"} {
				if !once(name, key) || once(name, key) || once(name, key) {
					t.Errorf("%s %s is not good once", name, key)
				}
			}
		}
		c.Advance(time.Minute - time.Millisecond)
		if once("challenge", "a") {
			t.Error("it is forgotten before its life ends")
		}
		c.Advance(time.Millisecond)
		if !once("challenge", "a") {
			t.Error("it is remembered for longer than its life")
		}
	})
}

func TestWhatIsGoodOnceIsGoodForOneOfManyAtOnce(t *testing.T) {
	each(t, func(t *testing.T, _ *budget.Budgets, d *db.DB, _ *clock) {
		var first atomic.Int32
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				unused, err := db.Write(t.Context(), d, db.Caller{}, func(tx *db.Tx) (bool, audit.Event, error) {
					unused, err := budget.Once(tx, "challenge", "a", time.Minute)
					return unused, audit.None("a test"), err
				})
				if err != nil {
					t.Error(err)
				}
				if unused {
					first.Add(1)
				}
			})
		}
		all.Wait()
		if first.Load() != 1 {
			t.Errorf("%d of them were the first", first.Load())
		}
	})
}

func TestExpireDeletesBudgetsThatAreWholeAndNoOthers(t *testing.T) {
	each(t, func(t *testing.T, b *budget.Budgets, d *db.DB, c *clock) {
		ada, bob := guesses.Of("ada"), guesses.Of("bob")
		if err := b.Spend(t.Context(), ada); err != nil {
			t.Fatal(err)
		}
		left(t, b, bob)
		for _, want := range []int{2, 1} {
			if err := write(t.Context(), d, budget.Expire); err != nil {
				t.Fatal(err)
			}
			if rows := stored(t, d); len(rows) != want {
				t.Errorf("%d rows are left, want %d", len(rows), want)
			}
			c.Advance(time.Minute)
		}
		// What was deleted was whole, and what stayed counts as before.
		if got := left(t, b, ada); got != 3 {
			t.Errorf("the first has %d attempts", got)
		}
		if got := left(t, b, bob); got != 2 {
			t.Errorf("the second has %d attempts", got)
		}
	})
}

func TestNoBudgetsAreNoLimit(t *testing.T) {
	var none *budget.Budgets
	for range 10 {
		if err := errors.Join(none.Spend(t.Context(), guesses.Of("ada")), none.Check(t.Context(), guesses.Of("ada")), none.Peek(db.Q{}, guesses.Of("ada")), none.Take(nil, guesses.Of("ada"))); err != nil {
			t.Fatal(err)
		}
	}
}
