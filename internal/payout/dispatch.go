package payout

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/graceful"
	"bursar/internal/ledger"
	"bursar/internal/rail"
	"bursar/internal/vault"
)

const (
	// dispatchBatch is how many payouts, attempts or notices one transaction changes.
	dispatchBatch = 500
	// dispatchInterval is how often a node looks for work that another node has left or that has become due.
	dispatchInterval = time.Second
	// submitTimeout is how long a rail may take to answer.
	submitTimeout = 30 * time.Second
	// attemptLease is how long other nodes leave attempts to the node that sends them or looks them up. renewal is how often that node
	// renews the lease. If it dies, another node looks the attempts up after this time.
	attemptLease, renewal = 8 * time.Second, 2 * time.Second
	// submitWithin is how long after its claim an attempt may be submitted. sendWindow is how long the connector may send it.
	submitWithin = 10 * time.Second
	sendWindow   = submitWithin + submitTimeout
)

// Dispatcher submits payouts to rails, and processes what rails report. See the package's documentation.
type Dispatcher struct {
	db    *db.DB
	vault *vault.Vault
	rails *rail.Rails
	rules *Rules
	log   *slog.Logger
	node  string
	// skew is how far the clock of this node is ahead of the database's, as measured at skewAt by measureSkew.
	skew        atomic.Int64
	skewAt      int64
	measureSkew func(ctx context.Context) (time.Duration, error)
	renewEvery  time.Duration   // renewal, except in simulations
	wakes       []chan struct{} // one for each loop of Run
	// records are those that connectors keep outside the store.
	records []*record
	Alarms
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

// NewDispatcher returns the dispatcher of a node.
func NewDispatcher(d *db.DB, v *vault.Vault, rails *rail.Rails, rules *Rules, log *slog.Logger) *Dispatcher {
	s := &Dispatcher{db: d, vault: v, rails: rails, rules: rules, log: log, node: rand.Text(), records: records(rails), measureSkew: d.Skew, renewEvery: renewal}
	for range s.steps() {
		s.wakes = append(s.wakes, make(chan struct{}, 1))
	}
	return s
}

// Wake makes this node look for work immediately.
func (d *Dispatcher) Wake() {
	for _, wake := range d.wakes {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// steps returns the steps that the dispatcher repeats. Each reports whether there was work. A slow rail or connector delays only its own
// step.
func (d *Dispatcher) steps() []func(ctx context.Context) (bool, error) {
	list := []func(ctx context.Context) (bool, error){d.compareClocks}
	for _, r := range d.records {
		list = append(list, func(ctx context.Context) (bool, error) {
			d.check(ctx, r, false)
			return false, nil
		})
	}
	for _, r := range d.rails.All() {
		list = append(list, func(ctx context.Context) (bool, error) { return d.send(ctx, r) })
	}
	for _, c := range d.rails.Connectors() {
		list = append(list, func(ctx context.Context) (bool, error) { return d.receive(ctx, c) })
	}
	return append(list, d.ask, d.recall, d.countStops)
}

// Run works until ctx ends.
func (d *Dispatcher) Run(ctx context.Context) {
	if stopped, _, err := d.stopped(ctx); err == nil && stopped {
		d.log.Warn("the rails are stopped, because the store was restored from an archive: payouts are looked up and none is sent, until 'bursar admin rails resume'")
	}
	// Before anything is sent or looked up.
	if _, err := d.compareClocks(ctx); err != nil && ctx.Err() == nil {
		d.log.Warn("the clock of this node was not compared with the database's", "error", err.Error())
	}
	for _, r := range d.records {
		d.check(ctx, r, false)
	}
	var loops sync.WaitGroup
	for i, step := range d.steps() {
		loops.Go(func() {
			for ctx.Err() == nil {
				worked, err := step(ctx)
				if err != nil && ctx.Err() == nil {
					d.log.Error("payouts wait and will go on", "error", err.Error())
				}
				if worked && err == nil {
					continue
				}
				select {
				case <-d.wakes[i]:
				case <-time.After(dispatchInterval):
				case <-ctx.Done():
				}
			}
		})
	}
	loops.Wait()
}

// Turn runs every step once, and reports whether there was work.
func (d *Dispatcher) Turn(ctx context.Context) (worked bool, err error) {
	for _, step := range d.steps() {
		did, failed := step(ctx)
		worked, err = worked || did, errors.Join(err, failed)
	}
	return worked, err
}

func systemCaller() db.Caller { return db.Caller{Actor: audit.SystemActor("bursar")} }

func mode(sandbox bool) string {
	if sandbox {
		return api.ModeSandbox
	}
	return api.ModeLive
}

// send claims what is due on a rail, submits it, and stores what the rail answers.
func (d *Dispatcher) send(ctx context.Context, r *rail.Rail) (worked bool, err error) {
	if status, _ := r.Connector.Health(ctx); status == rail.Down {
		return false, nil
	}
	if stopped, _, err := d.stopped(ctx); err != nil || stopped || d.rails.Held() != "" {
		return false, err
	}
	hasher, err := newExternalHasher(ctx, d.vault)
	if err != nil {
		return false, err
	}
	claimed, err := d.claim(ctx, r)
	if err != nil || len(claimed) == 0 {
		return false, err
	}
	list, answers, err := d.payments(ctx, claimed, hasher)
	if err != nil {
		return false, err // not sent: a look-up will not find them
	}
	if late := d.now() - claimed[0].claimedAt; late > submitWithin.Milliseconds() {
		// Other nodes may soon conclude that this node no longer sends them.
		d.log.Warn("payouts are not sent, because their claim took too long, and will be claimed again", "milliseconds", late)
		return false, nil
	}
	if list, err = d.withoutStopped(ctx, r, list); err != nil {
		return false, err
	}
	ids := make([]any, len(list))
	for i, p := range list {
		ids[i] = p.EndToEndID
	}
	end := d.keep(ctx, ids)
	defer end()
	answers = append(answers, exchange(ctx, r, list, r.Connector.Submit)...)
	end()
	verified := make(map[string]ledger.Reserved, len(claimed))
	for _, a := range claimed {
		verified[a.endToEndID] = a.payout.reserved()
	}
	for i, a := range answers {
		answers[i].verified = verified[a.endToEndID]
	}
	// The server may be stopping, but the rail's answers are worth storing.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), submitTimeout)
	defer cancel()
	if err := d.store(ctx, answers); err != nil {
		return false, err
	}
	d.Wake() // the rail may have more to report
	return true, nil
}

// payments returns claimed payouts as the rail gets them. Payouts whose account number cannot be read get their answer here instead.
// Payouts that the store contradicts are withheld. A payout whose number is lost fails if the ledger holds its money.
func (d *Dispatcher) payments(ctx context.Context, claimed []*attempt, hasher externalHasher) (list []rail.Payment, answers []answer, err error) {
	var opened []*attempt
	var suspects []suspect
	numbers := map[string]string{} // by payout
	for _, a := range claimed {
		to, err := openNumber(d.vault, *a.payout)
		switch {
		case errors.Is(err, vault.ErrDamaged):
			suspects = append(suspects, suspect{a.endToEndID, "its account number is damaged, or that of another row"})
		case err != nil: // not sent: a look-up will not find it
			answers = append(answers, a.unsent(rail.Unknown, "the account number cannot be read now"))
		default:
			opened, numbers[a.payout.ID] = append(opened, a), to
		}
	}
	more, err := d.examine(ctx, opened, numbers)
	if suspects = append(suspects, more...); err == nil && len(suspects) > 0 {
		err = d.withhold(ctx, suspects)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, a := range opened {
		if slices.ContainsFunc(more, func(s suspect) bool { return s.endToEndID == a.endToEndID }) {
			continue
		}
		if numbers[a.payout.ID] == audit.LostNumber {
			answers = append(answers, a.unsent(rail.Rejected, "the account number cannot be read: its vault key is lost"))
			continue
		}
		p := a.payout.payment(a, numbers[a.payout.ID])
		p.SendBefore += d.Skew().Milliseconds() // connectors compare it with the clock of the node
		p.ExternalHash = hasher.hash(p.WorkspaceID, a.payout.ExternalID)
		list = append(list, p)
	}
	return list, answers, nil
}

// answer is the outcome that a rail reports for a payment.
type answer struct {
	endToEndID string
	outcome    rail.Outcome
	// verified is the money that examine has compared with the ledger, if the answer follows immediately. A row with the same money is not
	// compared again.
	verified ledger.Reserved
}

// unsent is the answer for an attempt that is not submitted.
func (a *attempt) unsent(state rail.State, text string) answer {
	return answer{endToEndID: a.endToEndID, outcome: rail.Outcome{State: state, Text: text, Submission: int(a.submission)}}
}

// keep renews the lease of attempts until the returned function is called.
func (d *Dispatcher) keep(ctx context.Context, endToEndIDs []any) (end func()) {
	return graceful.Repeat(ctx, d.renewEvery, func(ctx context.Context) {
		if err := d.lease(ctx, endToEndIDs, attemptLease); err != nil && ctx.Err() == nil {
			d.log.Warn("the lease of payouts that are being sent was not prolonged: another node asks about them", "error", err.Error())
		}
	})
}

// lease keeps other nodes from looking up attempts of this one for some time.
func (d *Dispatcher) lease(ctx context.Context, endToEndIDs []any, lasts time.Duration) error {
	if len(endToEndIDs) == 0 {
		return nil
	}
	_, err := db.Write(ctx, d.db, systemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
		sql := db.NewStatement(`UPDATE payout_attempt SET ask_at = `, d.now()+lasts.Milliseconds())
		sql.Add(` WHERE node = `, d.node)
		sql.AddList(` AND end_to_end_id IN (`, endToEndIDs)
		return struct{}{}, audit.None("a lease is no change that the log tells of"), tx.ExecOf(sql)
	})
	return err
}

// exchange calls Submit or LookUp of a rail. A payment without an answer is unknown.
func exchange(ctx context.Context, r *rail.Rail, list []rail.Payment, call func(context.Context, *rail.Rail, []rail.Payment) ([]rail.Outcome, error)) []answer {
	if len(list) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, submitTimeout)
	defer cancel()
	outcomes, err := call(ctx, r, list)
	answers := make([]answer, len(list))
	for i, p := range list {
		answers[i] = answer{endToEndID: p.EndToEndID, outcome: rail.Outcome{State: rail.Unknown, Submission: p.Submission}}
		switch {
		case err != nil:
			answers[i].outcome.Text = err.Error()
		case i < len(outcomes):
			answers[i].outcome = outcomes[i]
		}
	}
	return answers
}

// ask looks up attempts, including those of nodes that have left.
func (d *Dispatcher) ask(ctx context.Context) (worked bool, err error) {
	var due bool
	err = d.db.Read(ctx, func(q db.Q) error {
		due, err = q.Row(`SELECT id FROM payout_attempt WHERE state IN ('sending', 'accepted', 'unknown') AND ask_at <= $1 ORDER BY ask_at, id LIMIT 1`, d.now()).Scan(new(string))
		return err
	})
	if err != nil || !due {
		return false, err
	}
	list, err := db.Write(ctx, d.db, systemCaller(), func(tx *db.Tx) ([]any, audit.Event, error) {
		list, err := db.Collect(tx.Q, func(r db.Rows) any { return r.Text(0) }, tx.SkipLocked(
			`WITH due AS MATERIALIZED (SELECT id FROM payout_attempt WHERE state IN ('sending', 'accepted', 'unknown') AND ask_at <= $3 ORDER BY ask_at, id LIMIT 500`)+
			`) UPDATE payout_attempt SET node = $1, ask_at = $2 WHERE id IN (SELECT id FROM due) RETURNING end_to_end_id`, d.node, d.now()+attemptLease.Milliseconds(), d.now())
		return list, audit.None("a lease is no change that the log tells of"), err
	})
	if err != nil || len(list) == 0 {
		return false, err
	}
	var found map[string]*attempt
	err = d.db.Read(ctx, func(q db.Q) error {
		found, err = findAttempts(q, list, func(sql string) string { return sql })
		return err
	})
	if err != nil {
		return false, err
	}
	byRail := map[*rail.Rail][]rail.Payment{}
	var answers []answer
	for _, a := range found {
		r, to := d.railOf(a.payout), ""
		if r != nil {
			to, err = number(d.vault, *a.payout)
		}
		if r == nil || err != nil {
			answers = append(answers, answer{endToEndID: a.endToEndID, outcome: rail.Outcome{State: rail.Unknown, Text: "the rail cannot be asked"}})
			continue
		}
		byRail[r] = append(byRail[r], a.payout.payment(a, to))
	}
	end := d.keep(ctx, list)
	defer end()
	for r, list := range byRail {
		slices.SortFunc(list, func(a, b rail.Payment) int { return cmp.Compare(a.EndToEndID, b.EndToEndID) })
		answers = append(answers, d.confirm(ctx, r, exchange(ctx, r, list, r.Connector.LookUp))...)
	}
	end()
	if err := d.store(ctx, answers); err != nil {
		return false, errors.Join(err, d.lease(ctx, list, time.Minute)) // the rail is not asked constantly for answers that cannot be stored
	}
	d.Wake() // what was not received is due again
	return true, nil
}

// railOf returns the rail of a payout, nil if it is no longer configured.
func (d *Dispatcher) railOf(p *Payout) *rail.Rail { return d.rails.Named(p.Rail, p.sandbox()) }

// next returns when a payout that is ready now is sent.
func (d *Dispatcher) next(p *Payout) int64 {
	now := d.now()
	if r := d.railOf(p); r != nil {
		send, _ := r.Next(time.UnixMilli(now))
		return send.UnixMilli()
	}
	return now
}

// answerBy returns when the outcome of a payout sent at a given time must be known.
func (d *Dispatcher) answerBy(p *Payout, sent int64) int64 {
	r := d.railOf(p)
	if r == nil {
		r = &rail.Rail{} // it is no longer configured
	}
	return r.AnswerBy(time.UnixMilli(sent)).UnixMilli()
}

// store applies answers. An answer that cannot be stored, because the rows of its account or payout are damaged, does not keep others from
// being stored.
func (d *Dispatcher) store(ctx context.Context, answers []answer) error {
	var failed []error
	for some := range slices.Chunk(answers, dispatchBatch) {
		err := d.storeTogether(ctx, some)
		if err == nil || ctx.Err() != nil || len(some) == 1 {
			failed = append(failed, err)
			continue
		}
		for _, a := range some {
			if err := d.storeTogether(ctx, []answer{a}); err != nil {
				failed = append(failed, fmt.Errorf("store the answer about %s: %w", a.endToEndID, err))
			}
		}
	}
	return errors.Join(failed...)
}

// storeTogether applies answers in one transaction.
func (d *Dispatcher) storeTogether(ctx context.Context, some []answer) error {
	ids := make([]any, len(some))
	for i, a := range some {
		ids[i] = a.endToEndID
	}
	c, err := db.Write(ctx, d.db, systemCaller(), func(tx *db.Tx) (*change, audit.Event, error) {
		c := newChange(d.now(), d)
		found, err := findAttempts(tx.Q, ids, tx.ForUpdate)
		if err != nil {
			return nil, audit.Event{}, err
		}
		var ending []*attempt
		for _, a := range some {
			if of := found[a.endToEndID]; of != nil && decisive(a.outcome) && of.payout.reserved() != a.verified {
				ending = append(ending, of)
			}
		}
		if err := c.compare(tx, ending); err != nil {
			return nil, audit.Event{}, err
		}
		for _, a := range some {
			if of := found[a.endToEndID]; of != nil {
				c.decide(of, a.outcome)
			}
		}
		return c, c.event(), c.store(tx, d.rules)
	})
	if err == nil {
		d.alarm(c)
	}
	return err
}

// event returns the audit rows of a change.
func (c *change) event() audit.Event {
	if len(c.events) == 0 {
		return audit.None("a rail has told nothing new")
	}
	return audit.All(c.events...)
}

// alarm reports stored problems to the operator.
func (d *Dispatcher) alarm(c *change) {
	for _, a := range c.floatShort {
		d.FloatShort.Add(1)
		d.log.Error("a rail has refused a payout because our own account with the bank is short", "payout", a.payout.ID, "rail", a.payout.Rail)
	}
	for _, a := range c.contradicted {
		d.Contradicted.Add(1)
		d.log.Error("a rail answer or bank booking conflicts with the record of a payout", "payout", a.payout.ID, "rail", a.payout.Rail, "attempt", a.number)
	}
}
