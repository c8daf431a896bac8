package dispatch_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/cryptotest"
	"time"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/ledger"
	"bursar/internal/payout"
	"bursar/internal/payout/dispatch"
	"bursar/internal/rail"
)

// world is a simulation of nodes that share a store and a bank. A seed decides everything: ids; when nodes pause and die within
// Submit, LookUp and Receive; how much time passes, and how far the clock of each node is off; which answers are lost, repeated, late
// and out of order; whether the connector loses the record of a payment; what the bank rejects, returns and debits twice; what
// people do; and when the store is restored from an archive. The bank's book is the judge: see verdict.
//
// One node runs at a time, until it pauses or its turn ends. With testing/synctest, a node that pauses in Submit would go on renewing
// its leases. A process that is stopped does not, and that is when another node takes its payments over.
type world struct {
	*office
	store  dbtest.Store
	random *rand.Rand
	began  time.Time
	story  []string
	wrong  []string // what has happened and must not
	nodes  []*simNode
	ids    []string // payouts
	serial int
	quiet  bool // no further faults

	simulatedBank
	archived string // the file of the last archive
	restores bool   // the store is restored
	without  without
}

// without switches off what keeps payouts from being executed twice.
type without struct {
	tombstones bool // a look-up that answers "not received" leaves nothing behind
	age        bool // the connector sends whatever the age of the claim, and after the caller has given up
	memory     bool // the store forgets what the rail has acknowledged
	sameID     bool // what was not received is sent again under a new end-to-end id
	recovery   bool // payments that a restored store does not know are ignored
}

// simNode is a node of a world. It runs as long as the world waits for it.
type simNode struct {
	*dispatch.Dispatcher
	name   string
	ahead  time.Duration // its clock, of the right time
	paused chan bool     // receives whether the node is killed; nil while it does not pause
	idle   chan struct{}
	busy   bool
}

func (w *world) tell(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf("%-10s ", w.clock.Now().Sub(w.began))+fmt.Sprintf(format, args...))
}

// chance is true once in so many times.
func (w *world) chance(one int) bool { return !w.quiet && w.random.IntN(one) == 0 }

// start adds a node whose clock is a little off.
func (w *world) start() {
	w.serial++
	n := &simNode{name: fmt.Sprint("node ", w.serial), idle: make(chan struct{}), ahead: time.Duration(w.random.IntN(7000)-3500) * time.Millisecond}
	rails, err := rail.Load("", rail.Config{Simulator: &simConnector{w, n}})
	if err != nil {
		w.t.Fatal(err)
	}
	n.Dispatcher = newDispatcher(w.db, w.vault, rails, slog.DiscardHandler)
	n.RenewNoLeases()
	n.MeasureSkew(func() time.Duration { return n.ahead })
	w.nodes = append(w.nodes, n)
}

// turnOf lets a node work until it is done, pauses or dies.
func (w *world) turnOf(n *simNode) {
	n.busy = true
	w.run(n, func() {
		go func() {
			defer func() {
				if r := recover(); r == killed {
					w.tell("%s is killed", n.name)
				} else if r != nil {
					w.wrong = append(w.wrong, fmt.Sprintf("%s panics: %v", n.name, r))
				}
				n.busy = false
				n.idle <- struct{}{}
			}()
			if _, err := n.Turn(context.Background()); err != nil {
				w.wrong = append(w.wrong, fmt.Sprintf("%s fails: %v", n.name, err))
			}
		}()
	})
}

// killed is what a node panics with.
const killed = "killed"

// wake lets a node that pauses go on, or kills it.
func (w *world) wake(n *simNode, kill bool) {
	paused := n.paused
	n.paused = nil
	w.run(n, func() { paused <- kill })
}

// run lets a node run. The store is the same for all nodes and reads the clock of the one that runs.
func (w *world) run(n *simNode, begin func()) {
	w.clock.advance(n.ahead)
	begin()
	<-n.idle
	w.clock.advance(-n.ahead)
	w.weaken()
}

// pause may stop the node here, once in so many times, until it is woken up.
func (w *world) pause(n *simNode, one int, where string) {
	if !w.chance(one) {
		return
	}
	w.tell("%s pauses %s", n.name, where)
	woken := make(chan bool) // n.paused is the world's again from here on
	n.paused = woken
	n.idle <- struct{}{}
	if <-woken {
		panic(killed)
	}
	w.tell("%s goes on %s", n.name, where)
}

// weaken switches off what the store knows, wherever the world takes over.
func (w *world) weaken() {
	text := func(r db.Rows) string { return r.Text(0) }
	if w.without.memory {
		w.write(func(tx *db.Tx) error {
			list, err := db.Collect(tx.Q, text, `UPDATE payout_attempt SET accepted = 0 WHERE accepted <> 0 RETURNING end_to_end_id`)
			for _, id := range list {
				w.acknowledged[id] = true
			}
			return err
		})
	}
	if w.without.sameID {
		w.write(func(tx *db.Tx) error {
			list, err := db.Collect(tx.Q, text, `UPDATE payout_attempt SET state = 'rejected' WHERE state = 'not_received' AND resolved = '' RETURNING payout_id`)
			for _, id := range list {
				if err == nil {
					err = payout.Authenticate(tx, w.vault, id)
				}
			}
			return err
		})
	}
}

