package payout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/ledger"
	"bursar/internal/rail"
)

// sending is the state of an attempt that is stored and may have been sent. The other states are
// those of package rail.
const sending rail.State = "sending"

// Contradicted marks a payout whose answers from its rail conflict, or whose bank booking differs from what was to be paid.
const Contradicted = "contradicted"

// firstAsk and lastAsk bound the delay before a rail is asked again, in milliseconds.
const firstAsk, lastAsk = 2 * 1000, 5 * 60 * 1000

// attempt is one sending of a payout.
type attempt struct {
	id         string
	number     int64
	endToEndID string
	state      rail.State
	code       string
	text       string
	reference  string
	askAt      int64
	asked      int64
	createdAt  int64
	claimedAt  int64 // when the newest submission was claimed
	answeredAt int64
	submission int64
	accepted   int64  // the lowest submission that the rail has acknowledged; 0: none, unidentified: one without a known number
	settledAt  int64  // when a statement of the bank has shown it; 0 before
	settledAs  string // the names of the movement there, one per line
	resolved   string // what people have determined about the newest submission
	notPaid    int64  // the highest submission that people have determined not to be paid; 0: none

	payout *Payout
	stored rail.State // the state in the row
	was    standing   // what the row implies
}

// unidentified is an acknowledged submission whose number is unknown: the rail has called a later one a duplicate.
const unidentified = -1

// open reports whether the attempt has not ended.
func (a *attempt) open() bool { return isOpen(a.state) }

func isOpen(state rail.State) bool {
	return state == sending || state == rail.Accepted || state == rail.Unknown
}

// acknowledge records that the rail has received a submission.
func (a *attempt) acknowledge(submission int64) {
	if a.accepted == 0 || submission < a.accepted {
		a.accepted = submission
	}
}

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

// decisive reports whether an answer ends an attempt.
func decisive(o rail.Outcome) bool { return o.State == rail.Completed || o.State == rail.Rejected }

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

// decide applies an answer about an attempt.
func (c *change) decide(a *attempt, o rail.Outcome) {
	about := cmp.Or(int64(o.Submission), a.submission)
	duplicate := o.State == rail.Rejected && rail.Duplicate(o.Code)
	if duplicate {
		o.State, about = rail.Unknown, unidentified // it may have been paid
	}
	if about < a.submission && (o.State == rail.Unknown && !duplicate || o.State == rail.NotReceived) {
		return // stale: the attempt was submitted again after that answer
	}
	if o.State == rail.Rejected && about < a.submission && about <= a.notPaid {
		return // people have determined the same
	}
	p := a.payout
	if a.waits() && (o.State == rail.Accepted || o.State == rail.Completed || o.State == rail.Rejected || duplicate) {
		c.become(p, Processing) // the rail has it after all, and it was not submitted again
		c.unhold(p)
		a.state = rail.Unknown
	}
	if !a.open() {
		if duplicate && a.state == rail.NotReceived {
			c.contradict(a, fmt.Sprintf("%s calls attempt %d a duplicate, which was %s", p.Rail, a.number, a.outcome()))
		}
		c.late(a, o)
		return
	}
	first := a.state == sending
	c.attempts[a.id] = a
	a.code, a.text, a.answeredAt = o.Code, o.Text, c.now
	a.reference = cmp.Or(o.Reference, a.reference)
	other := a.accepted != 0 && a.accepted != about // another submission was acknowledged
	if o.State == rail.Accepted || o.State == rail.Completed || duplicate {
		a.acknowledge(about)
		a.submission = max(a.submission, about) // a restored store does not have it
	}
	wrong := c.notInLedger[p.ID]
	switch {
	case wrong != "" && decisive(o):
		c.undecided(a, fmt.Sprintf("%s says that attempt %d is %s, but %s", p.Rail, a.number, o.State, wrong))
	case o.State == rail.Completed:
		if about < a.submission {
			c.contradict(a, fmt.Sprintf("%s has paid submission %d of attempt %d, but a later submission was sent, too", p.Rail, about, a.number))
		}
		c.completed(a)
	case o.State == rail.Rejected && (about != a.submission || other):
		c.undecided(a, fmt.Sprintf("%s has rejected submission %d of attempt %d, but may have paid another submission", p.Rail, about, a.number))
	case o.State == rail.Rejected:
		a.state = rail.Rejected
		if o.Code == "AM04" {
			c.floatShort = append(c.floatShort, a)
		}
		c.failed(p, string(rail.FailureCode(o.Code)), o.Code, o.Text)
	case o.State == rail.NotReceived && a.accepted != 0:
		c.undecided(a, fmt.Sprintf("%s had received attempt %d, but no longer finds it", p.Rail, a.number))
	case o.State == rail.NotReceived:
		a.state, a.submission = rail.NotReceived, max(a.submission, about)
		c.become(p, Pending)
		p.SendAt = c.rails.next(p)
		c.clearAttention(p)
		c.addEvent(audit.PayoutNotReceived, p, Processing, "%s has not received attempt %d of the payout: it will be submitted again", p.Rail, a.number)
	case o.State == rail.Accepted && about < a.submission:
		c.undecided(a, fmt.Sprintf("%s has received submission %d of attempt %d, but a later submission was sent, too", p.Rail, about, a.number))
	case o.State == rail.Accepted:
		a.state, a.askAt = rail.Accepted, c.askAgain(a)
		if !c.overdue(a, "it has received the payment") && !p.recovered() {
			c.clearAttention(p)
		}
	default:
		a.state, a.askAt = rail.Unknown, c.askAgain(a)
		if first {
			c.addEvent(audit.PayoutUnknown, p, Processing, "The outcome of attempt %d of the payout is unknown: %s is asked", a.number, p.Rail)
			c.events[len(c.events)-1].Changes.Add("attempt", string(sending), string(rail.Unknown))
		}
		c.overdue(a, "it may have received the payment")
	}
}

