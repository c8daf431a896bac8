package payout_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/payout"
	"bursar/internal/rail"
	"bursar/internal/torture"
)

// world is a simulation of nodes that share a store and a bank. A seed decides what happens: nodes pause and die within
// Submit and LookUp, clocks jump, answers are lost, repeated, late and out of order, the connector no longer finds a payment, and
// the store is restored from an archive. The bank's own book is the judge: whatever happens, it has executed no payout twice.
type world struct {
	*bank
	store  dbtest.Store
	random *rand.Rand
	story  []string
	nodes  []*simNode
	ids    []string

	executed   map[string]int // the bank's book: how often it has executed a payment
	record     map[string]int // the connector's record: the submission that the bank has
	tombstones map[string]int
	decided    map[string]rail.State
	notices    []rail.Notice
	serial     int

	identity string          // of the connector's record outside of the store
	sent     []rail.Recorded // what that has
	archived string          // the file of the last archive

	restores          bool // the store is restored
	careless          bool // switches off that payouts are recovered after a restore
	withoutTombstones bool // switches off the promise that "not received" is final
	forgetful         bool // switches off that the store knows what the rail has acknowledged
	quiet             bool // no further faults
}

// simNode is a node of a world. It runs as long as the world waits for it.
type simNode struct {
	*payout.Dispatcher
	name   string
	paused chan bool // receives whether the node is killed; nil while it does not pause
	idle   chan struct{}
	busy   bool
}

func (w *world) tell(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf(format, args...))
}

func (w *world) chance(one int) bool { return !w.quiet && w.random.IntN(one) == 0 }

// start adds a node whose clock is a little off.
func (w *world) start() {
	w.serial++
	n := &simNode{name: fmt.Sprint("node ", w.serial), idle: make(chan struct{})}
	rails, err := rail.Load("", rail.Config{Simulator: &simConnector{w, n}})
	if err != nil {
		w.t.Fatal(err)
	}
	n.Dispatcher = payout.NewDispatcher(w.db, w.vault, rails, payout.NoRules(w.db), slog.New(slog.DiscardHandler))
	n.SetSkew(time.Duration(w.random.IntN(7000)-3500) * time.Millisecond)
	w.nodes = append(w.nodes, n)
}

// turn lets a node work until it is done, pauses or dies.
func (w *world) turnOf(n *simNode) {
	n.busy = true
	go func() {
		defer func() {
			if recover() != nil {
				w.tell("%s is killed", n.name)
			}
			n.busy = false
			n.idle <- struct{}{}
		}()
		_, _ = n.Turn(context.Background())
	}()
	<-n.idle
}

// wake lets a node that pauses go on, or kills it.
func (w *world) wake(n *simNode, kill bool) {
	paused := n.paused
	n.paused = nil
	paused <- kill
	<-n.idle
}

// pause may stop the node here until it is woken up.
func (w *world) pause(n *simNode, where string) {
	if !w.chance(4) {
		return
	}
	w.tell("%s pauses %s", n.name, where)
	woken := make(chan bool) // n.paused is the world's again from here on
	n.paused = woken
	n.idle <- struct{}{}
	if <-woken {
		panic("killed")
	}
	w.tell("%s goes on %s", n.name, where)
}

// simConnector is the bank as a node reaches it.
type simConnector struct {
	*world
	node *simNode
}

func (c *simConnector) Name() string                             { return "simulator" }
func (c *simConnector) Sandbox() bool                            { return true }
func (c *simConnector) Check(*rail.Rail, rail.Payment) error     { return nil }
func (c *simConnector) Done(context.Context, rail.Message) error { return nil }
func (c *simConnector) Health(context.Context) (rail.Status, string) {
	return rail.Up, ""
}

func (c *simConnector) Submit(_ context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
	c.pause(c.node, "before it submits")
	out := make([]rail.Outcome, len(list))
	for i, p := range list {
		switch had := c.record[p.EndToEndID]; {
		case had != 0:
			out[i] = rail.Outcome{State: rail.Accepted, Submission: had}
		case p.Submission <= c.tombstones[p.EndToEndID] && !c.withoutTombstones, p.Expired(c.clock.Now()) && !c.withoutTombstones:
			out[i] = rail.Outcome{State: rail.Unknown, Submission: p.Submission}
		default:
			c.executed[p.PayoutID]++
			c.record[p.EndToEndID] = p.Submission
			c.note(r, p)
			out[i] = rail.Outcome{State: rail.Accepted, Submission: p.Submission}
			c.tell("%s submits %s, submission %d", c.node.name, p.EndToEndID, p.Submission)
		}
	}
	c.pause(c.node, "after it has submitted")
	if c.chance(4) {
		c.tell("an answer to %s is lost", c.node.name)
		return nil, errors.New("the line is cut")
	}
	return out, nil
}

