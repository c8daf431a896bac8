package payout

import (
	"context"
	"slices"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/rail"
)

// A store that was restored from an archive does not know what was sent after the moment of the archive.
// So it starts with its rails stopped: nothing is claimed, on any node. Every payout that is not final is
// in payout_recall until it was looked up at its rail. That is possible because end-to-end ids follow from
// the payout and the number of the attempt:
//
//   - A processing payout waits for the answer about its attempt, as usual. If its rail has received that attempt, the
//     next attempts are looked up.
//   - For any other payout, its last attempt and the next ones are looked up at all rails of its mode. The last attempt
//     may have been submitted again. A person may change the payout meanwhile: publish it, retry it, choose another rail, or
//     cancel it. An attempt that its rail has makes a pending payout processing, with that attempt. A payout that
//     cannot go on with an attempt, because no money is reserved for it or the attempt was rejected before, needs
//     attention (contradicted). So it cannot be sent again; the attempt is stored. These look-ups leave no tombstones:
//     nothing is sent while the rails are stopped.
//
// Until all of them were looked up, notices that rails send unasked are not processed either. The notice of
// an attempt that the store does not know yet would go to suspense. Failed payouts are looked up as well,
// since they may have been retried after the moment. Payouts that the store does not know at all are in unknown.go.

const (
	// stoppedSetting is the setting that stops all rails. Its value is the reason.
	stoppedSetting = "rails_stopped"
	// recallAhead is how many later attempts are looked up that may have been made after the moment of the archive. A rejected and retried
	// attempt is followed by another, so the first is not enough.
	recallAhead = 5
)

// Recall looks up payments that may have been sent after the moment of an archive. trusted says whether the records of all connectors can
// be read. lookUp asks a rail, outside any transaction.
func (s *Sending) Recall(ctx context.Context, trusted bool, lookUp func(ctx context.Context, r *rail.Rail, list []rail.Payment) []Answer) (worked bool, err error) {
	stopped, _, err := s.Stopped(ctx)
	if err != nil || !stopped {
		return false, err
	}
	worked, err = s.readRecords(ctx, trusted)
	if err != nil {
		s.log.Error("what the rails have sent was not compared with the restored store, and will be", "error", err.Error())
	}
	for after := ""; ; {
		var list []*Payout
		last := map[string]*attempt{} // their last attempts, by what lookUpNext needs
		err := s.db.Read(ctx, func(q db.Q) error {
			return q.Each(func(r db.Rows) error {
				p := readSent(r)
				list = append(list, p)
				last[p.ID] = &attempt{Number: p.Attempts, State: rail.State(r.Text(sentRow.Count)), NotPaid: r.Int(sentRow.Count + 1), Submission: r.Int(sentRow.Count + 2)}
				return nil
			}, `SELECT `+sentRow.Columns+`, (SELECT a.state FROM payout_attempt a WHERE a.payout_id = payout.id AND a.number = payout.attempts),
				(SELECT a.not_paid FROM payout_attempt a WHERE a.payout_id = payout.id AND a.number = payout.attempts),
				(SELECT a.submission FROM payout_attempt a WHERE a.payout_id = payout.id AND a.number = payout.attempts)
				FROM payout_recall r JOIN payout ON payout.id = r.payout_id WHERE r.payout_id > $1 ORDER BY r.payout_id LIMIT 100`, after)
		})
		if err != nil || len(list) == 0 {
			return worked, err
		}
		after = list[len(list)-1].ID
		list = slices.DeleteFunc(list, func(p *Payout) bool { return p.Status == Processing && last[p.ID].State != rail.Accepted }) // ask looks these up
		found := s.lookUpNext(ctx, list, last, lookUp)
		for _, p := range list {
			did, err := s.recalled(ctx, p, found[p.ID])
			worked = worked || did
			if err != nil {
				return worked, err
			}
		}
	}
}

// numbered is a rail's answer about an attempt or a submission that the store does not have.
type numbered struct {
	rail    *rail.Rail
	number  int64
	again   bool // it is a further submission of an attempt that was rejected
	outcome rail.Outcome
}

// mayBePaid reports whether a rail has received the attempt. One that it calls a duplicate was received before.
func (n numbered) mayBePaid() bool {
	return n.outcome.State != rail.Rejected || n.outcome.IsDuplicate()
}

