package goal

import (
	"fmt"
	"slices"
	"strings"

	"bursar/bench/plan"
	"bursar/bench/report"
)

// pair is a ratio: of divided by by.
type pair struct {
	of, by side
	filter string // distinguishes the pairs of one goal
	apart  bool   // the two sides were not measured in turn
}

// atLeast adds a goal that is met if all pairs reach want. It shows the pair with the lowest
// ratio; the tables have all of them.
func (g *goals) atLeast(text string, want float64, pairs ...pair) {
	var lowest report.Spread
	var filter string
	for _, p := range pairs {
		ratio, absent := g.ratio(p)
		if absent != "" {
			g.add(report.AtLeast(text, want, "×", report.Spread{}), absent)
			return
		}
		if len(lowest.All) == 0 || ratio.Median < lowest.Median {
			lowest, filter = ratio, p.filter
		}
	}
	if len(pairs) > 1 {
		text += " (lowest: " + filterText(filter) + ")"
	}
	g.add(g.withoutErrors(report.AtLeast(text, want, "×", lowest), pairs...), "")
}

// atMost adds an upper bound on one measurement.
func (g *goals) atMost(text string, want float64, unit string, s side) {
	g.bound(report.AtMost, text, want, unit, s)
}

// bound adds a bound on one measurement.
func (g *goals) bound(goal func(string, float64, string, report.Spread) report.Goal, text string, want float64, unit string, s side) {
	m, ok := g.report.Find(s.workload, s.subject)
	absent := ""
	if !ok {
		absent = missing(s)
	}
	g.add(goal(text, want, unit, m.Value), absent)
}

func (g *goals) add(goal report.Goal, absent string) {
	if absent != "" {
		goal.Absent = absent
	}
	g.all = append(g.all, goal)
}

func filterText(filter string) string {
	switch filter {
	case "", plan.Plain:
		return "no filter"
	case "span":
		return "span of time"
	}
	return strings.ReplaceAll(filter, "_", " ")
}

// ratio compares the repeats of the same rounds, so both sides need the same number of them.
func (g *goals) ratio(p pair) (ratio report.Spread, absent string) {
	of, ok := g.report.Find(p.of.workload, p.of.subject)
	if !ok {
		return ratio, missing(p.of)
	}
	by, ok := g.report.Find(p.by.workload, p.by.subject)
	if !ok {
		return ratio, missing(p.by)
	}
	divisor := by.Value
	if p.apart { // at ratios this large it hardly matters that the sides were measured at different times
		divisor = report.SpreadOf(slices.Repeat([]float64{by.Value.Median}, len(of.Value.All)))
	}
	if len(of.Value.All) != len(divisor.All) {
		return ratio, fmt.Sprintf("%d repeats against %d", len(of.Value.All), len(divisor.All))
	}
	if ratio = report.Ratio(of.Value, divisor); len(ratio.All) == 0 {
		return ratio, p.by.subject + " gave no good answer"
	}
	return ratio, ""
}

func missing(s side) string { return "no " + s.workload + " of " + s.subject }

// withoutErrors marks a goal as missed if some of the answers behind it were errors.
func (g *goals) withoutErrors(goal report.Goal, pairs ...pair) report.Goal {
	for _, p := range pairs {
		for _, s := range []side{p.of, p.by} {
			if m, ok := g.report.Find(s.workload, s.subject); ok && m.Errors > 0 {
				goal.Text += fmt.Sprintf(", with errors of %s", s.subject)
				goal.Met = false
				return goal
			}
		}
	}
	return goal
}
