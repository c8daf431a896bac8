package payout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/ledger"
	"bursar/internal/rail"
)

// Claimed are payouts that were claimed together to be submitted.
type Claimed struct {
	At       int64 // when they were claimed
	Count    int
	attempts []*attempt
	hasher   externalHasher
}

// Claim makes payouts that are due on a rail processing. Each gets a new attempt, or the next submission of its last one. The latter is for
// attempts that the rail has not received, or that people have determined not to be paid. identity returns the trusted identity of the
// record that the rail's connector keeps; it is nil if it keeps none. Claim returns nil if nothing was claimed.
func (s *Sending) Claim(ctx context.Context, r *rail.Rail, identity func() string) (*Claimed, error) {
	hasher, err := newExternalHasher(ctx, s.vault)
	if err != nil {
		return nil, err
	}
	list, err := s.claim(ctx, r, identity)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &Claimed{At: list[0].claimedAt, Count: len(list), attempts: list, hasher: hasher}, nil
}

func (s *Sending) claim(ctx context.Context, r *rail.Rail, identity func() string) (claimed []*attempt, err error) {
	var due bool
	err = s.db.Read(ctx, func(q db.Q) error {
		sql := db.NewStatement(``)
		addDue(sql, r, s.now())
		sql.Add(` LIMIT 1`)
		return q.EachOf(sql, func(db.Rows) error {
			due = true
			return nil
		})
	})
	if err != nil || !due {
		return nil, err
	}
	for {
		claimed, err = s.claimDue(ctx, r, identity)
		var unready *unreadyError
		if !errors.As(err, &unready) {
			return claimed, err
		}
		if err := s.vault.Ready(ctx, unready.workspace); err != nil {
			return nil, err
		}
	}
}

// claim contains the payouts that were claimed together, and what happened to the others that were due.
type claim struct {
	*change
	claimed []*attempt
}

// claimDue is claim in one transaction.
func (s *Sending) claimDue(ctx context.Context, r *rail.Rail, identity func() string) ([]*attempt, error) {
	done, err := db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) (c claim, _ audit.Event, err error) {
		none := audit.None("no payout was due")
		now := s.now()
		c.change = newChange(now, nil)
		if trusted, err := stillTrusted(tx, r, identity); err != nil || !trusted {
			return c, none, err
		}
		list, err := claimRows(tx, r, now)
		if err != nil || len(list) == 0 {
			return c, none, err
		}
		lease := now + AttemptLease.Milliseconds()
		var rows [][]any
		releases := map[string]int64{} // by account
		holds, err := s.heldBack(tx.Q, list)
		if err != nil {
			return c, none, err
		}
		for _, p := range list {
			a := p.next
			if code, why := p.stopped(); code != "" {
				if a == nil {
					p.Attempts-- // there is none
				}
				money, forged, err := p.held(tx)
				if err != nil {
					return c, none, err
				}
				a, err := ledger.FindAccount(tx.Q, p.AccountID)
				if err != nil {
					return c, none, err
				}
				state, _, err := p.lastAttempt(tx.Q)
				if err != nil {
					return c, none, err
				}
				releases[p.AccountID] += p.Amount
				if isOpen(state) {
					c.become(p.Payout, Pending)
					c.contradict(&attempt{payout: p.Payout, number: p.Attempts}, fmt.Sprintf("%s has not decided attempt %d", p.Rail, p.Attempts))
					continue
				}
				if forged || money != p.reserved() || a.Reserved < releases[p.AccountID] {
					c.become(p.Payout, Pending)
					c.contradict(&attempt{payout: p.Payout, number: p.Attempts}, "the ledger does not hold its money")
					continue
				}
				c.failed(p.Payout, string(code), "", why)
				continue
			}
			_, subject := p.subjectOf()
			if h, ok := holds[subject]; ok {
				if a == nil {
					p.Attempts-- // there is none
				}
				c.hold(p.Payout, h.why)
				continue
			}
			if a == nil {
				a = &attempt{id: tx.NewID("att"), number: p.Attempts, endToEndID: EndToEndID(p.ID, p.Attempts), createdAt: now}
				rows = append(rows, []any{a.id, p.ID, a.number, a.endToEndID, s.node, lease, now})
				c.addEvent(audit.PayoutSent, p.Payout, Pending, "Sent the payout by %s, attempt %d", r.Name, a.number)
			} else {
				resumed, err := tx.Row(`UPDATE payout_attempt SET state = 'sending', submission = submission + 1, claimed_at = $2, node = $3, ask_at = $4, asked = 0,
						accepted = 0, resolved = '', reference = '' WHERE id = $1 AND state = 'not_received' AND (accepted = 0 OR resolved = 'not_paid') RETURNING id`, a.id, now, s.node, lease).Scan(new(string))
				if err != nil {
					return c, none, err
				}
				if !resumed { // its row was changed in the store
					c.become(p.Payout, Pending)
					a.payout = p.Payout
					c.contradict(a, fmt.Sprintf("attempt %d cannot be submitted again", a.number))
					continue
				}
				c.addEvent(audit.PayoutSent, p.Payout, Pending, "Sent the payout by %s, attempt %d, submission %d", r.Name, a.number, a.submission+1)
			}
			a.state, a.payout, a.submission, a.claimedAt = sending, p.Payout, a.submission+1, now
			c.claimed = append(c.claimed, a)
		}
		if err := tx.InsertRows(`INSERT INTO payout_attempt (id, payout_id, number, end_to_end_id, state, code, text, reference, node, ask_at, asked, created_at, claimed_at, answered_at, settled_at) VALUES `,
			`($1, $2, $3, $4, 'sending', '', '', '', $5, $6, 0, $7, $7, 0, 0)`, rows); err != nil {
			return c, none, err
		}
		if err := c.store(tx, s.rules); err != nil {
			return c, none, err
		}
		news := make([]holding, 0, len(holds))
		for _, subject := range slices.Sorted(maps.Keys(holds)) {
			h, err := s.rules.hold(tx, holds[subject].Payout, holds[subject].why)
			if err != nil {
				return c, none, err
			}
			c.events, news = append(c.events, h.events...), append(news, h)
		}
		return c, audit.All(c.events...), s.rules.mailHeld(tx, db.SystemCaller(), news...)
	})
	if err != nil {
		return nil, err
	}
	s.alarm(done.change)
	return done.claimed, nil
}

