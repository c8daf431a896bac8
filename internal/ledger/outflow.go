package ledger

import (
	"context"
	"time"

	"bursar/internal/access"
	"bursar/internal/db"
)

const (
	// outflowDays is how many days Outflow30 returns.
	outflowDays = 30
	// maxOutflow is how many postings to the bucket reserved are read, so that the page of a busy account stays fast. Their numbers are
	// found first: see postingsOf. A subquery finds each transaction, because PostgreSQL would scan the whole table for a join of so many
	// rows.
	maxOutflow = 20_000
)

// Day is the amount paid out of an account on a day. More is true if some payments were not added up.
type Day struct {
	Date   time.Time // when the day began
	Amount int64
	More   bool
}

// Outflow30 adds up what was paid out of an account on each of the last 30 days, today included. Days
// begin at midnight in the time zone.
func (s *Service) Outflow30(ctx context.Context, by db.Caller, id string, zone *time.Location) ([]Day, error) {
	a, err := s.enter(ctx, by, id, access.AccountsRead)
	if err != nil {
		return nil, err
	}
	year, month, day := time.UnixMilli(s.db.Now()).In(zone).Date()
	var days []Day
	err = s.db.Read(ctx, func(q db.Q) error {
		days = make([]Day, outflowDays)
		for i := range days {
			days[i].Date = time.Date(year, month, day+i-outflowDays+1, 0, 0, 0, 0, zone)
		}
		from, err := firstSince(q, a, days[0].Date.UnixMilli())
		if err != nil {
			return err
		}
		at, rows := outflowDays-1, 0
		err = q.Each(func(r db.Rows) error {
			for at > 0 && r.Int(0) < days[at].Date.UnixMilli() {
				at--
			}
			if Kind(r.Text(2)) == KindComplete {
				days[at].Amount -= r.Int(1)
			}
			rows++
			return nil
		}, `SELECT p.created_at, p.amount, (SELECT t.kind FROM ledger_transaction t WHERE t.id = p.transaction_id)
			FROM (SELECT account_id, number FROM ledger_posting WHERE bucket <> 'available' AND bucket = 'reserved' AND account_id = $1 AND number >= $2
				ORDER BY number DESC LIMIT $3) n
			JOIN ledger_posting p ON p.account_id = n.account_id AND p.number = n.number
			ORDER BY p.number DESC`, a.ID, from, maxOutflow)
		for i := range days[:at+1] {
			days[i].More = rows == maxOutflow
		}
		return err
	})
	return days, err
}
