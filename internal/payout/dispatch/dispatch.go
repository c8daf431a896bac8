package dispatch

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bursar/internal/approval"
	"bursar/internal/db"
	"bursar/internal/payout"
	"bursar/internal/payout/control"
	"bursar/internal/rail"
	"bursar/internal/vault"
	"bursar/internal/work"
)

const (
	// interval is how often a node looks for work that another node has left or that has become due.
	interval = time.Second
	// renewal is how often a node renews the lease of attempts that it sends or looks up. If it dies, another node looks them up after
	// payout.AttemptLease.
	renewal = 2 * time.Second
)

// Dispatcher submits payouts to rails, and processes what rails report. See the package's documentation.
type Dispatcher struct {
	db      *db.DB
	rails   *rail.Rails
	log     *slog.Logger
	sending *payout.Sending
	// skew is how far the clock of this node is ahead of the database's, as measured at skewAt by measureSkew.
	skew        atomic.Int64
	skewAt      int64
	measureSkew func(ctx context.Context) (time.Duration, error)
	renewEvery  time.Duration // renewal, except in simulations
	wakes       []work.Signal // one for each loop of Run
	// records are those that connectors keep outside the store.
	records []*record
	*payout.Alarms
}

// New returns the dispatcher of a node.
func New(d *db.DB, v *vault.Vault, rails *rail.Rails, rules *control.Service, approvals *approval.Service, log *slog.Logger) *Dispatcher {
	s := &Dispatcher{db: d, rails: rails, log: log, records: records(rails), measureSkew: d.Skew, renewEvery: renewal}
	s.sending = payout.NewSending(d, v, rails, rules, approvals, log, s.now)
	s.Alarms = &s.sending.Alarms
	for range s.steps() {
		s.wakes = append(s.wakes, make(work.Signal, 1))
	}
	return s
}

// Wake makes this node look for work immediately.
func (d *Dispatcher) Wake() {
	for _, wake := range d.wakes {
		wake.Send()
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
	return append(list, d.ask, d.recall, d.sending.CountStops)
}

// Run works until ctx ends.
func (d *Dispatcher) Run(ctx context.Context) {
	if stopped, _, err := d.sending.Stopped(ctx); err == nil && stopped {
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
			work.Loop{Step: step, Interval: interval, Wake: d.wakes[i], Log: d.log, Failure: "payouts wait and will go on"}.Run(ctx)
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

// send claims what is due on a rail, submits it, and stores what the rail answers.
func (d *Dispatcher) send(ctx context.Context, r *rail.Rail) (worked bool, err error) {
	if status, _ := r.Connector.Health(ctx); status == rail.Down {
		return false, nil
	}
	if stopped, _, err := d.sending.Stopped(ctx); err != nil || stopped || d.rails.Held() != "" {
		return false, err
	}
	claimed, err := d.sending.Claim(ctx, r, d.identityOf(r))
	if err != nil || claimed == nil {
		return false, err
	}
	list, answers, err := d.sending.Payments(ctx, claimed)
	if err != nil {
		return false, err // not sent: a look-up will not find them
	}
	if late := d.now() - claimed.At; late > payout.SubmitWithin.Milliseconds() {
		// Other nodes may soon conclude that this node no longer sends them.
		d.log.Warn("payouts are not sent, because their claim took too long, and will be claimed again", "milliseconds", late)
		return false, nil
	}
	if list, err = d.sending.WithoutStopped(ctx, r, list); err != nil {
		return false, err
	}
	ids := make([]any, len(list))
	for i, p := range list {
		ids[i] = p.EndToEndID
		list[i].SendBefore += d.Skew().Milliseconds() // connectors compare it with the clock of the node
	}
	end := d.keep(ctx, ids)
	defer end()
	answers = append(answers, exchange(ctx, r, list, r.Connector.Submit)...)
	end()
	// The server may be stopping, but the rail's answers are worth storing.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), payout.SubmitTimeout)
	defer cancel()
	if err := d.sending.Store(ctx, answers, claimed); err != nil {
		return false, err
	}
	d.Wake() // the rail may have more to report
	return true, nil
}

// keep renews the lease of attempts until the returned function is called.
func (d *Dispatcher) keep(ctx context.Context, endToEndIDs []any) (end func()) {
	return work.Renew(ctx, d.renewEvery, func(ctx context.Context) {
		if err := d.sending.Lease(ctx, endToEndIDs, payout.AttemptLease); err != nil && ctx.Err() == nil {
			d.log.Warn("the lease of payouts that are being sent was not prolonged: another node asks about them", "error", err.Error())
		}
	})
}

// exchange calls Submit or LookUp of a rail. A payment without an answer is unknown.
func exchange(ctx context.Context, r *rail.Rail, list []rail.Payment, call func(context.Context, *rail.Rail, []rail.Payment) ([]rail.Outcome, error)) []payout.Answer {
	if len(list) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, payout.SubmitTimeout)
	defer cancel()
	outcomes, err := call(ctx, r, list)
	answers := make([]payout.Answer, len(list))
	for i, p := range list {
		answers[i] = payout.Answer{EndToEndID: p.EndToEndID, Outcome: rail.Outcome{State: rail.Unknown, Submission: p.Submission}}
		switch {
		case err != nil:
			answers[i].Outcome.Text = err.Error()
		case i < len(outcomes):
			answers[i].Outcome = outcomes[i]
		}
	}
	return answers
}

// ask looks up attempts, including those of nodes that have left.
func (d *Dispatcher) ask(ctx context.Context) (worked bool, err error) {
	leased, byRail, answers, err := d.sending.ToLookUp(ctx)
	if err != nil || len(leased) == 0 {
		return false, err
	}
	end := d.keep(ctx, leased)
	defer end()
	for r, list := range byRail {
		slices.SortFunc(list, func(a, b rail.Payment) int { return cmp.Compare(a.EndToEndID, b.EndToEndID) })
		answers = append(answers, d.confirm(ctx, r, exchange(ctx, r, list, r.Connector.LookUp))...)
	}
	end()
	if err := d.sending.Store(ctx, answers, nil); err != nil {
		return false, errors.Join(err, d.sending.Lease(ctx, leased, time.Minute)) // the rail is not asked constantly for answers that cannot be stored
	}
	d.Wake() // what was not received is due again
	return true, nil
}

// recall looks up payments that may have been sent after the moment of an archive, once the records of connectors can be trusted.
func (d *Dispatcher) recall(ctx context.Context) (worked bool, err error) {
	trusted := !slices.ContainsFunc(d.records, func(r *record) bool { return r.identity() == "" }) // otherwise another folder may have to be restored or adopted first
	return d.sending.Recall(ctx, trusted, func(ctx context.Context, r *rail.Rail, list []rail.Payment) []payout.Answer {
		return exchange(ctx, r, list, r.Connector.LookUp)
	})
}
