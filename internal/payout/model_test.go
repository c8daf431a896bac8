package payout_test

import (
	"context"
	"errors"
	"flag"
	"strconv"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/payout"
	"bursar/internal/rail"
	"bursar/internal/torture"
)

// bounded keeps the search short unless the command line asks for more. It runs once: after that
// all flags look as if they had been given.
var bounded = sync.OnceValue(func() error {
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]string{"rapid.checks": strconv.Itoa(torture.Rounds(12, 150)), "rapid.steps": "30", "rapid.nofailfile": "true"} {
		if given[name] {
			continue
		}
		if err := flag.Set(name, value); err != nil {
			return err
		}
	}
	return nil
})

// Payouts, cancellations and retries meet a bank that answers, answers late, refuses, forgets and is
// down, and nodes that are killed at any step.
func TestRandomHistoriesOfPayoutsKeepTheBooks(t *testing.T) {
	if err := bounded(); err != nil {
		t.Fatal(err)
	}
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		first := openBank(t, store)
		second := first.node()
		rapid.Check(t, func(rt *rapid.T) {
			first.t, second.t = rt, rt
			m := &model{nodes: []*bank{first, second}, b: first}
			m.mend(rt)
			m.bringUp(rt)
			rt.Repeat(map[string]func(*rapid.T){
				"":               func(*rapid.T) { first.sound() },
				"pay":            m.pay,
				"pay again":      m.pay,
				"work":           m.work,
				"work on":        m.work,
				"wait":           m.wait,
				"cut the line":   m.cut,
				"mend the line":  m.mend,
				"drive":          m.drive,
				"cancel":         m.cancel,
				"retry":          m.retry,
				"take down":      m.takeDown,
				"bring up":       m.bringUp,
				"freeze":         m.freeze,
				"tell all again": m.tellAgain,
			})
			m.end()
		})
	})
}

type model struct {
	nodes []*bank
	b     *bank // any of them, to look at the store
	ids   []string
}

func (m *model) pay(rt *rapid.T) {
	var numbers []string
	for range rapid.IntRange(1, 4).Draw(rt, "payouts") {
		numbers = append(numbers, number(rapid.SampledFrom([]string{"0001", "0002", "9001", "9006", "9011", "9012", "9013", "9014"}).Draw(rt, "number")))
	}
	m.thaw()
	m.ids = append(m.ids, m.b.pay(numbers...)...)
}

func (m *model) node(rt *rapid.T) *bank { return rapid.SampledFrom(m.nodes).Draw(rt, "node") }

func (m *model) id(rt *rapid.T) string {
	if len(m.ids) == 0 {
		rt.Skip("no payouts")
	}
	return rapid.SampledFrom(m.ids).Draw(rt, "payout")
}

func (m *model) work(rt *rapid.T) { m.node(rt).die() }

func (m *model) wait(rt *rapid.T) {
	m.b.clock.advance(rapid.SampledFrom([]time.Duration{time.Second, 5 * time.Second, lease, 20 * time.Minute}).Draw(rt, "time"))
}

// cut makes a node fail in one way from now on.
func (m *model) cut(rt *rapid.T) {
	b := m.node(rt)
	type call = func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error)
	after := func(do call, end func(out []rail.Outcome) ([]rail.Outcome, error)) call {
		return func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
			out, err := do(ctx, r, list)
			if err != nil {
				return out, err
			}
			return end(out)
		}
	}
	killed := func([]rail.Outcome) ([]rail.Outcome, error) { panic("killed") }
	lost := func([]rail.Outcome) ([]rail.Outcome, error) { return nil, errors.New("the line is cut") }
	switch rapid.SampledFrom([]string{"before it sends", "after it has sent", "no answer", "before it asks", "after it has asked", "nothing heard"}).Draw(rt, "how") {
	case "before it sends":
		b.line.submit = func(context.Context, *rail.Rail, []rail.Payment) ([]rail.Outcome, error) { panic("killed") }
	case "after it has sent":
		b.line.submit = after(b.sim.Submit, killed)
	case "no answer":
		b.line.submit = after(b.sim.Submit, lost)
	case "before it asks":
		b.line.lookUp = func(context.Context, *rail.Rail, []rail.Payment) ([]rail.Outcome, error) { panic("killed") }
	case "after it has asked":
		b.line.lookUp = after(b.sim.LookUp, lost)
	case "nothing heard":
		b.line.receive = func() []rail.Message { return nil }
	}
}

