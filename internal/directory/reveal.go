package directory

import (
	"context"
	"time"

	"bursar/internal/audit"
	"bursar/internal/budget"
	"bursar/internal/db"
)

// revealing is used up by the row that tells that a caller was shown account numbers of an
// entry: whoever reads the entry again within the hour leaves no other, so that reading
// does not become writing. A caller with another API key leaves a row of their own.
func revealing(by db.Caller, e entry) budget.Use {
	return budget.Kind{Name: "reveal", Burst: 1, Every: time.Hour}.Of(by.ID + " " + by.KeyID + " " + e.ID)
}

// reveal leaves the row. It is on disk before anybody sees a number.
func (s *Service) reveal(ctx context.Context, by db.Caller, e entry) error {
	_, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		event, err := revealed(tx, by, e)
		return struct{}{}, event, err
	})
	return err
}

// revealed returns the event that tells that the caller is shown account numbers of an
// entry, unless one of the last hour has told it.
func revealed(tx *db.Tx, by db.Caller, e entry) (audit.Event, error) {
	untold, err := revealing(by, e).Take(tx)
	if err == nil && !untold {
		return audit.None("a row of the last hour tells it"), nil
	}
	return e.event(audit.ReceivingMethodRevealed, "Saw account numbers of"), err
}