func (c *simConnector) LookUp(_ context.Context, _ *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
	c.pause(c.node, "before it looks up")
	out := make([]rail.Outcome, len(list))
	for i, p := range list {
		had := c.record[p.EndToEndID]
		switch {
		case had != 0 && c.decided[p.EndToEndID] != "":
			out[i] = rail.Outcome{State: c.decided[p.EndToEndID], Submission: had}
		case had != 0:
			out[i] = rail.Outcome{State: rail.Accepted, Submission: had}
		default:
			c.tombstones[p.EndToEndID] = max(c.tombstones[p.EndToEndID], p.Submission)
			out[i] = rail.Outcome{State: rail.NotReceived, Submission: c.tombstones[p.EndToEndID]}
			c.tell("%s does not find %s, submission %d", c.node.name, p.EndToEndID, p.Submission)
		}
	}
	c.pause(c.node, "after it has looked up")
	if c.chance(5) {
		return nil, errors.New("the line is cut")
	}
	return out, nil
}

// Receive delivers notices late, repeatedly and out of order.
func (c *simConnector) Receive(context.Context) ([]rail.Message, error) {
	var some []rail.Notice
	for _, n := range c.notices {
		if c.quiet || c.random.IntN(2) == 0 {
			some = append(some, n)
		}
	}
	if len(some) == 0 {
		return nil, nil
	}
	c.random.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	if c.quiet {
		c.notices = nil
	}
	return []rail.Message{{ID: "m", Notices: some}}, nil
}

// decide lets the bank decide about a payment that it has executed.
func (w *world) decide(endToEndID string) {
	if w.decided[endToEndID] != "" {
		return
	}
	submission := w.record[endToEndID]
	w.decided[endToEndID] = rail.Completed
	w.tell("the bank completes %s", endToEndID)
	w.notices = append(w.notices, rail.Notice{MessageID: "m", EntryID: "decided" + endToEndID, Kind: rail.Decided, EndToEndID: endToEndID,
		Outcome: rail.Outcome{State: rail.Completed, Submission: submission}, Currency: "PHP", Booked: true},
		rail.Notice{MessageID: "m", EntryID: "settled" + endToEndID, Kind: rail.Settled, EndToEndID: endToEndID, Amount: -amount, Currency: "PHP", Booked: true})
}

// step lets something happen.
func (w *world) step(t *testing.T) {
	t.Helper()
	n := w.nodes[w.random.IntN(len(w.nodes))]
	switch w.random.IntN(11) {
	case 0:
		w.ids = append(w.ids, w.pay(number("0001"))...)
	case 1, 2, 3, 4:
		if !n.busy {
			w.turnOf(n)
		}
	case 5:
		if n.paused != nil {
			kill := w.random.IntN(3) == 0
			w.wake(n, kill)
			if kill {
				w.nodes = slices.DeleteFunc(w.nodes, func(other *simNode) bool { return other == n })
				w.start()
			}
		}
	case 6:
		jump := []time.Duration{time.Second, 3 * time.Second, 9 * time.Second, time.Minute}[w.random.IntN(4)]
		w.tell("%s pass", jump)
		w.clock.advance(jump)
	case 7:
		if id := w.any(); id != "" {
			w.decide(id)
		}
	case 8:
		if id := w.any(); id != "" && w.random.IntN(4) == 0 {
			w.lose(id)
		}
	case 9:
		switch {
		case !w.restores:
		case w.archived == "" && w.random.IntN(4) == 0:
			w.archive(t)
		case w.archived != "" && w.random.IntN(4) == 0:
			w.restore(t)
		}
	case 10:
		w.operate()
	}
}

// any chooses a payment that the connector has a record of, "" if there is none.
func (w *world) any() string {
	list := slices.Sorted(maps.Keys(w.record))
	if len(list) == 0 {
		return ""
	}
	return list[w.random.IntN(len(list))]
}

