package server_test

import (
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // the zones, wherever the test runs

	"github.com/google/go-cmp/cmp"

	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// stage is a tenant and a node whose clock stands where the test puts it.
type stage struct {
	*servertest.Tenant
	servertest.Services
	node *servertest.Node
	now  time.Time
}

func onStage(t *testing.T, run func(t *testing.T, x *stage)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		x := &stage{Tenant: n.Tenant(t), node: n}
		d := store.OpenAt(t, func() time.Time { return x.now })
		x.Services = servertest.ServicesOf(t, d, store.Vault(d))
		run(t, x)
	})
}

func (x *stage) activity(t *testing.T, zone *time.Location) []auditlog.Day {
	t.Helper()
	days, err := x.Services.Audit.Activity30(t.Context(), servertest.CallerOf(x.Owner), x.WorkspaceID, zone)
	if err != nil {
		t.Fatal(err)
	}
	return days
}

// dates are thirty days of a calendar up to one.
func dates(last string) []string {
	at, err := time.Parse(time.DateOnly, last)
	if err != nil {
		panic(err)
	}
	var list []string
	for ago := 29; ago >= 0; ago-- {
		list = append(list, at.AddDate(0, 0, -ago).Format(time.DateOnly))
	}
	return list
}

func TestConsoleActivityFollowsTheDaysOfAZone(t *testing.T) {
	onStage(t, func(t *testing.T, x *stage) {
		for _, c := range []struct {
			zone, now, change string
			hours             float64 // that the day of the change has
		}{
			{"Asia/Manila", "2019-03-20T00:00:00", "2019-03-10", 24},
			{"Asia/Manila", "2020-03-20T23:59:59", "2020-03-10", 24},
			{"America/New_York", "2021-03-20T12:00:00", "2021-03-14", 23},
			{"America/New_York", "2021-11-20T00:00:00", "2021-11-07", 25},
			{"America/Santiago", "2022-09-20T18:00:00", "2022-09-11", 23}, // has no midnight
			{"America/Havana", "2023-11-20T18:00:00", "2023-11-05", 25},   // has two
			{"Australia/Lord_Howe", "2024-10-20T18:00:00", "2024-10-06", 23.5},
		} {
			t.Run(c.zone+" "+c.change, func(t *testing.T) {
				zone, err := time.LoadLocation(c.zone)
				if err != nil {
					t.Fatal(err)
				}
				now, err := time.ParseInLocation("2006-01-02T15:04:05", c.now, zone)
				if err != nil {
					t.Fatal(err)
				}
				want := map[string]auditlog.Day{}
				for _, at := range moments(now) {
					x.now = at
					outcomes := []audit.Outcome{audit.Success}
					if at.Hour()%6 == 0 {
						outcomes = []audit.Outcome{audit.Success, audit.Denied, audit.Failure}
					}
					happen(t, x.Services.DB, x.WorkspaceID, outcomes...)
					date := at.In(zone).Format(time.DateOnly)
					want[date] = auditlog.Day{Count: want[date].Count + len(outcomes), Refused: want[date].Refused + len(outcomes) - 1}
				}
				x.now = now
				days := x.activity(t, zone)
				var found []string
				for i, d := range days {
					date := d.Date.Format(time.DateOnly)
					found = append(found, date)
					if d.Count != want[date].Count || d.Refused != want[date].Refused || d.More {
						t.Errorf("%s: %d and %d refused, want %d and %d", date, d.Count, d.Refused, want[date].Count, want[date].Refused)
					}
					if before := d.Date.Add(-time.Nanosecond); before.Day() == d.Date.Day() {
						t.Errorf("%s begins at %s, after it began", date, d.Date)
					}
					if date == c.change && days[i+1].Date.Sub(d.Date).Hours() != c.hours {
						t.Errorf("%s lasts until %s", d.Date, days[i+1].Date)
					}
				}
				if diff := cmp.Diff(dates(c.now[:10]), found); diff != "" {
					t.Errorf("days want (-), got (+):\n%s", diff)
				}
				if !slices.Contains(found, c.change) {
					t.Errorf("the day of the change is not among them")
				}
			})
		}
	})
}

// moments are times, in order, from before the thirty days to after the last:
// some of each day, and the edges of every hour in which a day may begin.
func moments(now time.Time) []time.Time {
	var list []time.Time
	for at := now.AddDate(0, 0, -32).Truncate(time.Hour); at.Before(now.AddDate(0, 0, 2)); at = at.Add(time.Hour) {
		switch hour := at.In(now.Location()).Hour(); {
		case hour <= 1 || hour == 23:
			list = append(list, at, at.Add(30*time.Minute-time.Millisecond), at.Add(30*time.Minute), at.Add(time.Hour-time.Millisecond))
		case hour%6 == 0:
			list = append(list, at)
		}
	}
	return list
}

func TestConsoleActivityIsOneWorkspacesOwn(t *testing.T) {
	onStage(t, func(t *testing.T, x *stage) {
		x.now = time.Date(2020, 5, 5, 5, 0, 0, 0, time.UTC)
		happen(t, x.Services.DB, x.node.First.WorkspaceID, audit.Success, audit.Denied)
		if last := x.activity(t, time.UTC)[29]; last.Count != 0 || last.Refused != 0 {
			t.Errorf("the last day is %+v", last)
		}
	})
}

func TestConsoleActivityCountsSoMuchAndNoMore(t *testing.T) {
	onStage(t, func(t *testing.T, x *stage) {
		x.now = time.Date(2020, 5, 5, 5, 0, 0, 0, time.UTC)
		at := x.now.UnixMilli()
		fill(t, x.node, 5_000, func(tx *db.Tx, i int) error {
			outcome := []audit.Outcome{audit.Success, audit.Denied}[i%2]
			return tx.Exec(`INSERT INTO audit_log (id, workspace_number, actor_id_key, action_key, resource_type_key, resource_id_key, outcome_key, entry)
				VALUES ($1, (SELECT number FROM workspace WHERE id = $2), 0, 0, 0, 0, $3, '[]')`,
				db.PackID("aud", db.FirstID("aud", at+int64(i))), x.WorkspaceID, audit.OutcomeKey(x.WorkspaceID, outcome))
		})
		expect := func(want auditlog.Day) {
			t.Helper()
			want.Date = time.Date(2020, 5, 5, 0, 0, 0, 0, time.UTC)
			if got := x.activity(t, time.UTC)[29]; got != want {
				t.Errorf("the day is %+v, want %+v", got, want)
			}
		}
		expect(auditlog.Day{Count: 5_000, Refused: 2_500})
		happen(t, x.Services.DB, x.WorkspaceID, audit.Failure)
		expect(auditlog.Day{Count: 5_000, Refused: 2_501, More: true})
	})
}

// fill makes many rows at once: sql selects from n, which has a column i from 1
// to count. Its parameters begin with $2.
func fill(t *testing.T, n *servertest.Node, count int, insert func(tx *db.Tx, i int) error) {
	t.Helper()
	_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		for i := range count {
			if err := insert(tx, i); err != nil {
				return struct{}{}, audit.Event{}, err
			}
		}
		return struct{}{}, audit.None("made for a test"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
