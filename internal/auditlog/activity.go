package auditlog

import (
	"context"
	"time"

	"bursar/internal/access"
	"bursar/internal/db"
)

const (
	// activityDays is how many days Activity30 returns.
	activityDays = 30
	// maxDay is how many rows of a day are counted, so that the page of a busy
	// workspace stays fast.
	maxDay = 5_000
)

// Day counts the rows of a day, up to 5,000. Refused counts those that describe a refusal
// or a failure. More is true if there are more rows than were counted.
type Day struct {
	Date    time.Time // when the day began
	Count   int
	Refused int
	More    bool
}

// Activity30 counts the rows of a workspace on each of the last 30 days, today
// included. Days begin at midnight in the time zone.
func (s *Service) Activity30(ctx context.Context, by db.Caller, workspaceID string, zone *time.Location) ([]Day, error) {
	number, err := s.authority.Enter(ctx, by.Actor, workspaceID, access.AuditRead)
	if err != nil {
		return nil, err
	}
	today := time.UnixMilli(s.db.Now()).In(zone)
	var days []Day
	err = s.db.Read(ctx, func(q db.Q) error {
		days = make([]Day, 0, activityDays)
		for ago := activityDays - 1; ago >= 0; ago-- {
			day := Day{Date: dayStart(today, -ago)}
			count, refused, err := countSpan(q, inWorkspace(workspaceID, number), firstRow(day.Date), firstRow(dayStart(today, 1-ago)), maxDay+1)
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

// firstRow returns the smallest id of a row at or after a time.
func firstRow(at time.Time) string { return db.FirstID("aud", at.UnixMilli()) }

// dayStart returns the beginning of the day that is a number of days after another.
func dayStart(from time.Time, days int) time.Time {
	year, month, day := from.Date()
	noon := time.Date(year, month, day+days, 12, 0, 0, 0, from.Location())
	year, month, day = noon.Date()
	start := time.Date(year, month, day, 0, 0, 0, 0, from.Location())
	if start.Day() != day {
		// The clocks go forward at midnight, so this day begins at one o'clock.
		_, start = start.ZoneBounds()
	}
	return start
}
