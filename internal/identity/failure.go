package identity

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"bursar/internal/audit"
	"bursar/internal/budget"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// Limits of failed sign-ins and key exchanges that the store records, over all networks. Failures of a user have their own budget, so
// that strangers who exhaust theirs hide nothing that an owner has to see.
var (
	failuresOfStrangers = budget.Kind{Name: "failures recorded, of unknown accounts", Burst: 1000, Every: 30 * time.Second}
	failuresOfUser      = budget.Kind{Name: "failures recorded, by account", Burst: 100, Every: time.Minute}
)

// Failures records failed sign-ins and key exchanges in the audit log, up to a budget.
type Failures struct {
	// Unrecorded counts the failures beyond the budget. They are not stored.
	Unrecorded atomic.Uint64

	db      *db.DB
	budgets *budget.Budgets
}

// NewFailures returns a recorder. Without budgets it records every failure.
func NewFailures(d *db.DB, b *budget.Budgets) *Failures { return &Failures{db: d, budgets: b} }

// Record stores a failure of the event's actor. In the same transaction it uses up an attempt of each of the budgets. If one of them has no
// attempt left, Record returns a fault and stores nothing.
func (f *Failures) Record(ctx context.Context, by db.Caller, event audit.Event, attempt ...budget.Use) error {
	ctx = context.WithoutCancel(ctx)
	use := failuresOfStrangers.Of("")
	if event.Actor.ID != "" {
		use = failuresOfUser.Of(event.Actor.ID)
	}
	// A flood beyond the budget costs no write.
	err := f.budgets.Check(ctx, use)
	var no *fault.Fault
	if errors.As(err, &no) {
		f.Unrecorded.Add(1)
		return nil
	}
	if err != nil {
		return err
	}
	recorded := true
	_, err = db.Write(ctx, f.db, by, func(tx *db.Tx) (_ any, _ audit.Event, err error) {
		if err := f.budgets.Take(tx, attempt...); err != nil {
			return nil, audit.Event{}, err
		}
		if f.budgets != nil {
			recorded, err = use.Take(tx)
		}
		if !recorded {
			return nil, audit.None("a failure beyond the budget is counted and not recorded"), err
		}
		return nil, event, err
	})
	if err == nil && !recorded {
		f.Unrecorded.Add(1)
	}
	return err
}
