package dispatch

import (
	"context"
	"fmt"
	"time"

	"bursar/internal/payout"
)

// Nodes that share a database compare times stored by other nodes: leases, claims and send windows. They use the clock of the database for
// that. A node whose own clock is far off has other faults, too. Its ids and audit rows are out of order, and connectors compare times with
// its clock. So such a node claims nothing.

const (
	// skewInterval is how often a node compares its clock with the database's.
	skewInterval = 10 * time.Second
	// skewWarned is how far the clock may be off before the node logs it. Beyond payout.MaxSkew it claims nothing.
	skewWarned = time.Second
)

// now returns the time of the database in Unix milliseconds.
func (d *Dispatcher) now() int64 { return d.db.Now() - d.Skew().Milliseconds() }

// Skew returns how far the clock of this node is ahead of the database's.
func (d *Dispatcher) Skew() time.Duration { return time.Duration(d.skew.Load()) }

// compareClocks measures the skew. It is a step of the dispatcher.
func (d *Dispatcher) compareClocks(ctx context.Context) (bool, error) {
	if local := d.db.Now(); d.skewAt != 0 && local-d.skewAt < skewInterval.Milliseconds() && local >= d.skewAt {
		return false, nil
	}
	skew, err := d.measureSkew(ctx)
	if err != nil {
		return false, err
	}
	before := d.Skew()
	d.skew.Store(int64(skew))
	d.skewAt = d.db.Now()
	switch {
	case skew.Abs() > payout.MaxSkew:
		d.rails.Hold(fmt.Sprintf("the clock of this node is %s off that of the database", skew.Round(time.Millisecond)))
		d.log.Error("this node claims no payouts, because its clock is too far off that of the database: synchronize it", "ahead_by", skew.String())
	case skew.Abs() > skewWarned:
		d.rails.Hold("")
		d.log.Warn("the clock of this node is off that of the database: synchronize it", "ahead_by", skew.String())
	default:
		d.rails.Hold("")
	}
	if before.Abs() > payout.MaxSkew && skew.Abs() <= payout.MaxSkew {
		d.Wake()
	}
	return false, nil
}
