package report

import (
	"fmt"
	"strings"
)

const (
	rowStep      = 24.0
	percentRoom  = 68.0
	percentCount = 4
)

// Latencies draws the percentiles of each subject under each of the works, in
// their order; without works, those of the mixed load.
func Latencies(r Report, works []string) []byte {
	if len(works) == 0 {
		works = worksOf(r.cellsOf(mixed))
	}
	groups := r.groups(works, func(c Cell) bool { return c.Latency != nil })
	f := figure{
		name:     "latency",
		title:    "Time to the answer",
		subtitle: "Less is better. Of 100 answers 50, 90 and 99, of 1,000 answers 999 came within the time shown.",
		desc:     describe(groups, Cell.percentiles),
		foot:     r.footnote(),
	}
	var values []float64
	for _, g := range groups {
		for _, s := range g.shown {
			values = append(values, s.Latency.percentiles()...)
		}
	}
	low, high, ok := bounds(values)
	if !ok {
		return f.nothing()
	}
	left := margin + widestLabel(groups, labelSize, labelRoom) + 10
	scale := logScale{low: low, high: high, from: left, to: chartWidth - margin - percentCount*percentRoom - 14}
	y := headHeight
	for _, g := range groups {
		y = f.ranges(g, scale, y)
	}
	f.valueAxis(scale, y-groupGap, "time, logarithmic", func(v float64) string { return quantity(v, "ms", plain) })
	f.height = y - groupGap + axisHeight - headHeight
	return f.render()
}

func (l Latency) percentiles() []float64 { return []float64{l.P50, l.P90, l.P99, l.P999} }

func percentileNames() []string { return []string{"p50", "p90", "p99", "p99.9"} }

func (c Cell) percentiles() string {
	var out []string
	for i, ms := range c.Latency.percentiles() {
		out = append(out, fmt.Sprintf("%s %s", percentileNames()[i], short(ms, "ms")))
	}
	return strings.Join(out, " ")
}

// ranges draws one group and returns where the next begins.
func (f *figure) ranges(g group, scale logScale, y float64) float64 {
	titleRoom := scale.to - margin
	f.text(margin, y+13, pen{size: titleSize, fill: ink, bold: true}, fit(g.title, titleSize*bolder, titleRoom))
	for i, name := range percentileNames() {
		x := percentColumn(i)
		f.text(x, y+13, pen{size: footSize, fill: soft, anchor: "end"}, name)
		f.percentMark(i, point{x - textWidth(name, footSize) - 10, y + 9}, paint{fill: soft})
	}
	y += groupHead
	f.grid(scale, y-4, y+rowStep*float64(len(g.shown))-2)
	for _, s := range g.shown {
		middle := y + rowStep/2 - 3
		bold := s.rank == own
		f.text(scale.from-10, middle+4, pen{size: labelSize, fill: ink, anchor: "end", bold: bold},
			fit(s.label, labelSize, labelRoom))
		values := s.Latency.percentiles()
		f.line(scale.at(values[0]), middle, scale.at(values[percentCount-1]), middle, 3, s.fill)
		for i, ms := range values {
			f.percentMark(i, point{scale.at(ms), middle}, s.paint)
			f.text(percentColumn(i), middle+4, pen{size: labelSize, fill: ink, anchor: "end", bold: bold}, short(ms, "ms"))
		}
		y += rowStep
	}
	return y + groupGap
}

func percentColumn(i int) float64 {
	return chartWidth - margin - percentRoom*float64(percentCount-1-i)
}

// percentMark tells percentiles by shape, as colour tells subjects.
func (f *figure) percentMark(i int, at point, p paint) {
	const radius = 4.5
	fill := p.fill
	if i%2 == 1 {
		fill = surface
	}
	f.mark([percentCount]int{circle, circle, diamond, diamond}[i], at, radius, fill, p.fill)
}