// lose makes the connector lose its record of a payment. It keeps the record of a payment that the
// store does not know as accepted, or will not know after a restore: no one could tell that one from a payment that never left.
func (w *world) lose(id string) {
	if w.archived != "" || w.count(`SELECT count(*) FROM payout_attempt WHERE end_to_end_id = $1 AND accepted <> 0`, id) == 0 {
		return
	}
	w.tell("the connector loses its record of %s", id)
	delete(w.record, id)
	if w.forgetful {
		w.write(func(tx *db.Tx) error {
			return tx.Exec(`UPDATE payout_attempt SET accepted = 0 WHERE end_to_end_id = $1`, id)
		})
	}
}

// settleAll lets everything end without further faults.
func (w *world) settleAll() {
	w.quiet = true
	for again := true; again; {
		again = false
		for _, n := range w.nodes {
			if n.paused != nil {
				w.wake(n, false)
				again = true
			}
		}
	}
	for range 40 {
		for _, id := range slices.Sorted(maps.Keys(w.record)) {
			w.decide(id)
		}
		for _, n := range w.nodes {
			w.turnOf(n)
		}
		w.operate()
		w.clock.advance(30 * time.Second)
	}
}

// verdict returns what is wrong at the end.
func (w *world) verdict() (wrong []string) {
	for _, id := range w.ids {
		p := w.payout(id)
		executed := w.executed[id]
		switch {
		case p.ID == "" && executed == 0: // it was lost with the store, and never sent
		case p.ID == "":
			wrong = append(wrong, fmt.Sprintf("%s was executed and is forgotten", id))
		case executed > 1:
			wrong = append(wrong, fmt.Sprintf("%s was executed %d times", id, executed))
		case p.Status == payout.Completed && executed != 1, p.Status == payout.Failed && executed != 0 && p.Attention == "":
			wrong = append(wrong, fmt.Sprintf("%s is %s and was executed %d times", id, p.Status, executed))
		case p.Status != payout.Completed && p.Attention == "":
			wrong = append(wrong, fmt.Sprintf("%s is still %s and needs no attention", id, p.Status))
		}
	}
	for _, one := range soundness {
		if !strings.Contains(one.sql, "simulated_payment") && w.count(one.sql) != 0 { // this bank has its own book
			wrong = append(wrong, "there are "+one.what)
		}
	}
	return wrong
}

// runWorld runs a world, and returns its story and what is wrong with its end.
func runWorld(t *testing.T, store dbtest.Store, seed uint64, change func(w *world)) (story, wrong []string) {
	t.Helper()
	w := &world{bank: openBank(t, store), store: store, random: rand.New(rand.NewPCG(seed, 0)), executed: map[string]int{}, record: map[string]int{}, tombstones: map[string]int{},
		decided: map[string]rail.State{}}
	change(w)
	for range 3 {
		w.start()
	}
	w.quiet = true
	w.turnOf(w.nodes[0]) // the store remembers the record
	w.quiet = false
	for range 120 {
		w.step(t)
	}
	w.settleAll()
	return w.story, w.verdict()
}

func TestNoPayoutIsExecutedTwiceWhateverTheSeed(t *testing.T) {
	for round := range torture.Rounds(60, 20_000) {
		seed := rand.Uint64()
		passed := t.Run(fmt.Sprint(seed), func(t *testing.T) { // each closes and removes its stores at its end
			if story, wrong := runWorld(t, dbtest.SQLite(t), seed, func(w *world) { w.restores = round%3 == 0 }); len(wrong) > 0 {
				t.Errorf("round %d, seed %d, restores %t: %s\n%s", round, seed, round%3 == 0, strings.Join(wrong, "; "), strings.Join(story, "\n"))
			}
		})
		if !passed {
			return
		}
	}
}

// The simulation is worth something: without what keeps payouts from being executed twice, it finds that they are.
func TestTheSimulationFindsPayoutsThatAreExecutedTwice(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world)
		found  string
	}{
		"a connector without tombstones":                        {func(w *world) { w.withoutTombstones = true }, "executed 2 times"},
		"a store that does not know what the bank has accepted": {func(w *world) { w.forgetful = true }, "executed 2 times"},
		"payouts that are not recovered after a restore":        {func(w *world) { w.restores, w.careless = true, true }, "was executed and is forgotten"},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(torture.Rounds(200, 200)) {
				if _, wrong := runWorld(t, dbtest.SQLite(t), seed, c.change); slices.ContainsFunc(wrong, func(text string) bool { return strings.Contains(text, c.found) }) {
					return
				}
			}
			t.Error("it has found nothing")
		})
	}
}