// stillTrusted reports whether the record of a rail's connector, if it keeps one, is the one that the store knows. The claim and an
// operator who adopts another record wait for each other.
func stillTrusted(tx *db.Tx, r *rail.Rail, identity func() string) (bool, error) {
	if identity == nil {
		return true, nil
	}
	var known string
	_, err := tx.Row(tx.ForShare(readSetting), recordSetting+r.Connector.Name()).Scan(&known)
	return known != "" && known == identity(), err
}

// held is a payout that is held back, alone or with its batch.
type held struct {
	*Payout
	why []obstacle
}

// heldBack returns the held payouts, by their subjects: a limit or a rule became stricter since they were approved. Stopped payouts fail,
// and hold nothing.
func (s *Sending) heldBack(q db.Q, list []claimable) (map[string]held, error) {
	var subjects []string
	together := map[string][]*Payout{}
	for _, p := range list {
		if code, _ := p.stopped(); code != "" {
			continue
		}
		_, subject := p.subjectOf()
		if together[subject] == nil {
			subjects = append(subjects, subject)
		}
		together[subject] = append(together[subject], p.Payout)
	}
	found := map[string]held{}
	for _, subject := range subjects {
		why, err := s.rules.obstacles(q, together[subject]...)
		if err != nil {
			return nil, err
		}
		if len(why) > 0 {
			found[subject] = held{together[subject][0], why}
		}
	}
	return found, nil
}

// hold keeps a claimed payout pending.
func (c *change) hold(p *Payout, why []obstacle) {
	c.become(p, Pending)
	p.Attention = Recheck
	texts := obstacleTexts(why)
	c.addEvent(audit.PayoutAttention, p, Pending, "The payout is held: %s", texts)
	c.events[len(c.events)-1].Changes.Add("held_by", nil, texts)
}

// claimable is a payout that is due.
type claimable struct {
	*Payout
	next   *attempt // the attempt to submit again; nil for a new one
	frozen bool     // whether its account is frozen
	gone   bool     // whether its receiving method, or the method's entry, can no longer be paid
}

