package goal

import (
	"fmt"
	"slices"
	"strings"

	"bursar/bench/plan"
	"bursar/bench/report"
)

// pair is what is divided by what; filter tells pairs of one goal apart.
type pair struct {
	of, by side
	filter string
	apart  bool // not measured in turns
}

// atLeast is met where all pairs reach want. It shows the pair that comes closest
// to missing it; all of them are in the tables.
func (g *goals) atLeast(text string, want float64, pairs ...pair) {
	var worst report.Spread
	var filter string
	for _, p := range pairs {
		ratio, absent := g.ratio(p)
		if absent != "" {
			goal := report.AtLeast(text, want, "×", report.Spread{})
			goal.Absent = absent
			g.all = append(g.all, goal)
			return
		}
		if len(worst.All) == 0 || ratio.Median < worst.Median {
			worst, filter = ratio, p.filter
		}
	}
	if len(pairs) > 1 {
		text += " (lowest: " + filterText(filter) + ")"
	}
	g.all = append(g.all, g.flagged(report.AtLeast(text, want, "×", worst), pairs...))
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

// ratio is that of repeats that ran side by side; a side with fewer repeats than
// the other has none to compare.
func (g *goals) ratio(p pair) (ratio report.Spread, absent string) {
	of, ok := g.report.Cell(p.of.work, p.of.subject)
	if !ok {
		return ratio, missing(p.of)
	}
	by, ok := g.report.Cell(p.by.work, p.by.subject)
	if !ok {
		return ratio, missing(p.by)
	}
	if p.apart && by.Value.Median > 0 { // measured at another time, against which it hardly counts
		ratio = report.Ratio(of, report.Cell{Value: report.SpreadOf(slices.Repeat([]float64{by.Value.Median}, len(of.Value.All)))})
		return ratio, ""
	}
	if len(of.Value.All) != len(by.Value.All) {
		return ratio, fmt.Sprintf("%d repeats against %d", len(of.Value.All), len(by.Value.All))
	}
	if ratio = report.Ratio(of, by); len(ratio.All) == 0 {
		return ratio, "no good answer of " + p.by.subject
	}
	return ratio, ""
}

func missing(s side) string { return "no " + s.work + " of " + s.subject }

// flagged lets no goal be met by answers of which some were errors.
func (g *goals) flagged(goal report.Goal, pairs ...pair) report.Goal {
	for _, p := range pairs {
		for _, s := range []side{p.of, p.by} {
			if cell, ok := g.report.Cell(s.work, s.subject); ok && cell.Errors > 0 {
				goal.Text += fmt.Sprintf(", with errors of %s", s.subject)
				goal.Met = false
				return goal
			}
		}
	}
	return goal
}

// atMost is a bound on what one side measured.
func (g *goals) atMost(text string, want float64, unit string, s side) {
	cell, ok := g.report.Cell(s.work, s.subject)
	goal := report.AtMost(text, want, unit, cell.Value)
	if !ok {
		goal.Absent = missing(s)
	}
	g.all = append(g.all, goal)
}
