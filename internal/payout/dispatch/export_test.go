package dispatch

import (
	"context"
	"math"
	"time"

	"bursar/internal/payout"
	"bursar/internal/rail"
)

// SetSkew lets the clock of the node be ahead of the database's, or behind it.
func (d *Dispatcher) SetSkew(skew time.Duration) {
	d.MeasureSkew(func() time.Duration { return skew })
}

// MeasureSkew replaces how the node compares its clock with the database's.
func (d *Dispatcher) MeasureSkew(measure func() time.Duration) {
	d.skewAt, d.measureSkew = 0, func(context.Context) (time.Duration, error) { return measure(), nil }
}

// RenewNoLeases keeps the node from prolonging leases, which it does by the time of the machine.
func (d *Dispatcher) RenewNoLeases() { d.renewEvery = math.MaxInt64 }

// Claim claims what is due, and returns how much it was.
func (d *Dispatcher) Claim(ctx context.Context) (claimed int, err error) {
	for _, r := range d.rails.All() {
		list, err := d.sending.Claim(ctx, r, d.identityOf(r))
		if err != nil {
			return claimed, err
		}
		if list != nil {
			claimed += list.Count
		}
	}
	return claimed, nil
}

// Store applies the answer of a rail.
func (d *Dispatcher) Store(ctx context.Context, endToEndID string, o rail.Outcome) error {
	return d.sending.Store(ctx, []payout.Answer{{EndToEndID: endToEndID, Outcome: o}}, nil)
}

// Take stores what a connector reports.
func (d *Dispatcher) Take(ctx context.Context, from rail.Connector, n rail.Notice) error {
	return d.sending.Take(ctx, from, []rail.Notice{n})
}
