package payout

import (
	"cmp"
	"fmt"
	"strings"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/rail"
)

// ofAnotherAmount reports whether a movement differs from the amount or currency of its attempt, for example because the bank
// added or deducted a fee. The payout is contradicted then.
func (c *change) ofAnotherAmount(a *attempt, n rail.Notice, want int64) bool {
	p := a.payout
	if n.Amount == want && n.Currency == p.Currency {
		return false
	}
	c.contradict(a, fmt.Sprintf("the bank has booked %s for attempt %d, not %s", api.FormatAmount(n.Amount, n.Currency), a.Number, api.FormatAmount(want, p.Currency)))
	return true
}

// settled records a debit that the bank has booked. It reports whether the payout accounts for it.
func (c *change) settled(a *attempt, n rail.Notice) bool {
	p, reference := a.payout, n.Outcome.Reference
	if c.ofAnotherAmount(a, n, -p.Amount) {
		return false
	}
	c.paid(a, rail.Outcome{Reference: reference, Submission: n.Outcome.Submission})
	switch {
	case a.SettledAt != 0 && otherMovement(a.SettledAs, n.Movement):
		c.contradict(a, fmt.Sprintf("the bank has debited attempt %d twice, as %s and as %s", a.Number, strings.ReplaceAll(a.SettledAs, "\n", ", "), n.Movement))
		return false
	case a.SettledAt != 0: // another message has shown it
		if !hasLine(a.SettledAs, n.Movement) {
			c.attempts[a.ID] = a
			a.SettledAs = strings.TrimPrefix(a.SettledAs+"\n"+n.Movement, "\n")
		}
		return true
	case a.State != rail.Completed:
		c.contradict(a, fmt.Sprintf("the bank has paid attempt %d, which was %s", a.Number, a.outcome()))
		return false
	}
	c.attempts[a.ID] = a
	a.SettledAt, a.SettledAs, a.Reference = c.now, n.Movement, cmp.Or(a.Reference, reference)
	if !p.isReserved() {
		c.contradict(a, fmt.Sprintf("the bank has debited attempt %d, for which no money is reserved since the store was restored", a.Number))
		return false
	}
	c.settle = append(c.settle, p.reserved())
	c.addEvent(audit.PayoutSettled, p, p.Status, "The bank's statement shows the payout")
	return true
}

// otherMovement reports whether a movement is certainly not the one with these names: the bank has given it a different name of the same
// kind.
func otherMovement(names, movement string) bool {
	kind, _, _ := strings.Cut(movement, " ")
	return !hasLine(names, movement) && strings.Contains("\n"+names, "\n"+kind+" ")
}

// hasLine reports whether a text has a line. Every text has the empty line.
func hasLine(text, line string) bool {
	return line == "" || strings.Contains("\n"+text+"\n", "\n"+line+"\n")
}

// paid completes an attempt whose money has moved at the bank before the rail has reported it. The outcome has the bank's reference for the
// payment, and the submission, if they are known.
func (c *change) paid(a *attempt, o rail.Outcome) {
	if a.open() || a.waits() {
		o.State = rail.Completed
		c.decide(a, o)
	}
}

// returned records the return of a payment. It reports whether that explains the money received.
func (c *change) returned(a *attempt, n rail.Notice) bool {
	p, o := a.payout, n.Outcome
	if c.ofAnotherAmount(a, n, p.Amount) {
		return false
	}
	c.paid(a, rail.Outcome{}) // o has the reference of the return
	switch {
	case a.State == rail.Completed && p.Status == Reversed && o.Reference == "":
		return true // another message has reported it
	case a.State == rail.Completed && p.Status == Reversed:
		// Each movement with a reference of the bank is processed once, so this is another movement.
		c.contradict(a, fmt.Sprintf("the bank has returned attempt %d once more, as %s", a.Number, o.Reference))
		return false
	case c.notInLedger[p.ID] != "":
		c.contradict(a, fmt.Sprintf("the bank has returned attempt %d, but %s", a.Number, c.notInLedger[p.ID]))
		return false
	case a.State != rail.Completed || p.Status != Completed:
		c.contradict(a, fmt.Sprintf("the bank has returned attempt %d, which was %s", a.Number, a.outcome()))
		return false
	}
	c.become(p, Reversed)
	p.FailureCode, p.FailureReason, p.FailureText = string(o.Reason().Failure), o.Code, o.Text
	c.addEvent(audit.PayoutReversed, p, Completed, "The payout came back: %s", why(p))
	if !p.isReserved() {
		return false // its debit is in suspense, too
	}
	c.giveBack = append(c.giveBack, p.reserved())
	return true
}
