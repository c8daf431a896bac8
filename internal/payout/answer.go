package payout

import (
	"cmp"
	"fmt"

	"bursar/internal/audit"
	"bursar/internal/rail"
)

// Contradicted marks a payout whose answers from its rail conflict, or whose bank booking differs from what was to be paid.
const Contradicted = "contradicted"

// firstAsk and lastAsk bound the delay before a rail is asked again, in milliseconds.
const firstAsk, lastAsk = 2 * 1000, 5 * 60 * 1000

// decisive reports whether an answer ends an attempt.
func decisive(o rail.Outcome) bool { return o.State == rail.Completed || o.State == rail.Rejected }

// stale reports whether an answer is older than what the store knows: the attempt was submitted again after it, or people have determined
// the same.
func (a *attempt) stale(o rail.Outcome, about int64, duplicate bool) bool {
	switch o.State {
	case rail.Unknown:
		return about < a.Submission && !duplicate
	case rail.NotReceived:
		return about < a.Submission
	case rail.Rejected:
		return about < a.Submission && about <= a.NotPaid
	}
	return false
}

// decide applies an answer about an attempt.
func (c *change) decide(a *attempt, o rail.Outcome) {
	about, duplicate := cmp.Or(int64(o.Submission), a.Submission), o.IsDuplicate()
	if duplicate {
		o.State, about = rail.Unknown, unidentified // it may have been paid
	}
	if a.stale(o, about, duplicate) {
		return
	}
	p := a.payout
	received := o.State == rail.Accepted || o.State == rail.Completed || duplicate
	if a.waits() && (received || o.State == rail.Rejected) {
		c.become(p, Processing) // the rail has it after all, and it was not submitted again
		c.unhold(p)
		a.State = rail.Unknown
	}
	if !a.open() {
		if duplicate && a.State == rail.NotReceived {
			c.contradict(a, fmt.Sprintf("%s calls attempt %d a duplicate, which was %s", p.Rail, a.Number, a.outcome()))
		}
		c.late(a, o)
		return
	}
	c.attempts[a.ID] = a
	a.Code, a.Text, a.AnsweredAt = o.Code, o.Text, c.now
	a.Reference = cmp.Or(o.Reference, a.Reference)
	other := a.Accepted != 0 && a.Accepted != about // another submission was acknowledged
	if received {
		a.acknowledge(about)
		a.Submission = max(a.Submission, about) // a restored store does not have it
	}
	c.apply(a, o, about, other)
}

// apply applies an answer about a submission of an open attempt. other reports whether the rail had acknowledged another submission.
func (c *change) apply(a *attempt, o rail.Outcome, about int64, other bool) {
	p, wrong := a.payout, c.notInLedger[a.payout.ID]
	switch {
	case wrong != "" && decisive(o):
		c.undecided(a, fmt.Sprintf("%s says that attempt %d is %s, but %s", p.Rail, a.Number, o.State, wrong))
	case o.State == rail.Completed:
		if about < a.Submission {
			c.contradict(a, fmt.Sprintf("%s has paid submission %d of attempt %d, but a later submission was sent, too", p.Rail, about, a.Number))
		}
		c.completed(a)
	case o.State == rail.Rejected && (about != a.Submission || other):
		c.undecided(a, fmt.Sprintf("%s has rejected submission %d of attempt %d, but may have paid another submission", p.Rail, about, a.Number))
	case o.State == rail.Rejected:
		a.State = rail.Rejected
		if o.Reason().FloatShort {
			c.floatShort = append(c.floatShort, a)
		}
		c.failed(p, string(o.Reason().Failure), o.Code, o.Text)
	case o.State == rail.NotReceived && a.Accepted != 0:
		c.undecided(a, fmt.Sprintf("%s had received attempt %d, but no longer finds it", p.Rail, a.Number))
	case o.State == rail.NotReceived:
		a.State, a.Submission = rail.NotReceived, max(a.Submission, about)
		c.become(p, Pending)
		p.SendAt = c.rails.next(p)
		c.clearAttention(p)
		c.addEvent(audit.PayoutNotReceived, p, Processing, "%s has not received attempt %d of the payout: it will be submitted again", p.Rail, a.Number)
	case o.State == rail.Accepted && about < a.Submission:
		c.undecided(a, fmt.Sprintf("%s has received submission %d of attempt %d, but a later submission was sent, too", p.Rail, about, a.Number))
	case o.State == rail.Accepted:
		a.State, a.AskAt = rail.Accepted, c.askAgain(a)
		if !c.overdue(a, "it has received the payment") && !p.recovered() {
			c.clearAttention(p)
		}
	default:
		if a.State == sending {
			c.addEvent(audit.PayoutUnknown, p, Processing, "The outcome of attempt %d of the payout is unknown: %s is asked", a.Number, p.Rail)
			c.events[len(c.events)-1].Changes.Add("attempt", string(sending), string(rail.Unknown))
		}
		a.State, a.AskAt = rail.Unknown, c.askAgain(a)
		c.overdue(a, "it may have received the payment")
	}
}

// overdue reports whether the rail should have decided by now. The payout needs attention then.
func (c *change) overdue(a *attempt, what string) bool {
	p := a.payout
	if c.now < c.rails.answerBy(p, a.ClaimedAt) {
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
	a.State, a.AskAt = rail.Unknown, c.askAgain(a)
	if a.payout.Attention != Contradicted {
		c.contradict(a, how)
	}
}

// askAgain returns when a rail is asked again. The delay grows each time, but one look-up is due when the rail should have decided.
func (c *change) askAgain(a *attempt) int64 {
	again := c.now + min(int64(firstAsk)<<min(a.Asked, 20), lastAsk)
	a.Asked++
	if deadline := c.rails.answerBy(a.payout, a.ClaimedAt); c.now < deadline {
		return min(again, deadline)
	}
	return again
}

// late applies an answer about an attempt that has ended.
func (c *change) late(a *attempt, o rail.Outcome) {
	if o.State == a.State && a.Reference == "" && o.Reference != "" {
		c.attempts[a.ID] = a
		a.Reference = o.Reference // the outcome was reported before, without a reference
	}
	switch {
	case o.State == a.State, o.State == rail.Unknown, o.State == rail.Accepted && (a.State != rail.NotReceived || a.Resolved != "" && a.Accepted != 0):
		return // nothing new
	case a.State == rail.NotReceived && o.State == rail.Rejected, a.State == rail.Rejected && o.State == rail.NotReceived:
		return // either way, nothing was paid
	}
	c.contradict(a, fmt.Sprintf("%s says that attempt %d is %s, which was %s", a.payout.Rail, a.Number, o.State, a.outcome()))
}
