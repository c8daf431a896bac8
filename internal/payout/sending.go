package payout

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"bursar/api"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/ledger"
	"bursar/internal/payout/control"
	"bursar/internal/rail"
	"bursar/internal/vault"
)

// What the dispatcher and the store of payouts agree on.
const (
	// SendingBatch is how many payouts, attempts or notices one transaction changes.
	SendingBatch = 500
	// SubmitTimeout is how long a rail may take to answer.
	SubmitTimeout = 30 * time.Second
	// AttemptLease is how long other nodes leave attempts to the node that sends them or looks them up.
	AttemptLease = 8 * time.Second
	// SubmitWithin is how long after its claim an attempt may be submitted. sendWindow is how long the connector may send it.
	SubmitWithin = 10 * time.Second
	sendWindow   = SubmitWithin + SubmitTimeout
	// MaxSkew is how far the clock of a node may be off before the node claims nothing.
	MaxSkew = 4 * time.Second
)

// Sending is how the dispatcher of a node reaches payouts in the store. Each of its methods reads or changes them in transactions of its own.
type Sending struct {
	db    *db.DB
	vault *vault.Vault
	rails *rail.Rails
	rules *control.Service
	holds holds
	log   *slog.Logger
	node  string
	now   func() int64 // the time of the database in Unix milliseconds
	Alarms
}

// NewSending returns the store of payouts for a node that sends them.
func NewSending(d *db.DB, v *vault.Vault, rails *rail.Rails, rules *control.Service, approvals *approval.Service, log *slog.Logger, now func() int64) *Sending {
	return &Sending{db: d, vault: v, rails: rails, rules: rules, holds: holds{v, approvals}, log: log, node: rand.Text(), now: now}
}

// Alarms counts what an operator has to look at.
type Alarms struct {
	FloatShort   atomic.Uint64 // payments that a rail rejected because our own account with the bank is short
	Contradicted atomic.Uint64 // rail answers and bank bookings that conflict with a payout's record
	Suspended    atomic.Uint64 // notices that went to suspense
	Untaken      atomic.Uint64 // failed tries to process a notice
	Stops        atomic.Int64  // workspaces and modes in which people have stopped sending
	// RecordConflicts are records of connectors that do not agree with the store.
	RecordConflicts atomic.Uint64
}

// Answer is the outcome that a rail reports for a payment.
type Answer struct {
	EndToEndID string
	Outcome    rail.Outcome
}

// Payments returns claimed payouts as the rail gets them. Payouts whose account number cannot be read get their answer here instead.
// Payouts that the store contradicts are withheld. A payout whose number is lost fails if the ledger holds its money.
func (s *Sending) Payments(ctx context.Context, claimed *Claimed) (list []rail.Payment, answers []Answer, err error) {
	var opened []*attempt
	var suspects []suspect
	numbers := map[string]string{} // by payout
	for _, a := range claimed.attempts {
		to, err := openNumber(s.vault, *a.payout)
		switch {
		case errors.Is(err, vault.ErrDamaged):
			suspects = append(suspects, suspect{a.EndToEndID, "its account number is damaged, or that of another row"})
		case err != nil: // not sent: a look-up will not find it
			answers = append(answers, a.unsent(rail.Unknown, "the account number cannot be read now"))
		default:
			opened, numbers[a.payout.ID] = append(opened, a), to
		}
	}
	more, err := s.examine(ctx, opened, numbers)
	if suspects = append(suspects, more...); err == nil && len(suspects) > 0 {
		err = s.withhold(ctx, suspects)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, a := range opened {
		if slices.ContainsFunc(more, func(one suspect) bool { return one.endToEndID == a.EndToEndID }) {
			continue
		}
		if numbers[a.payout.ID] == audit.LostNumber {
			answers = append(answers, a.unsent(rail.Rejected, "the account number cannot be read: its vault key is lost"))
			continue
		}
		p := a.payout.payment(a, numbers[a.payout.ID])
		p.ExternalHash = claimed.hasher.hash(p.WorkspaceID, a.payout.ExternalID)
		list = append(list, p)
	}
	return list, answers, nil
}

// unsent is the answer for an attempt that is not submitted.
func (a *attempt) unsent(state rail.State, text string) Answer {
	return Answer{EndToEndID: a.EndToEndID, Outcome: rail.Outcome{State: state, Text: text, Submission: int(a.Submission)}}
}

// Lease keeps other nodes from looking up attempts of this one for some time.
func (s *Sending) Lease(ctx context.Context, endToEndIDs []any, lasts time.Duration) error {
	if len(endToEndIDs) == 0 {
		return nil
	}
	_, err := db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
		sql := db.NewStatement(`UPDATE payout_attempt SET ask_at = `, s.now()+lasts.Milliseconds())
		sql.Add(` WHERE node = `, s.node)
		sql.AddList(` AND end_to_end_id IN (`, endToEndIDs)
		return struct{}{}, audit.None("a lease is no change that the log tells of"), tx.ExecOf(sql)
	})
	return err
}