// stopped returns why an approved payout is not sent. It may have waited for days since its approval: for a rail, or for the next business
// day.
func (p claimable) stopped() (code api.Code, why string) {
	switch {
	case p.frozen:
		return api.CodeAccountFrozen, "the account was frozen before the payout was sent"
	case p.gone:
		return api.CodeMethodNotPayable, "the receiving method was removed or replaced, or its payee is not active any more, before the payout was sent"
	}
	return "", ""
}

// addDue adds a query for the payouts that are due on a rail, in the order in which they are sent. Payouts of a workspace in which people
// have stopped sending wait. In the sandbox, payouts wait if the rail, its connector or the payee's institution is down in their workspace.
func addDue(sql *db.Statement, r *rail.Rail, now int64) {
	sql.Add(`SELECT id FROM payout WHERE status = 'pending' AND mode = `, mode(r.Sandbox()))
	sql.Add(` AND rail = `, r.Name)
	sql.Add(` AND send_at <= `, now)
	sql.Add(` AND attention NOT IN ('contradicted', 'recheck')`) // it may have been paid, or is held
	sql.Add(` AND workspace_id NOT IN (SELECT s.workspace_id FROM payout_stop s WHERE s.stopped_at > 0 AND s.mode = `, mode(r.Sandbox()))
	sql.Add(`)`)
	if r.Sandbox() {
		// The query counts, because for NOT EXISTS PostgreSQL would read the whole table at once and sort what is left.
		sql.Add(` AND (SELECT count(*) FROM simulated_service s WHERE s.workspace_id = payout.workspace_id AND s.status = 'down' AND s.service IN (`, r.Name, r.Connector.Name())
		sql.Add(`, payout.institution_code)) = 0`)
	}
	sql.Add(` ORDER BY send_at, id`)
}

func claimRows(tx *db.Tx, r *rail.Rail, now int64) ([]claimable, error) {
	// The rows are locked first, and are due at that moment: without MATERIALIZED, PostgreSQL would look for them again for each row.
	sql := db.NewStatement(`WITH due AS MATERIALIZED (`)
	addDue(sql, r, now)
	sql.Add(tx.SkipLocked(` LIMIT 500`)+`) UPDATE payout SET status = 'processing', attempts = attempts + CASE WHEN attempts > 0 AND EXISTS (SELECT 1 FROM payout_attempt a
		WHERE a.payout_id = payout.id AND a.number = payout.attempts AND a.state = 'not_received') THEN 0 ELSE 1 END, updated_at = `, now)
	sql.Add(` WHERE id IN (SELECT id FROM due) RETURNING `+sentRow.Columns+`, (SELECT a.status FROM ledger_account a WHERE a.id = payout.account_id),
		CASE WHEN payout.method_id IS NULL THEN 1 ELSE (SELECT count(*) FROM receiving_method m JOIN directory_entry e ON e.id = m.entry_id
			WHERE m.id = payout.method_id AND m.status = 'active' AND e.status = 'active' AND e.deleted_at IS NULL
			AND NOT EXISTS (SELECT 1 FROM receiving_method n WHERE n.entry_id = m.entry_id AND n.replaces = m.id AND n.status = 'active' AND n.payable_at <= `, now)
	sql.Add(`)) END, (SELECT a.end_to_end_id FROM payout_attempt a WHERE a.payout_id = payout.id AND a.number = payout.attempts)`)
	var list []claimable
	var again []any // end-to-end ids
	err := tx.EachOf(sql, func(r db.Rows) error {
		list = append(list, claimable{Payout: readSent(r), frozen: r.Text(sentRow.Count) == api.AccountFrozen, gone: r.Int(sentRow.Count+1) == 0})
		if id := r.Text(sentRow.Count + 2); id != "" {
			again = append(again, id)
		}
		return nil
	})
	if err == nil && len(again) > 0 {
		found, failed := findAttempts(tx.Q, again, func(sql string) string { return sql }) // whose payouts are locked
		for i, p := range list {
			list[i].next = found[EndToEndID(p.ID, p.Attempts)]
		}
		err = failed
	}
	// The first to be due is the first to be sent.
	slices.SortFunc(list, func(a, b claimable) int { return cmp.Or(cmp.Compare(a.SendAt, b.SendAt), cmp.Compare(a.ID, b.ID)) })
	return list, err
}