// lookUpNext looks up the attempts that would have come next, and one that would have been submitted again. A payout that no rail can look
// up gets one answer: unknown.
func (s *Sending) lookUpNext(ctx context.Context, list []*Payout, last map[string]*attempt, lookUp func(context.Context, *rail.Rail, []rail.Payment) []Answer) map[string][]numbered {
	found := map[string][]numbered{}
	byRail := map[*rail.Rail][]rail.Payment{}
	for _, p := range list {
		if p.Status == Completed || p.Status == Reversed {
			continue
		}
		rails := s.mayHave(p)
		if len(rails) == 0 || p.Rail != "" && s.rails.Named(p.Rail, p.sandbox()) == nil {
			found[p.ID] = []numbered{{outcome: rail.Outcome{State: rail.Unknown}}}
		}
		to, _ := number(s.vault, *p) // a rail finds it by the end-to-end id
		first := max(1, p.Attempts)
		if p.Status == Processing {
			first = p.Attempts + 1 // its last attempt is looked up like any open one
		}
		for _, r := range rails {
			for number := first; number <= p.Attempts+recallAhead; number++ {
				asked := &attempt{Number: number, CreatedAt: p.CreatedAt}
				if was := last[p.ID]; number == was.Number {
					if asked.NotPaid = was.NotPaid; was.State == rail.Rejected {
						asked.NotPaid = max(was.NotPaid, was.Submission) // only a later submission is new
					}
				}
				byRail[r] = append(byRail[r], p.payment(asked, to))
			}
		}
	}
	for r, payments := range byRail {
		for i, a := range lookUp(ctx, r, payments) {
			if a.Outcome.State != rail.NotReceived {
				p := payments[i]
				was := last[p.PayoutID]
				again := was.State == rail.Rejected && was.Number == int64(p.Attempt)
				found[p.PayoutID] = append(found[p.PayoutID], numbered{r, int64(p.Attempt), again, a.Outcome})
			}
		}
	}
	return found
}

// mayHave returns the rails that may have been used for a payout: its own, and one of each other connector of its mode. Its rail may have
// been another one, and a connector answers for all of its rails.
func (s *Sending) mayHave(p *Payout) (list []*rail.Rail) {
	add := func(r *rail.Rail) {
		asked := slices.ContainsFunc(list, func(other *rail.Rail) bool { return other.Connector == r.Connector })
		if r.Sandbox() == p.sandbox() && !asked {
			list = append(list, r)
		}
	}
	if own := s.rails.Named(p.Rail, p.sandbox()); own != nil {
		add(own)
	}
	for _, r := range s.rails.All() {
		add(r)
	}
	return list
}

// recalled stores the answers of rails about a payout, and reports whether they settled it.
func (s *Sending) recalled(ctx context.Context, was *Payout, found []numbered) (settled bool, err error) {
	if slices.ContainsFunc(found, func(n numbered) bool { return n.outcome.State == rail.Unknown }) {
		return false, nil // it is looked up again
	}
	return db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) (bool, audit.Event, error) {
		none := audit.None("a rail has told nothing new")
		var p *Payout
		err := tx.Each(func(r db.Rows) error {
			p = readSent(r)
			return nil
		}, tx.ForUpdate(`SELECT `+sentRow.Columns+` FROM payout WHERE id = $1`), was.ID)
		if err != nil || p == nil || p.Status != was.Status || p.Attempts != was.Attempts {
			return false, none, err // it has changed, and is looked up again
		}
		if err := tx.Exec(`DELETE FROM payout_recall WHERE payout_id = $1`, p.ID); err != nil {
			return false, none, err
		}
		c := newChange(s.now(), s)
		if err := s.adopt(tx, c, p, found); err != nil {
			return false, none, err
		}
		return true, c.event(), c.store(tx, s.rules)
	})
}