// step lets something happen.
func (w *world) step(t *testing.T) {
	t.Helper()
	n := w.nodes[w.random.IntN(len(w.nodes))]
	switch w.random.IntN(20) {
	case 0, 1:
		w.ids = append(w.ids, w.bank.pay(number("0001"))...)
	case 2, 3, 4, 5, 6:
		if !n.busy {
			w.turnOf(n)
		}
	case 7, 8, 9:
		if n.paused != nil {
			kill := w.random.IntN(4) == 0
			w.wake(n, kill)
			if kill {
				w.nodes = slices.DeleteFunc(w.nodes, func(other *simNode) bool { return other == n })
				w.start()
			}
		}
	case 10, 11:
		jump := []time.Duration{time.Second, 3 * time.Second, 9 * time.Second, time.Minute, 20 * time.Minute}[w.random.IntN(5)]
		w.clock.advance(jump)
		w.tell("%s have passed", jump)
	case 12:
		n.ahead = time.Duration(w.random.IntN(18_000)-9000) * time.Millisecond
		w.tell("the clock of %s is now %s ahead", n.name, n.ahead)
	case 13, 14:
		if len(w.book) > 0 {
			w.goOn(w.book[w.random.IntN(len(w.book))])
		}
	case 15:
		if w.down || w.random.IntN(4) == 0 {
			w.down = !w.down
			w.tell("the bank is unreachable: %t", w.down)
		} else if w.random.IntN(4) == 0 {
			w.lose()
		}
	case 16:
		switch {
		case !w.restores || w.random.IntN(4) != 0:
		case w.archived == "":
			w.archive(t)
		default:
			w.restore(t)
		}
	case 17:
		if w.operate(); w.stopped() || w.random.IntN(8) == 0 {
			w.stopOrResume()
		}
	case 18, 19:
		if len(w.ids) > 0 {
			w.attend(w.ids[w.random.IntN(len(w.ids))])
		}
	}
}

// settleAll lets everything end without further faults.
func (w *world) settleAll() {
	w.tell("no further faults")
	w.quiet, w.down = true, false
	for _, n := range w.nodes {
		n.ahead = 0
		for n.paused != nil {
			w.wake(n, false)
		}
	}
	if w.stopped() {
		w.stopOrResume()
	}
	for range 60 {
		for _, b := range w.book {
			w.goOn(b)
		}
		for _, n := range w.nodes {
			w.turnOf(n)
		}
		w.operate()
		for _, id := range w.ids {
			w.attend(id)
		}
		w.clock.advance(time.Minute)
		if len(w.notices) == 0 && w.count(unsettled) == 0 {
			return
		}
	}
}

// unsettled counts payouts that have not ended, and what stops the rails.
const unsettled = `SELECT (SELECT count(*) FROM payout WHERE status IN ('pending', 'processing') OR attention <> '') + (SELECT count(*) FROM setting WHERE name = 'rails_stopped')`

// verdict returns what is wrong at the end: no payout is executed twice, none that was executed is forgotten, and the ledger has every
// centavo that the bank has moved.
func (w *world) verdict() []string {
	wrong := w.wrong
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for _, id := range w.ids {
		p, executed := w.payout(id), 0
		for _, b := range w.book {
			if b.payoutID == id && b.state == rail.Completed {
				executed++
			}
		}
		w.tell("%s ends %s %s after %d attempts, executed %d times", id, p.Status, p.Attention, p.Attempts, executed)
		switch {
		case p.ID == "" && executed == 0: // it was lost with the store, and never paid
		case p.ID == "":
			add("%s was executed and is forgotten", id)
		case executed > 1:
			add("%s was executed %d times", id, executed)
		case p.Attention != "":
			add("%s is %s and still needs attention (%s)", id, p.Status, p.Attention)
		case p.Status == payout.Pending || p.Status == payout.Processing:
			add("%s is still %s", id, p.Status)
		case (p.Status == payout.Completed || p.Status == payout.Reversed) != (executed == 1):
			add("%s is %s and was executed %d times", id, p.Status, executed)
		}
	}
	if got := w.atBank(); got != w.opening-w.moved {
		add("the bank has moved %d, and the ledger %d", w.moved, w.opening-got)
	}
	for _, one := range soundness {
		if !strings.Contains(one.sql, "simulated_payment") && w.count(one.sql) != 0 { // this bank has its own book
			add("there are %s", one.what)
		}
	}
	report, err := ledger.Verify(context.Background(), w.db, false, func(int64, int64) {})
	if err != nil || len(report.Mismatches) > 0 {
		add("the ledger does not verify: %v, %v", report.Mismatches, err)
	}
	return wrong
}

// atBank is what the ledger says that the bank holds, as its other side.
func (w *world) atBank() int64 {
	return w.count(`SELECT available FROM ledger_account WHERE id = $1`, ledger.SystemAccount(ledger.Bank, "PHP", w.account.Mode))
}

// runWorld runs a world, and returns its story and what is wrong with its end.
func runWorld(t *testing.T, seed uint64, change func(w *world)) (story, wrong []string) {
	t.Helper()
	store := dbtest.SQLite(t)
	store.CopySchema(t) // which may draw random bytes the first time
	cryptotest.SetGlobalRandom(t, seed)
	w := &world{office: openOffice(openBank(t, store)), store: store, random: rand.New(rand.NewPCG(seed, 0)), simulatedBank: newSimulatedBank()}
	w.began, w.opening = w.clock.Now(), w.atBank()
	w.restores, w.refusesDuplicates = w.random.IntN(3) == 0, w.random.IntN(2) == 0
	nodes := 2 + w.random.IntN(2)
	change(w)
	for range nodes {
		w.start()
	}
	w.quiet = true
	w.turnOf(w.nodes[0]) // the store remembers the record
	w.quiet = false
	for range 140 {
		w.step(t)
	}
	w.settleAll()
	wrong = w.verdict()
	return w.story, wrong
}
