package payout

import (
	"fmt"
	"slices"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/ledger"
	"bursar/internal/payout/control"
	"bursar/internal/rail"
)

// change collects the effects of rail answers on attempts, payouts and the ledger. Its methods decide and do not access the store.
type change struct {
	now   int64
	rails schedule

	attempts map[string]*attempt // the changed ones, by id
	payouts  map[string]*Payout
	was      map[string]string // the states in the rows of payouts
	marked   map[string]bool   // payouts that needed attention before, and that people may be about to resolve

	complete, settle, giveBack []ledger.Reserved
	release, pay, reopen       []*Payout
	notInLedger                map[string]string // how the ledger contradicts the rows of payouts: their money is not moved
	unheld                     []*Payout         // payouts whose hold has ended
	forged                     []ledger.Reserved // released instead of the amount in the row of a payout
	events                     []audit.Event
	floatShort                 []*attempt // rejected because our own account with the bank is short
	contradicted               []*attempt
}

// schedule contains the times of the rails of payouts.
type schedule interface {
	next(p *Payout) int64                 // when a payout that is ready now is sent
	answerBy(p *Payout, sent int64) int64 // when the outcome of a payout sent at a given time must be known
}

func newChange(now int64, rails schedule) *change {
	return &change{now: now, rails: rails, attempts: map[string]*attempt{}, payouts: map[string]*Payout{}, was: map[string]string{}, marked: map[string]bool{}, notInLedger: map[string]string{}}
}

// compare compares payouts with the ledger before answers that may move their money are decided. A row that was changed in the store after
// its payout was sent moves no money.
func (c *change) compare(tx *db.Tx, list []*attempt) error {
	if len(list) == 0 {
		return nil
	}
	ids := make([]any, len(list))
	for n, a := range list {
		ids[n] = a.payout.ID
	}
	held, err := ledger.Held(tx.Q, tx.Integrity(), ids)
	if err != nil {
		return fmt.Errorf("compare payouts with the ledger: %w", err)
	}
	for _, a := range list {
		if why := a.payout.notInLedger(tx.Integrity(), held[a.payout.ID]); why != "" {
			c.notInLedger[a.payout.ID] = why
		}
	}
	return nil
}

// touch records that a payout will be stored.
func (c *change) touch(p *Payout) {
	if c.payouts[p.ID] == nil {
		c.payouts[p.ID], c.was[p.ID], c.marked[p.ID] = p, p.Status, p.Attention != ""
	}
}

// become moves a payout to a state.
func (c *change) become(p *Payout, status string) {
	c.touch(p)
	p.Status, p.UpdatedAt = status, c.now
	p.EndedAt = 0
	if status != Pending && status != Processing {
		p.EndedAt = c.now
	}
}

// addEvent adds an audit row about a payout that has its new state already.
func (c *change) addEvent(action audit.Action, p *Payout, before, format string, args ...any) {
	event := audit.Event{Action: action, WorkspaceID: p.WorkspaceID, ResourceID: p.ID, Description: fmt.Sprintf(format, args...)}
	event.Changes.Add("status", before, p.Status)
	c.events = append(c.events, event)
}

// completed ends an open attempt: the payee has the money.
func (c *change) completed(a *attempt) {
	p := a.payout
	c.attempts[a.ID] = a
	a.State, a.AnsweredAt = rail.Completed, c.now
	c.become(p, Completed)
	c.clearAttention(p)
	p.FailureCode, p.FailureReason, p.FailureText = "", "", ""
	if p.isReserved() {
		c.complete = append(c.complete, p.reserved())
	}
	c.addEvent(audit.PayoutCompleted, p, Processing, "Completed the payout by %s", p.Rail)
}

// failed ends a payout whose money is reserved.
func (c *change) failed(p *Payout, code, reason, text string) {
	before := p.Status
	if p.isReserved() {
		c.release = append(c.release, p)
	}
	c.become(p, Failed)
	c.clearAttention(p)
	p.FailureCode, p.FailureReason, p.FailureText = code, reason, text
	c.addEvent(audit.PayoutFailed, p, before, "The payout failed: %s", why(p))
	c.events[len(c.events)-1].Outcome = audit.Failure
}

// why returns in one line why a payout failed or was returned.
func why(p *Payout) string {
	text := p.FailureCode
	for _, more := range []string{p.FailureReason, p.FailureText} {
		if more != "" {
			text += ", " + more
		}
	}
	return text
}

// clearAttention clears the attention of a payout whose outcome was unknown or that was held: its outcome is known.
func (c *change) clearAttention(p *Payout) {
	if p.Attention == OutcomeUnknown || p.Attention == Recheck {
		c.touch(p)
		c.unhold(p)
		p.Attention, p.UpdatedAt = "", c.now
	}
}

// unhold ends the hold of a payout that the rail has received after all.
func (c *change) unhold(p *Payout) {
	if p.Attention == Recheck {
		c.touch(p)
		c.unheld = append(c.unheld, p)
		p.Attention = ""
	}
}

// contradict records that a rail's answers about an attempt conflict. It moves no money.
func (c *change) contradict(a *attempt, how string) {
	p := a.payout
	c.touch(p)
	c.unhold(p)
	p.Attention, p.UpdatedAt = Contradicted, c.now
	c.addEvent(audit.PayoutAttention, p, p.Status, "The payout needs attention: %s", how)
	c.contradicted = append(c.contradicted, a)
}

// event returns the audit rows of a change.
func (c *change) event() audit.Event {
	if len(c.events) == 0 {
		return audit.None("a rail has told nothing new")
	}
	return audit.All(c.events...)
}

// store writes the change: attempts and payouts, whose rows the transaction has locked, and then the ledger. Failed payouts are removed
// from the limits.
func (c *change) store(tx *db.Tx, rules *control.Service) error {
	for _, a := range c.attempts {
		if err := decidedAttempt.Update(tx, a.ID, a, string(a.stored)); err != nil {
			return err
		}
	}
	for id, p := range c.payouts {
		if err := answeredRow.Update(tx, id, p, c.was[id]); err != nil {
			return err
		}
	}
	if err := c.voidResolutions(tx); err != nil {
		return err
	}
	for _, p := range c.unheld {
		if err := endHold(tx, db.SystemCaller(), *p, "its rail has answered"); err != nil {
			return err
		}
	}
	for _, p := range slices.Concat(c.release, c.reopen) {
		if p.recovered() {
			continue // no limit has counted it
		}
		if err := rules.GiveBack(tx, p.spending()); err != nil {
			return err
		}
	}
	for _, p := range c.pay {
		if err := rules.CountPaid(tx, p.spending()); err != nil {
			return err
		}
	}
	return ledger.End(tx, ledger.Ends{Released: append(reservedFor(c.release), c.forged...), Completed: c.complete, Settled: c.settle, Returned: c.giveBack,
		Paid: reservedFor(c.pay), Reopened: reservedFor(c.reopen)})
}
