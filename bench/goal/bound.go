package goal

import (
	"bursar/bench/plan"
	"bursar/bench/report"
)

// mixed are the goals of the load at half of the highest rate.
func (g *goals) mixed() {
	const text = "Mixed load at half of the highest rate: "
	ours, ok := g.report.Cell(plan.MixedHalf, sqlite)
	theirs, alsoOK := g.report.Cell(plan.MixedHalf, bare)
	p99 := report.AtMost(text+"p99 against the bare handler's", 3, "×", report.Spread{})
	errors := report.AtMost(text+"errors", 0, "", report.Spread{})
	switch {
	case !ok:
		p99.Absent, errors.Absent = missing(side{plan.MixedHalf, sqlite}), missing(side{plan.MixedHalf, sqlite})
	case !alsoOK || theirs.Latency.P99 == 0:
		p99.Absent = missing(side{plan.MixedHalf, bare})
	default:
		p99 = report.AtMost(p99.Text, p99.Want, p99.Unit, report.SpreadOf([]float64{ours.Latency.P99 / theirs.Latency.P99}))
	}
	if ok {
		errors = report.AtMost(errors.Text, errors.Want, errors.Unit, report.SpreadOf([]float64{float64(ours.Errors)}))
	}
	g.all = append(g.all, p99, errors)
	g.atMost(text+"memory at the end against the first ten seconds", 1.2, "×", side{plan.MemoryGrowth, sqlite})
}

// bounds are the goals that are no ratios.
func (g *goals) bounds() {
	for _, engine := range []side{{"SQLite", sqlite}, {"PostgreSQL", postgres}} {
		g.atMost(engine.work+": start to first answer, empty store", 100, "ms", side{plan.StartName(0), engine.subject})
		g.atMost(engine.work+": start to first answer, "+g.large()+" rows", 300, "ms", side{plan.StartName(g.usualLarge()), engine.subject})
		g.atMost(engine.work+": memory idle", 40, "MiB", side{plan.MemoryIdle, engine.subject})
		g.atMost(engine.work+": memory at 64 callers", 200, "MiB", side{plan.MemoryLoad, engine.subject})
	}
}
