package directory

import (
	"context"
	"time"

	"bursar/internal/audit"
	"bursar/internal/budget"
	"bursar/internal/db"
)

// revealing is used up by the audit row about showing a caller the account numbers of an entry. Reading the entry again within the hour
// leaves no other row, so that reads do not become writes. A caller with another API key leaves a row of their own.
func revealing(by db.Caller, e entry) budget.Use {
	return budget.Kind{Name: "reveal", Burst: 1, Every: time.Hour}.Of(by.ID + " " + by.KeyID + " " + e.ID)
}

// reveal stores the row. It is on disk before a number is shown.
func (s *Service) reveal(ctx context.Context, by db.Caller, e entry) error {
	_, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		event, err := revealed(tx, by, e)
		return struct{}{}, event, err
	})
	return err
}

// revealed returns the event that the caller is shown account numbers of an entry, unless an event of the last hour exists.
func revealed(tx *db.Tx, by db.Caller, e entry) (audit.Event, error) {
	untold, err := revealing(by, e).Take(tx)
	if err == nil && !untold {
		return audit.None("a row of the last hour tells it"), nil
	}
	return e.event(audit.ReceivingMethodRevealed, "Saw account numbers of"), err
}