// ToLookUp leases attempts whose outcome is due to be looked up, including those of nodes that have left. It returns their end-to-end ids,
// the look-ups by rail, and the answers for those that no rail can be asked about.
func (s *Sending) ToLookUp(ctx context.Context) (leased []any, byRail map[*rail.Rail][]rail.Payment, answers []Answer, err error) {
	var due bool
	err = s.db.Read(ctx, func(q db.Q) error {
		due, err = q.Row(`SELECT id FROM payout_attempt WHERE state IN ('sending', 'accepted', 'unknown') AND ask_at <= $1 ORDER BY ask_at, id LIMIT 1`, s.now()).Scan(new(string))
		return err
	})
	if err != nil || !due {
		return nil, nil, nil, err
	}
	leased, err = db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) ([]any, audit.Event, error) {
		list, err := db.Collect(tx.Q, func(r db.Rows) any { return r.Text(0) }, tx.SkipLocked(
			`WITH due AS MATERIALIZED (SELECT id FROM payout_attempt WHERE state IN ('sending', 'accepted', 'unknown') AND ask_at <= $3 ORDER BY ask_at, id LIMIT 500`)+
			`) UPDATE payout_attempt SET node = $1, ask_at = $2 WHERE id IN (SELECT id FROM due) RETURNING end_to_end_id`, s.node, s.now()+AttemptLease.Milliseconds(), s.now())
		return list, audit.None("a lease is no change that the log tells of"), err
	})
	if err != nil || len(leased) == 0 {
		return nil, nil, nil, err
	}
	var found map[string]*attempt
	err = s.db.Read(ctx, func(q db.Q) error {
		found, err = findAttempts(q, leased, func(sql string) string { return sql })
		return err
	})
	if err != nil {
		return nil, nil, nil, err
	}
	byRail = map[*rail.Rail][]rail.Payment{}
	for _, a := range found {
		r, to := s.railOf(a.payout), ""
		if r != nil {
			to, err = number(s.vault, *a.payout)
		}
		if r == nil || err != nil {
			answers = append(answers, Answer{EndToEndID: a.EndToEndID, Outcome: rail.Outcome{State: rail.Unknown, Text: "the rail cannot be asked"}})
			continue
		}
		byRail[r] = append(byRail[r], a.payout.payment(a, to))
	}
	return leased, byRail, answers, nil
}

// railOf returns the rail of a payout, nil if it is no longer configured.
func (s *Sending) railOf(p *Payout) *rail.Rail { return s.rails.Named(p.Rail, p.sandbox()) }

// next returns when a payout that is ready now is sent.
func (s *Sending) next(p *Payout) int64 {
	now := s.now()
	if r := s.railOf(p); r != nil {
		send, _ := r.Next(time.UnixMilli(now))
		return send.UnixMilli()
	}
	return now
}

// answerBy returns when the outcome of a payout sent at a given time must be known.
func (s *Sending) answerBy(p *Payout, sent int64) int64 {
	r := s.railOf(p)
	if r == nil {
		r = &rail.Rail{} // it is no longer configured
	}
	return r.AnswerBy(time.UnixMilli(sent)).UnixMilli()
}

// Store applies answers: those about claimed payouts, or of look-ups. An answer that cannot be stored, because the rows of its account or payout are damaged, does not keep others from
// being stored.
func (s *Sending) Store(ctx context.Context, answers []Answer, claimed *Claimed) error {
	verified := map[string]ledger.Reserved{}
	if claimed != nil {
		for _, a := range claimed.attempts {
			verified[a.EndToEndID] = a.payout.reserved()
		}
	}
	var failed []error
	for some := range slices.Chunk(answers, SendingBatch) {
		err := s.storeTogether(ctx, some, verified)
		if err == nil || ctx.Err() != nil || len(some) == 1 {
			failed = append(failed, err)
			continue
		}
		for _, a := range some {
			if err := s.storeTogether(ctx, []Answer{a}, verified); err != nil {
				failed = append(failed, fmt.Errorf("store the answer about %s: %w", a.EndToEndID, err))
			}
		}
	}
	return errors.Join(failed...)
}

// storeTogether applies answers in one transaction. verified is the money that Payments has compared with the ledger: a row with the same
// money is not compared again.
func (s *Sending) storeTogether(ctx context.Context, some []Answer, verified map[string]ledger.Reserved) error {
	ids := make([]any, len(some))
	for i, a := range some {
		ids[i] = a.EndToEndID
	}
	c, err := db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) (*change, audit.Event, error) {
		c := newChange(s.now(), s)
		found, err := findAttempts(tx.Q, ids, tx.ForUpdate)
		if err != nil {
			return nil, audit.Event{}, err
		}
		var ending []*attempt
		for _, a := range some {
			if of := found[a.EndToEndID]; of != nil && decisive(a.Outcome) && of.payout.reserved() != verified[a.EndToEndID] {
				ending = append(ending, of)
			}
		}
		if err := c.compare(tx, ending); err != nil {
			return nil, audit.Event{}, err
		}
		for _, a := range some {
			if of := found[a.EndToEndID]; of != nil {
				c.decide(of, a.Outcome)
			}
		}
		return c, c.event(), c.store(tx, s.rules)
	})
	if err == nil {
		s.alarm(c)
	}
	return err
}

// alarm reports stored problems to the operator.
func (s *Sending) alarm(c *change) {
	for _, a := range c.floatShort {
		s.FloatShort.Add(1)
		s.log.Error("a rail has refused a payout because our own account with the bank is short", "payout", a.payout.ID, "rail", a.payout.Rail)
	}
	for _, a := range c.contradicted {
		s.Contradicted.Add(1)
		s.log.Error("a rail answer or bank booking conflicts with the record of a payout", "payout", a.payout.ID, "rail", a.payout.Rail, "attempt", a.Number)
	}
}

func mode(sandbox bool) string {
	if sandbox {
		return api.ModeSandbox
	}
	return api.ModeLive
}
