package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"bursar/internal/payout"
	"bursar/internal/rail"
)

// simulatedBank is the bank of a world, with the connector to it.
type simulatedBank struct {
	book              []*booking
	notices           []rail.Notice
	moved             int64 // what all of its movements sum up to
	opening           int64 // what the ledger said before
	refusesDuplicates bool  // of an end-to-end id
	down              bool  // it cannot be reached

	record       map[string]*booking // the connector's record: the last one that it has sent
	tombstones   map[string]int
	acknowledged map[string]bool // what the store knew once, if it forgets
	identity     string          // of the connector's record outside of the store
	sent         []rail.Recorded // what that has
}

func newSimulatedBank() simulatedBank {
	return simulatedBank{record: map[string]*booking{}, tombstones: map[string]int{}, acknowledged: map[string]bool{}}
}

// booking is a payment that the bank has received.
type booking struct {
	endToEndID string
	payoutID   string
	submission int
	state      rail.State // accepted until the bank decides
	returned   bool
}

func (b *booking) outcome() rail.Outcome {
	o := rail.Outcome{State: b.state, Submission: b.submission}
	if b.state == rail.Rejected {
		o.Code = "MS03"
	}
	return o
}

// before reports whether people have found that the booking was not paid, and the payment is a later submission, or has no number.
func (b *booking) before(p rail.Payment) bool {
	return b.submission <= p.NotPaid && (p.Submission == 0 || b.submission < p.Submission)
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

// call passes on a call of the node, unless it is given up while the node pauses, or the bank cannot be reached. Its answer may be lost.
func (c *simConnector) call(what string, list []rail.Payment, one func(p rail.Payment) rail.Outcome) ([]rail.Outcome, error) {
	began := c.clock.Now().Add(-c.node.ahead)
	c.pause(c.node, 4, "before it "+what)
	if took := c.clock.Now().Add(-c.node.ahead).Sub(began); took > 30*time.Second && !c.without.age {
		return nil, context.DeadlineExceeded
	}
	if c.down {
		return nil, errors.New("the bank cannot be reached")
	}
	out := make([]rail.Outcome, len(list))
	for i, p := range list {
		out[i] = one(p)
	}
	c.pause(c.node, 4, "after it "+what)
	if c.chance(5) {
		c.tell("an answer to %s is lost", c.node.name)
		return nil, errors.New("the line is cut")
	}
	return out, nil
}

func (c *simConnector) Submit(_ context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
	return c.call("submits", list, func(p rail.Payment) rail.Outcome {
		had := c.record[p.EndToEndID]
		switch {
		case had != nil && !had.before(p):
			return had.outcome()
		case had != nil && had.state == rail.Completed:
			return rail.Outcome{State: rail.Rejected, Code: "AM05", Submission: p.Submission}
		case p.Submission <= c.tombstones[p.EndToEndID] && !c.without.tombstones, p.Expired(c.clock.Now()) && !c.without.age:
			return rail.Outcome{State: rail.Unknown, Submission: p.Submission}
		}
		c.tell("%s sends %s, submission %d", c.node.name, p.EndToEndID, p.Submission)
		if is := c.payout(p.PayoutID).Status; is != payout.Processing {
			c.wrong = append(c.wrong, fmt.Sprintf("%s was sent while it was %s", p.PayoutID, is))
		}
		c.note(r, p)
		return c.accept(p)
	})
}

func (c *simConnector) LookUp(_ context.Context, _ *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
	return c.call("looks up", list, func(p rail.Payment) rail.Outcome {
		if had := c.record[p.EndToEndID]; had != nil && (!had.before(p) || had.state == rail.Completed) {
			return had.outcome()
		}
		c.tombstones[p.EndToEndID] = max(c.tombstones[p.EndToEndID], p.Submission)
		c.tell("%s does not find %s, submission %d", c.node.name, p.EndToEndID, p.Submission)
		return rail.Outcome{State: rail.NotReceived, Submission: c.tombstones[p.EndToEndID]}
	})
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
	c.pause(c.node, 12, "after it has received messages")
	return []rail.Message{{ID: "m", Notices: some}}, nil
}

// accept lets the bank receive a payment, and perhaps reject it at once.
func (w *world) accept(p rail.Payment) rail.Outcome {
	if w.refusesDuplicates && slices.ContainsFunc(w.book, func(b *booking) bool { return b.endToEndID == p.EndToEndID && b.state != rail.Rejected }) {
		w.tell("the bank refuses %s as a duplicate", p.EndToEndID)
		return rail.Outcome{State: rail.Rejected, Code: "AM05", Submission: p.Submission}
	}
	b := &booking{endToEndID: p.EndToEndID, payoutID: p.PayoutID, submission: p.Submission, state: rail.Accepted}
	w.book, w.record[p.EndToEndID] = append(w.book, b), b
	if w.chance(8) {
		w.decide(b, rail.Rejected)
	}
	return b.outcome()
}

// goOn lets the bank decide about a payment, return it, or debit it twice.
func (w *world) goOn(b *booking) {
	switch {
	case b.state == rail.Accepted && w.chance(4):
		w.decide(b, rail.Rejected)
	case b.state == rail.Accepted:
		w.decide(b, rail.Completed)
		w.debit(b)
	case b.state == rail.Completed && !b.returned && w.chance(5):
		b.returned = true
		w.tell("the bank returns %s", b.endToEndID)
		w.report(b, rail.Notice{Kind: rail.Returned, Amount: amount, Outcome: rail.Outcome{Code: "MS03", Reference: fmt.Sprint("return ", w.serial)}})
	case b.state == rail.Completed && w.chance(10):
		w.debit(b)
	}
}

func (w *world) decide(b *booking, state rail.State) {
	b.state = state
	w.tell("the bank has %s %s", state, b.endToEndID)
	w.report(b, rail.Notice{Kind: rail.Decided, Outcome: b.outcome()})
}

func (w *world) debit(b *booking) {
	w.tell("the bank debits %s", b.endToEndID)
	w.report(b, rail.Notice{Kind: rail.Settled, Amount: -amount, Movement: fmt.Sprint("debit ", w.serial)})
}

// report adds a notice about a payment.
func (w *world) report(b *booking, n rail.Notice) {
	w.serial++
	w.moved += n.Amount
	n.MessageID, n.EntryID, n.EndToEndID, n.Currency, n.Booked = "m", fmt.Sprint("entry ", w.serial), b.endToEndID, "PHP", true
	w.notices = append(w.notices, n)
}

// lose makes the connector lose its record of a payment. It keeps the record of a payment that the store does not know as accepted, or
// will not know after a restore: no one could tell that one from a payment that never left.
func (w *world) lose() {
	list := slices.Sorted(maps.Keys(w.record))
	if len(list) == 0 || w.archived != "" {
		return
	}
	id := list[w.random.IntN(len(list))]
	if !w.acknowledged[id] && w.count(`SELECT count(*) FROM payout_attempt WHERE end_to_end_id = $1 AND accepted <> 0`, id) == 0 {
		return
	}
	w.tell("the connector loses its record of %s", id)
	delete(w.record, id)
}
