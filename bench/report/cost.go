package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	panelColumns = 2
	panelGap     = 28.0
	panelHeight  = 280.0
	panelLeft    = 48.0 // for the times
	panelRight   = 58.0 // for the last values
	legendLine   = 22.0
)

// Cost draws the median time of a request against the number of rows: a panel
// for each of the works, a line for each subject. A work is named without its
// rows: "list/type" gathers list/1000/type, list/100000/type and so on. No
// works mean all that were measured at more than one number of rows.
func Cost(r Report, works []string) []byte {
	panels := r.panels(works)
	f := figure{
		name:     "cost",
		title:    "Time of a request against number of rows",
		subtitle: "Less is better; where a line is flat, time does not grow with the rows. Both scales are logarithmic.",
		desc:     describePanels(panels),
		foot:     r.footnote(),
	}
	var times, rows []float64
	for _, p := range panels {
		for _, l := range p.lines {
			for _, s := range l.samples {
				times, rows = append(times, s.ms), append(rows, float64(s.rows))
			}
		}
	}
	low, high, ok := bounds(times)
	if !ok {
		return f.nothing()
	}
	top := f.legend(panels, headHeight) + 8
	for i, p := range panels {
		width := (inner - panelGap) / panelColumns
		if len(panels) == 1 {
			width = inner
		}
		left := margin + (width+panelGap)*float64(i%panelColumns)
		y := top + panelHeight*float64(i/panelColumns)
		f.panel(p, axes{
			x: logScale{low: slices.Min(rows), high: slices.Max(rows), from: left + panelLeft + 8, to: left + width - panelRight},
			y: logScale{low: low, high: high, from: y + panelHeight - 58, to: y + 46},
		}, left, y)
	}
	bands := (len(panels) + panelColumns - 1) / panelColumns
	f.height = top + panelHeight*float64(bands) - headHeight - 12
	return f.render()
}

// panel is a work at several numbers of rows.
type panel struct {
	title string
	lines []rowLine
}

type rowLine struct {
	paint
	label   string
	samples []sample
}

type sample struct {
	rows int
	ms   float64
}

func (r Report) panels(works []string) []panel {
	if len(works) == 0 {
		for _, c := range r.Cells {
			if c.Rows > 0 && !slices.Contains(works, c.withoutRows()) {
				works = append(works, c.withoutRows())
			}
		}
	}
	var out []panel
	for _, work := range works {
		if p := r.panelOf(work); len(p.lines) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// panelOf leaves out subjects without two numbers of rows: a line needs two ends.
func (r Report) panelOf(work string) panel {
	palette := r.palette()
	var out panel
	for _, s := range r.allSubjects() {
		l := rowLine{paint: palette[s.Name], label: s.title()}
		title := ""
		for _, c := range r.Cells {
			if ms, ok := c.requestTime(); ok && c.Subject == s.Name && c.withoutRows() == work {
				l.samples = append(l.samples, sample{c.Rows, ms})
				title = cutRows(c.title(), c.Rows)
			}
		}
		slices.SortStableFunc(l.samples, func(a, b sample) int { return cmp.Compare(a.rows, b.rows) })
		if len(l.samples) > 1 && l.samples[0].rows < l.samples[len(l.samples)-1].rows {
			out.lines = append(out.lines, l)
			out.title = cmp.Or(out.title, title)
		}
	}
	return out
}

func (c Cell) requestTime() (ms float64, ok bool) {
	switch {
	case c.Rows <= 0:
		return 0, false
	case c.Latency != nil:
		return c.Latency.P50, c.Latency.P50 > 0
	case c.Unit == "ms":
		return c.Value.Median, c.Value.Median > 0
	}
	return 0, false
}

// withoutRows makes list/type of list/100000/type.
func (c Cell) withoutRows() string {
	parts := slices.DeleteFunc(strings.Split(c.Work, "/"), func(part string) bool { return part == strconv.Itoa(c.Rows) })
	return strings.Join(parts, "/")
}

// cutRows makes "List by type" of "List by type, 100,000 rows".
func cutRows(title string, rows int) string {
	count := plain(float64(rows)) + " rows"
	for _, before := range []string{", ", " at ", " of ", " in ", " with ", " "} {
		if head, tail, found := strings.Cut(title, before+count); found {
			return head + tail
		}
	}
	return title
}

func describePanels(panels []panel) string {
	var out []string
	for _, p := range panels {
		for _, l := range p.lines {
			var samples []string
			for _, s := range l.samples {
				samples = append(samples, fmt.Sprintf("%s at %s rows", short(s.ms, "ms"), plain(float64(s.rows))))
			}
			out = append(out, fmt.Sprintf("%s, %s: %s.", p.title, l.label, strings.Join(samples, ", ")))
		}
	}
	return strings.Join(out, " ")
}