func (m *model) mend(*rapid.T) {
	for _, b := range m.nodes {
		*b.line = line{Connector: b.sim}
	}
}

func (m *model) drive(rt *rapid.T) {
	id, how := m.id(rt), rapid.SampledFrom([]string{"settle", "reject", "return"}).Draw(rt, "how")
	m.b.write(func(tx *db.Tx) (err error) {
		attempt := max(m.b.payout(id).Attempts, 1)
		switch endToEndID := payout.EndToEndID(id, attempt); how {
		case "settle":
			_, err = m.b.sim.Settle(tx, endToEndID)
		case "reject":
			_, err = m.b.sim.Reject(tx, endToEndID, "AC06")
		case "return":
			_, err = m.b.sim.Return(tx, endToEndID, "AC04")
		}
		return err
	})
}

func (m *model) cancel(rt *rapid.T) {
	id := m.id(rt)
	m.b.write(func(tx *db.Tx) error {
		_, err := payout.CancelPending(tx, id)
		return err
	})
}

func (m *model) retry(rt *rapid.T) {
	id := m.id(rt)
	m.b.write(func(tx *db.Tx) error {
		_, err := payout.RetryFailed(tx, id)
		return err
	})
}

func (m *model) set(status rail.Status, services ...string) {
	m.b.write(func(tx *db.Tx) error {
		for _, service := range services {
			if err := rail.SetStatus(tx, true, service, status, ""); err != nil {
				return err
			}
		}
		return nil
	})
}

func (m *model) takeDown(rt *rapid.T) {
	m.set(rail.Down, rapid.SampledFrom([]string{"instapay", "simulator", "BOPIPHMMXXX"}).Draw(rt, "service"))
}

func (m *model) bringUp(*rapid.T) { m.set(rail.Up, "instapay", "simulator", "BOPIPHMMXXX") }

func (m *model) freeze(rt *rapid.T) {
	status := rapid.SampledFrom([]string{"frozen", "active"}).Draw(rt, "status")
	m.b.write(func(tx *db.Tx) error {
		return tx.Exec(`UPDATE ledger_account SET status = $1 WHERE kind = 'customer'`, status)
	})
}

// tellAgain lets the bank repeat everything that it has ever told.
func (m *model) tellAgain(rt *rapid.T) {
	m.b.write(func(tx *db.Tx) error {
		return tx.Exec(`UPDATE simulated_payment SET tell = 'settled', due_at = $1 WHERE state = 'completed' AND tell IS NULL AND return_code = ''`, tx.Now())
	})
}

func (m *model) thaw() {
	m.b.write(func(tx *db.Tx) error {
		return tx.Exec(`UPDATE ledger_account SET status = 'active' WHERE kind = 'customer'`)
	})
}

// end lets everything come to its end.
func (m *model) end() {
	m.mend(nil)
	m.bringUp(nil)
	m.thaw()
	m.b.settle(20 * time.Minute)
	for _, id := range m.ids {
		if p := m.b.payout(id); p.Status == payout.Processing {
			m.b.write(func(tx *db.Tx) error {
				_, err := m.b.sim.Settle(tx, payout.EndToEndID(id, p.Attempts))
				return err
			})
		}
	}
	m.b.settle(20 * time.Minute)
	m.b.sound()
	if n := m.b.count(`SELECT count(*) FROM payout WHERE status IN ('pending', 'processing') OR attention <> ''`); n != 0 {
		m.b.t.Errorf("%d payouts have not ended", n)
	}
	if n := m.b.count(`SELECT sum(available) FROM ledger_account WHERE kind = 'clearing'`); n != 0 {
		m.b.t.Errorf("%d are left in clearing", n)
	}
}
