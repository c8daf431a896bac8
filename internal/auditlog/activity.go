package auditlog

import (
	"context"
	"time"

	"bursar/internal/access"
	"bursar/internal/db"
)

const (
	// activityDays is how many days Activity30 shows.
	activityDays = 30
	// maxDay is how many rows of a day are counted: it bounds what a look at a busy
	// workspace costs.
	maxDay = 5_000
)

// Day is how much happened on a day, up to 5,000 rows. Refused are the rows that
// tell of no success. More says that there is more of one or the other.
type Day struct {
	Date    time.Time // when the day began
	Count   int
	Refused int
	More    bool
}

// Activity30 is how much happened in a workspace on each of 30 days, of which the
// last is today, as days are in a zone.
func (s *Service) Activity30(ctx context.Context, by db.Caller, workspaceID string, zone *time.Location) ([]Day, error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, workspaceID, access.AuditRead); err != nil {
		return nil, err
	}
	today := time.UnixMilli(s.db.Now()).In(zone)
	var days []Day
	err := s.db.Read(ctx, func(q db.Q) error {
		days = make([]Day, 0, activityDays)
		for ago := activityDays - 1; ago >= 0; ago-- {
			day := Day{Date: dayStart(today, -ago)}
			count, refused, err := countSpan(q, workspaceID, firstRow(day.Date), firstRow(dayStart(today, 1-ago)), maxDay+1)
			if err != nil {
				return err
			}
			day.Count, day.Refused, day.More = min(count, maxDay), min(refused, maxDay), count > maxDay
			days = append(days, day)
		}
		return nil
	})
	return days, err
}

// firstRow is the least id of a row at or after a time.
func firstRow(at time.Time) string { return db.FirstID("aud", at.UnixMilli()) }

// dayStart is when the day begins that is so many days from another.
func dayStart(from time.Time, days int) time.Time {
	year, month, day := from.Date()
	noon := time.Date(year, month, day+days, 12, 0, 0, 0, from.Location())
	year, month, day = noon.Date()
	start := time.Date(year, month, day, 0, 0, 0, 0, from.Location())
	if start.Day() != day {
		// The clocks are put forward at midnight, and the day begins at one.
		_, start = start.ZoneBounds()
	}
	return start
}
