package goal

import (
	"strings"
	"testing"

	"bursar/bench/plan"
	"bursar/bench/report"
)

func sizes() plan.Sizes { return plan.Sizes{Small: 1000, Main: 100_000, Large: 1_000_000} }

func measured(workload, subject string, values ...float64) report.Measurement {
	return report.Measurement{Workload: workload, Subject: subject, Unit: "req/s", Value: report.SpreadOf(values)}
}

// find returns the goal whose text begins so.
func find(t *testing.T, goals []report.Goal, text string) report.Goal {
	t.Helper()
	for _, g := range goals {
		if strings.HasPrefix(g.Text, text) {
			return g
		}
	}
	t.Fatalf("no goal %q", text)
	return report.Goal{}
}

func TestRatiosAreTakenWithinARound(t *testing.T) {
	r := report.Report{Measurements: []report.Measurement{
		measured("whoami", "bursar-sqlite", 90, 50, 90),
		measured("whoami", "bare", 100, 60, 110), // slowed down together in the middle
	}}
	g := find(t, Goals(r, sizes()), "GET /auth/me against the bare handler")
	if !g.Met || g.Absent != "" || g.Got.Median != 50.0/60 {
		t.Errorf("%+v", g)
	}
}

func TestUnequalNumbersOfRepeatsAreNotCompared(t *testing.T) {
	r := report.Report{Measurements: []report.Measurement{measured("whoami", "bursar-sqlite", 90, 90), measured("whoami", "bare", 100)}}
	if g := find(t, Goals(r, sizes()), "GET /auth/me against the bare handler"); g.Met || g.Absent != "2 repeats against 1" {
		t.Errorf("%+v", g)
	}
}

func TestTheLowestFilterDecides(t *testing.T) {
	var r report.Report
	for _, filter := range plan.Filters() {
		large := 95.0
		if filter == "status" {
			large = 89
		}
		r.Measurements = append(r.Measurements,
			measured(plan.Workload{Kind: plan.List, Store: 1000, Filter: filter}.Name(), "bursar-sqlite", 100),
			measured(plan.Workload{Kind: plan.List, Store: 1_000_000, Filter: filter}.Name(), "bursar-sqlite", large))
	}
	g := find(t, Goals(r, sizes()), "SQLite: first page at 1,000,000 rows against 1,000")
	if g.Met || g.Got.Median != 0.89 || !strings.Contains(g.Text, "lowest: status") {
		t.Errorf("%+v", g)
	}
}

func TestAGoalWithErrorsIsMissed(t *testing.T) {
	broken := measured("whoami", "bursar-sqlite", 90)
	broken.Errors = 1
	r := report.Report{Measurements: []report.Measurement{broken, measured("whoami", "bare", 100)}}
	g := find(t, Goals(r, sizes()), "GET /auth/me against the bare handler")
	if g.Met || !strings.Contains(g.Text, "with errors of bursar-sqlite") {
		t.Errorf("%+v", g)
	}
}

func TestGoalsOfTheMixedLoad(t *testing.T) {
	half := measured(plan.MixedHalf, "bursar-sqlite", 5000)
	half.Errors = 2
	r := report.Report{Measurements: []report.Measurement{half, measured(plan.MemoryGrowth, "bursar-sqlite", 1.1),
		measured(plan.MixedP99, "bursar-sqlite", 5, 9, 5), measured(plan.MixedP99, "bare", 2, 3, 4)}}
	goals := Goals(r, sizes())
	const text = "Mixed load at half of the highest rate: "
	if g := find(t, goals, text+"p99"); !g.Met || g.Got.Median != 2.5 || g.Got.Max != 3 {
		t.Errorf("%+v", g)
	}
	if g := find(t, goals, text+"errors"); g.Met || g.Got.Median != 2 {
		t.Errorf("%+v", g)
	}
	if g := find(t, goals, text+"memory"); !g.Met {
		t.Errorf("%+v", g)
	}
}

func TestGoalsOfMoney(t *testing.T) {
	var r report.Report
	for _, engine := range []string{"bursar-sqlite", "bursar-postgres"} {
		r.Measurements = append(r.Measurements, measured("payout/one", engine, 70), measured("payout/many", engine, 100), measured("payout/bare", engine, 200),
			measured("payout/through", engine, 999), measured("balance/1000", engine, 100), measured("balance/1000000", engine, 90),
			measured("postings/1000", engine, 100), measured("postings/1000000", engine, 80))
	}
	r.Measurements = append(r.Measurements, measured("payout/cpu", "bursar-sqlite", 2), measured("payout/through", "bursar-sqlite-before", 1110), measured("payout/cpu", "bursar-sqlite-before", 1.9))
	goals := Goals(r, sizes())
	for text, want := range map[string]struct {
		got float64
		met bool
	}{
		"SQLite: payouts of one account, 64 callers, against those of 64 accounts":                             {0.7, false},
		"PostgreSQL: payouts of one account, 64 callers, against those of 64 accounts":                         {0.7, true},
		"PostgreSQL: payouts of one account against a bare group commit":                                       {0.35, false},
		"SQLite: balance and first postings of an account with 1,000,000 postings against 1,000 (lowest: post": {0.8, true},
		"SQLite: payouts from the request to completed, through":                                               {999, false},
		"SQLite: payouts from the request to completed, against the earlier commit: rate":                      {0.9, true},
		"SQLite: payouts from the request to completed, against the earlier commit: CPU time":                  {0.95, true},
	} {
		if g := find(t, goals, text); g.Met != want.met || g.Got.Median != want.got {
			t.Errorf("%+v", g)
		}
	}
}

func TestSpaceOnDiskIsShownBesidePocketBase(t *testing.T) {
	r := report.Report{Measurements: []report.Measurement{measured(plan.DiskPerEntry, "bursar-sqlite", 2.2), measured(plan.DiskPerEntry, "pocketbase", 0.5)}}
	g := find(t, Goals(r, sizes()), "SQLite: space on disk")
	if g.Met || g.Want != 1.1 || !strings.Contains(g.Text, "512 B") {
		t.Errorf("%+v", g)
	}
}

func TestGoalsWithoutMeasurementsAreNotMet(t *testing.T) {
	for _, of := range []plan.Sizes{sizes(), {Small: 1000, Main: 100_000}} {
		goals := Goals(report.Report{}, of)
		if len(goals) != 44 {
			t.Errorf("%d goals", len(goals))
		}
		for _, g := range goals {
			if g.Met || g.Absent == "" {
				t.Errorf("%+v", g)
			}
		}
	}
}