// overdue reports whether the rail should have decided by now. The payout needs attention then.
func (c *change) overdue(a *attempt, what string) bool {
	p := a.payout
	if c.now < c.rails.answerBy(p, a.claimedAt) {
		return false
	}
	if p.Attention == "" {
		c.touch(p)
		p.Attention, p.UpdatedAt = OutcomeUnknown, c.now
		c.addEvent(audit.PayoutAttention, p, p.Status, "The payout needs attention: %s has not answered in time; %s", p.Rail, what)
	}
	return true
}

// undecided keeps an attempt open whose answer contradicts an earlier one. If the rail repeats the answer, attention is raised only once.
func (c *change) undecided(a *attempt, how string) {
	a.state, a.askAt = rail.Unknown, c.askAgain(a)
	if a.payout.Attention != Contradicted {
		c.contradict(a, how)
	}
}

// askAgain returns when a rail is asked again. The delay grows each time, but one look-up is due when the rail should have decided.
func (c *change) askAgain(a *attempt) int64 {
	again := c.now + min(int64(firstAsk)<<min(a.asked, 20), lastAsk)
	a.asked++
	if deadline := c.rails.answerBy(a.payout, a.claimedAt); c.now < deadline {
		return min(again, deadline)
	}
	return again
}

// completed ends an open attempt: the payee has the money.
func (c *change) completed(a *attempt) {
	p := a.payout
	c.attempts[a.id] = a
	a.state, a.answeredAt = rail.Completed, c.now
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

// late applies an answer about an attempt that has ended.
func (c *change) late(a *attempt, o rail.Outcome) {
	if o.State == a.state && a.reference == "" && o.Reference != "" {
		c.attempts[a.id] = a
		a.reference = o.Reference // the outcome was reported before, without a reference
	}
	switch {
	case o.State == a.state, o.State == rail.Unknown, o.State == rail.Accepted && (a.state != rail.NotReceived || a.resolved != "" && a.accepted != 0):
		return // nothing new
	case a.state == rail.NotReceived && o.State == rail.Rejected, a.state == rail.Rejected && o.State == rail.NotReceived:
		return // either way, nothing was paid
	}
	c.contradict(a, fmt.Sprintf("%s says that attempt %d is %s, which was %s", a.payout.Rail, a.number, o.State, a.outcome()))
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

// ofAnotherAmount reports whether a movement differs from the amount or currency of its attempt, for example because the bank
// added or deducted a fee. The payout is contradicted then.
func (c *change) ofAnotherAmount(a *attempt, n rail.Notice, want int64) bool {
	p := a.payout
	if n.Amount == want && n.Currency == p.Currency {
		return false
	}
	c.contradict(a, fmt.Sprintf("the bank has booked %s for attempt %d, not %s", api.FormatAmount(n.Amount, n.Currency), a.number, api.FormatAmount(want, p.Currency)))
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
	case a.settledAt != 0 && otherMovement(a.settledAs, n.Movement):
		c.contradict(a, fmt.Sprintf("the bank has debited attempt %d twice, as %s and as %s", a.number, strings.ReplaceAll(a.settledAs, "\n", ", "), n.Movement))
		return false
	case a.settledAt != 0: // another message has shown it
		if !hasLine(a.settledAs, n.Movement) {
			c.attempts[a.id] = a
			a.settledAs = strings.TrimPrefix(a.settledAs+"\n"+n.Movement, "\n")
		}
		return true
	case a.state != rail.Completed:
		c.contradict(a, fmt.Sprintf("the bank has paid attempt %d, which was %s", a.number, a.outcome()))
		return false
	}
	c.attempts[a.id] = a
	a.settledAt, a.settledAs, a.reference = c.now, n.Movement, cmp.Or(a.reference, reference)
	if !p.isReserved() {
		c.contradict(a, fmt.Sprintf("the bank has debited attempt %d, for which no money is reserved since the store was restored", a.number))
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
	case a.state == rail.Completed && p.Status == Reversed && o.Reference == "":
		return true // another message has reported it
	case a.state == rail.Completed && p.Status == Reversed:
		// Each movement with a reference of the bank is processed once, so this is another movement.
		c.contradict(a, fmt.Sprintf("the bank has returned attempt %d once more, as %s", a.number, o.Reference))
		return false
	case c.notInLedger[p.ID] != "":
		c.contradict(a, fmt.Sprintf("the bank has returned attempt %d, but %s", a.number, c.notInLedger[p.ID]))
		return false
	case a.state != rail.Completed || p.Status != Completed:
		c.contradict(a, fmt.Sprintf("the bank has returned attempt %d, which was %s", a.number, a.outcome()))
		return false
	}
	c.become(p, Reversed)
	p.FailureCode, p.FailureReason, p.FailureText = string(rail.FailureCode(o.Code)), o.Code, o.Text
	c.addEvent(audit.PayoutReversed, p, Completed, "The payout came back: %s", why(p))
	if !p.isReserved() {
		return false // its debit is in suspense, too
	}
	c.giveBack = append(c.giveBack, p.reserved())
	return true
}

const attemptColumns = `a.id, a.number, a.end_to_end_id, a.state, a.code, a.text, a.reference, a.ask_at, a.asked, a.created_at, a.answered_at, a.settled_at, a.settled_as,
		a.submission, a.claimed_at, a.accepted, a.resolved, a.not_paid`

func readAttempt(r db.Rows, from int) *attempt {
	a := &attempt{
		id: r.Text(from), number: r.Int(from + 1), endToEndID: r.Text(from + 2), state: rail.State(r.Text(from + 3)), code: r.Text(from + 4), text: r.Text(from + 5),
		reference: r.Text(from + 6), askAt: r.Int(from + 7), asked: r.Int(from + 8), createdAt: r.Int(from + 9), answeredAt: r.Int(from + 10), settledAt: r.Int(from + 11), settledAs: r.Text(from + 12),
		submission: r.Int(from + 13), claimedAt: r.Int(from + 14), accepted: r.Int(from + 15), resolved: r.Text(from + 16), notPaid: r.Int(from + 17),
	}
	a.stored, a.was = a.state, a.standing()
	return a
}

// findAttempts reads attempts by their end-to-end ids, with their payouts. Within a transaction, lock locks both until its end.
func findAttempts(q db.Q, endToEndIDs []any, lock func(sql string) string) (map[string]*attempt, error) {
	sql := db.NewStatement(`SELECT ` + sentRow.Columns + `, ` + attemptColumns + ` FROM payout_attempt a JOIN payout ON payout.id = a.payout_id WHERE a.end_to_end_id`)
	sql.AddList(` IN (`, endToEndIDs)
	sql.Add(lock(` ORDER BY payout.id, a.number`)) // in the order of payouts, so that two transactions that lock them do not wait for each other
	found, payouts := map[string]*attempt{}, map[string]*Payout{}
	err := q.EachOf(sql, func(r db.Rows) error {
		a := readAttempt(r, sentRow.Count)
		found[a.endToEndID] = a
		if a.payout = payouts[r.Text(0)]; a.payout == nil {
			a.payout = readSent(r)
			payouts[a.payout.ID] = a.payout
		}
		return nil
	})
	return found, err
}

// store writes the change: attempts and payouts, whose rows the transaction has locked, and then the ledger. Failed payouts are removed
// from the limits.
func (c *change) store(tx *db.Tx, rules *Rules) error {
	for _, a := range c.attempts {
		if err := tx.Exec(`UPDATE payout_attempt SET state = $3, code = $4, text = $5, reference = $6, ask_at = $7, asked = $8, answered_at = $9, settled_at = $10, settled_as = $11, submission = $12, accepted = $13,
				resolved = $14, not_paid = $15 WHERE id = $1 AND state = $2`,
			a.id, string(a.stored), string(a.state), a.code, a.text, a.reference, a.askAt, a.asked, a.answeredAt, a.settledAt, a.settledAs, a.submission, a.accepted, a.resolved, a.notPaid); err != nil {
			return err
		}
	}
	for id, p := range c.payouts {
		if err := tx.Exec(`UPDATE payout SET status = $3, attention = $4, failure_code = $5, failure_reason = $6, failure_text = $7, attempts = $8, send_at = $9,
				updated_at = $10, ended_at = $11, reserved_at = $12 WHERE id = $1 AND status = $2`,
			id, c.was[id], p.Status, p.Attention, p.FailureCode, p.FailureReason, p.FailureText, p.Attempts, p.SendAt, p.UpdatedAt, p.EndedAt, p.ReservedAt); err != nil {
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
		if err := rules.giveBack(tx, *p); err != nil {
			return err
		}
	}
	for _, p := range c.pay {
		if err := rules.Count(tx, p.spending()); err != nil {
			return err
		}
		if err := rules.recount(tx, *p); err != nil {
			return err
		}
	}
	return ledger.End(tx, ledger.Ends{Released: append(reservedFor(c.release), c.forged...), Completed: c.complete, Settled: c.settle, Returned: c.giveBack,
		Paid: reservedFor(c.pay), Reopened: reservedFor(c.reopen)})
}