// adopt takes over attempts that rails have and the store does not.
func (s *Sending) adopt(tx *db.Tx, c *change, p *Payout, found []numbered) error {
	var last numbered
	paid := 0 // attempts that may have been paid
	for _, n := range found {
		if n.number > last.number {
			last = n
		}
		if n.mayBePaid() {
			paid++
		}
	}
	switch {
	case len(found) == 0:
		return nil
	case (p.Status == Pending || p.Status == Processing) && !last.again && last.rail.Name == p.Rail && (paid == 0 || paid == 1 && last.mayBePaid()):
		return s.proceed(tx, c, p, last)
	case paid > 0:
		c.touch(p)
		c.unhold(p)
		if err := c.record(tx, p, last); err != nil {
			return err
		}
		p.Attention, p.UpdatedAt = Contradicted, c.now
		c.addEvent(audit.PayoutAttention, p, p.Status, "The payout needs attention: %s has attempt %d, which was sent after the moment of the archive", last.rail.Name, last.number)
		s.log.Error("a rail has a payout that the restored store has not sent", "payout", p.ID, "rail", last.rail.Name, "attempt", last.number)
	}
	return nil
}

// record stores the attempts of a payout that rails have and the store does not. So people resolve the last one, and a retry
// submits that one again if it was not paid. The last attempt of a processing payout is open.
func (c *change) record(tx *db.Tx, p *Payout, last numbered) error {
	if last.number <= p.Attempts {
		return nil
	}
	if err := c.supersede(tx, p); err != nil {
		return err
	}
	for n := p.Attempts + 1; n <= last.number; n++ {
		state, submission := rail.Rejected, int64(1) // otherwise there would be no later attempt
		if n == last.number {
			submission = int64(max(1, last.outcome.Submission))
			if state = rail.NotReceived; p.Status == Processing {
				state = rail.Unknown
			}
		}
		if err := storeReceived(tx, &attempt{Number: n, EndToEndID: EndToEndID(p.ID, n), State: state, ClaimedAt: p.UpdatedAt, Submission: submission, payout: p}); err != nil {
			return err
		}
	}
	p.Attempts = last.number
	return nil
}

// storeReceived stores an attempt that a rail has received and the store has not made.
func storeReceived(tx *db.Tx, a *attempt) error {
	a.AskAt, a.CreatedAt, a.Accepted = tx.Now(), a.ClaimedAt, a.Submission
	return a.insert(tx)
}

// supersede ends the last attempt of a processing payout of which a rail has a later one: it was rejected, or there would be none.
func (c *change) supersede(tx *db.Tx, p *Payout) error {
	if p.Status != Processing {
		return nil
	}
	known, err := findAttempts(tx.Q, []any{EndToEndID(p.ID, p.Attempts)}, tx.ForUpdate)
	for _, a := range known {
		if a.open() {
			a.payout, a.State, a.AnsweredAt, a.Text = p, rail.Rejected, c.now, "a later attempt was sent after the moment of the archive"
			c.attempts[a.ID] = a
		}
	}
	return err
}

// proceed lets a pending payout, or one that is processing with an earlier attempt, go on with an attempt that its rail has.
func (s *Sending) proceed(tx *db.Tx, c *change, p *Payout, found numbered) error {
	const what = "%s has attempt %d of the payout, which was sent after the moment of the archive: it is asked about"
	if found.number == p.Attempts { // the rail had not received it before; for a processing payout only later attempts are looked up
		known, err := findAttempts(tx.Q, []any{EndToEndID(p.ID, p.Attempts)}, tx.ForUpdate)
		for _, a := range known {
			a.payout = p
			if err := c.compare(tx, []*attempt{a}); err != nil {
				return err
			}
			c.addEvent(audit.PayoutUnknown, p, Pending, what, p.Rail, found.number)
			c.decide(a, found.outcome)
		}
		return err
	}
	before, accepted := p.UpdatedAt, int64(0)
	submission := int64(max(1, found.outcome.Submission))
	switch {
	case found.outcome.Reason().Duplicate:
		accepted = unidentified
	case found.mayBePaid():
		accepted = submission
	}
	if err := c.supersede(tx, p); err != nil {
		return err
	}
	was := p.Status
	c.become(p, Processing)
	c.unhold(p)
	p.Attempts = found.number
	c.addEvent(audit.PayoutUnknown, p, was, what, p.Rail, found.number)
	a := &attempt{Number: found.number, EndToEndID: EndToEndID(p.ID, found.number), State: rail.Unknown, Node: s.node, AskAt: s.now(),
		CreatedAt: before, ClaimedAt: before, Submission: submission, Accepted: accepted, payout: p}
	return a.insert(tx)
}
