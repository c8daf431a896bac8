package goal

import (
	"strings"
	"testing"

	"bursar/bench/plan"
	"bursar/bench/report"
)

func sizes() plan.Sizes { return plan.Sizes{Small: 1000, Main: 100_000, Large: 1_000_000} }

func cell(work, subject string, values ...float64) report.Cell {
	return report.Cell{Work: work, Subject: subject, Unit: "req/s", Value: report.SpreadOf(values)}
}

// find is the goal whose text begins so.
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

func TestRatiosAreOfRepeatsSideBySide(t *testing.T) {
	r := report.Report{Cells: []report.Cell{
		cell("whoami", "bursar-sqlite", 90, 50, 90),
		cell("whoami", "bare", 100, 60, 110), // slowed down together in the middle
	}}
	g := find(t, Goals(r, sizes()), "GET /auth/me against the bare handler")
	if !g.Met || g.Absent != "" || g.Got.Median != 50.0/60 {
		t.Errorf("%+v", g)
	}
}

func TestUnequalRepeatsAreNotCompared(t *testing.T) {
	r := report.Report{Cells: []report.Cell{cell("whoami", "bursar-sqlite", 90, 90), cell("whoami", "bare", 100)}}
	if g := find(t, Goals(r, sizes()), "GET /auth/me against the bare handler"); g.Met || g.Absent != "2 repeats against 1" {
		t.Errorf("%+v", g)
	}
}

func TestTheWorstFilterCounts(t *testing.T) {
	var r report.Report
	for _, filter := range plan.Filters() {
		large := 95.0
		if filter == "status" {
			large = 89
		}
		r.Cells = append(r.Cells,
			cell(plan.Work{Kind: plan.List, Store: 1000, Filter: filter}.Name(), "bursar-sqlite", 100),
			cell(plan.Work{Kind: plan.List, Store: 1_000_000, Filter: filter}.Name(), "bursar-sqlite", large))
	}
	g := find(t, Goals(r, sizes()), "SQLite: first page at 1,000,000 rows against 1,000")
	if g.Met || g.Got.Median != 0.89 || !strings.Contains(g.Text, "lowest: status") {
		t.Errorf("%+v", g)
	}
}

func TestErrorsMeetNoGoal(t *testing.T) {
	broken := cell("whoami", "bursar-sqlite", 90)
	broken.Errors = 1
	r := report.Report{Cells: []report.Cell{broken, cell("whoami", "bare", 100)}}
	g := find(t, Goals(r, sizes()), "GET /auth/me against the bare handler")
	if g.Met || !strings.Contains(g.Text, "with errors of bursar-sqlite") {
		t.Errorf("%+v", g)
	}
}

func TestMixedLoad(t *testing.T) {
	mixed := func(subject string, p99 float64, errors int64) report.Cell {
		c := cell(plan.MixedHalf, subject, 5000)
		c.Latency, c.Errors = &report.Latency{P99: p99}, errors
		return c
	}
	r := report.Report{Cells: []report.Cell{mixed("bursar-sqlite", 5, 2), mixed("bare", 2, 0), cell(plan.MemoryGrowth, "bursar-sqlite", 1.1)}}
	goals := Goals(r, sizes())
	const text = "Mixed load at half of the highest rate: "
	if g := find(t, goals, text+"p99"); !g.Met || g.Got.Median != 2.5 {
		t.Errorf("%+v", g)
	}
	if g := find(t, goals, text+"errors"); g.Met || g.Got.Median != 2 {
		t.Errorf("%+v", g)
	}
	if g := find(t, goals, text+"memory"); !g.Met {
		t.Errorf("%+v", g)
	}
}

func TestWhatWasNotMeasuredIsToldAndNotMet(t *testing.T) {
	for _, of := range []plan.Sizes{sizes(), {Small: 1000, Main: 100_000}} {
		goals := Goals(report.Report{}, of)
		if len(goals) < 20 {
			t.Errorf("%d goals", len(goals))
		}
		for _, g := range goals {
			if g.Met || g.Absent == "" {
				t.Errorf("%+v", g)
			}
		}
	}
}
