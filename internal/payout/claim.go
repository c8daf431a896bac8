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
	"bursar/internal/payout/control"
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
	return &Claimed{At: list[0].ClaimedAt, Count: len(list), attempts: list, hasher: hasher}, nil
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
		var unready *control.UnreadyError
		if !errors.As(err, &unready) {
			return claimed, err
		}
		if err := s.vault.Ready(ctx, unready.Workspace); err != nil {
			return nil, err
		}
	}
}

// claim contains the payouts that were claimed together, and what happened to the others that were due.
type claim struct {
	*change
	tx       *db.Tx
	rail     *rail.Rail
	node     string
	claimed  []*attempt
	added    []*attempt       // those of them that are new
	releases map[string]int64 // by account, of payouts that failed instead
}

// claimDue is claim in one transaction.
func (s *Sending) claimDue(ctx context.Context, r *rail.Rail, identity func() string) ([]*attempt, error) {
	done, err := db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) (*claim, audit.Event, error) {
		none := audit.None("no payout was due")
		now := s.now()
		c := &claim{change: newChange(now, nil), tx: tx, rail: r, node: s.node, releases: map[string]int64{}}
		if trusted, err := stillTrusted(tx, r, identity); err != nil || !trusted {
			return c, none, err
		}
		list, err := claimRows(tx, r, now)
		if err != nil || len(list) == 0 {
			return c, none, err
		}
		holds, err := s.heldBack(tx.Q, list)
		if err != nil {
			return c, none, err
		}
		for _, p := range list {
			if err := c.one(p, holds); err != nil {
				return c, none, err
			}
		}
		if err := c.insert(); err != nil {
			return c, none, err
		}
		if err := c.store(tx, s.rules); err != nil {
			return c, none, err
		}
		news := make([]holding, 0, len(holds))
		for _, subject := range slices.Sorted(maps.Keys(holds)) {
			h, err := s.holds.hold(tx, holds[subject].Payout, holds[subject].why)
			if err != nil {
				return c, none, err
			}
			c.events, news = append(c.events, h.events...), append(news, h)
		}
		return c, audit.All(c.events...), s.holds.mail(tx, db.SystemCaller(), news...)
	})
	if err != nil {
		return nil, err
	}
	s.alarm(done.change)
	return done.claimed, nil
}

// one claims a payout, unless it is stopped or held.
func (c *claim) one(p claimable, holds map[string]held) error {
	code, why := p.stopped()
	_, subject := p.subjectOf()
	h, isHeld := holds[subject]
	if (code != "" || isHeld) && p.next == nil {
		p.Attempts-- // there is none
	}
	switch {
	case code != "":
		return c.fail(p.Payout, code, why)
	case isHeld:
		c.hold(p.Payout, h.why)
		return nil
	case p.next == nil:
		c.send(p.Payout)
		return nil
	}
	return c.resend(p.Payout, p.next)
}

// fail ends a payout that is not sent. If its rail may have it, or the ledger does not hold its money, it is contradicted instead.
func (c *claim) fail(p *Payout, code api.Code, why string) error {
	money, forged, err := p.held(c.tx)
	if err != nil {
		return err
	}
	account, err := ledger.FindAccount(c.tx.Q, p.AccountID)
	if err != nil {
		return err
	}
	state, _, err := p.lastAttempt(c.tx.Q)
	if err != nil {
		return err
	}
	c.releases[p.AccountID] += p.Amount
	wrong := ""
	if isOpen(state) {
		wrong = fmt.Sprintf("%s has not decided attempt %d", p.Rail, p.Attempts)
	} else if forged || money != p.reserved() || account.Reserved < c.releases[p.AccountID] {
		wrong = "the ledger does not hold its money"
	}
	if wrong == "" {
		c.failed(p, string(code), "", why)
		return nil
	}
	c.become(p, Pending)
	c.contradict(&attempt{payout: p, Number: p.Attempts}, wrong)
	return nil
}

// lease returns until when other nodes leave an attempt alone.
func (c *claim) lease() int64 { return c.now + AttemptLease.Milliseconds() }

// send claims a payout as a new attempt.
func (c *claim) send(p *Payout) {
	a := &attempt{ID: c.tx.NewID("att"), PayoutID: p.ID, Number: p.Attempts, EndToEndID: EndToEndID(p.ID, p.Attempts), Submission: 1, State: sending,
		Node: c.node, AskAt: c.lease(), CreatedAt: c.now, ClaimedAt: c.now, payout: p}
	c.claimed, c.added = append(c.claimed, a), append(c.added, a)
	c.addEvent(audit.PayoutSent, p, Pending, "Sent the payout by %s, attempt %d", c.rail.Name, a.Number)
}

// insert stores the new attempts. Naming fewer columns than insertedAttempt costs less, for as many rows as there are here.
func (c *claim) insert() error {
	rows := make([][]any, len(c.added))
	for i, a := range c.added {
		rows[i] = []any{a.ID, a.PayoutID, a.Number, a.EndToEndID, a.Node, a.AskAt, a.CreatedAt}
	}
	return c.tx.InsertRows(`INSERT INTO payout_attempt (id, payout_id, number, end_to_end_id, state, code, text, reference, node, ask_at, asked,
		created_at, claimed_at, answered_at, settled_at) VALUES `, `($1, $2, $3, $4, 'sending', '', '', '', $5, $6, 0, $7, $7, 0, 0)`, rows)
}

// resend claims a payout as the next submission of its last attempt.
func (c *claim) resend(p *Payout, a *attempt) error {
	resumed, err := c.tx.Row(`UPDATE payout_attempt SET state = 'sending', submission = submission + 1, claimed_at = $2, node = $3, ask_at = $4, asked = 0,
			accepted = 0, resolved = '', reference = '' WHERE id = $1 AND state = 'not_received' AND (accepted = 0 OR resolved = 'not_paid') RETURNING id`,
		a.ID, c.now, c.node, c.lease()).Scan(new(string))
	if err != nil {
		return err
	}
	a.payout = p
	if !resumed { // its row was changed in the store
		c.become(p, Pending)
		c.contradict(a, fmt.Sprintf("attempt %d cannot be submitted again", a.Number))
		return nil
	}
	a.State, a.Submission, a.ClaimedAt = sending, a.Submission+1, c.now
	c.claimed = append(c.claimed, a)
	c.addEvent(audit.PayoutSent, p, Pending, "Sent the payout by %s, attempt %d, submission %d", c.rail.Name, a.Number, a.Submission)
	return nil
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
	why []control.Obstacle
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
		why, err := obstacles(q, s.rules, together[subject]...)
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
func (c *change) hold(p *Payout, why []control.Obstacle) {
	c.become(p, Pending)
	p.Attention = Recheck
	texts := control.ObstacleTexts(why)
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
