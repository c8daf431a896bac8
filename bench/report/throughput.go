package report

import (
	"fmt"
	"strings"
)

const (
	barHeight  = 15.0
	barStep    = 20.0
	groupHead  = 26.0
	groupGap   = 16.0
	titleSize  = 13.0
	labelSize  = 12.0
	labelRoom  = 210.0 // at most, for the subjects
	valueRoom  = 118.0
	axisHeight = 42.0
)

// Throughput draws a bar for each subject under each of the works, in their
// order. The scale is logarithmic: subjects may lie a hundredfold apart.
func Throughput(r Report, works []string) []byte {
	groups := r.groups(works, Cell.isThroughput)
	f := figure{
		name:     "throughput",
		title:    "Requests per second",
		subtitle: "More is better. The scale is logarithmic; a whisker runs from the slowest repeat to the fastest.",
		desc:     describe(groups, Cell.rate),
		foot:     r.footnote(),
	}
	var values []float64
	for _, g := range groups {
		for _, s := range g.shown {
			values = append(values, s.Value.Median, s.Value.Max, s.Value.Median/2) // half: the shortest bar is seen
		}
	}
	low, high, ok := bounds(values)
	if !ok {
		return f.nothing()
	}
	left := margin + widestLabel(groups, labelSize, labelRoom) + 10
	scale := logScale{low: low, high: high, from: left, to: chartWidth - margin - valueRoom}
	y := headHeight
	for _, g := range groups {
		y = f.bars(g, scale, y)
	}
	f.valueAxis(scale, y-groupGap, "requests per second, logarithmic", plain)
	f.height = y - groupGap + axisHeight - headHeight
	return f.render()
}

func (c Cell) isThroughput() bool { return strings.HasSuffix(c.Unit, "/s") }

func (c Cell) rate() string {
	text := short(c.Value.Median, c.Unit)
	if c.Errors > 0 {
		text += ", errors"
	}
	return text
}

// bars draws one group and returns where the next begins.
func (f *figure) bars(g group, scale logScale, y float64) float64 {
	f.text(margin, y+13, pen{size: titleSize, fill: ink, bold: true}, fit(g.title, titleSize*bolder, inner))
	y += groupHead
	f.grid(scale, y-4, y+barStep*float64(len(g.shown))-1)
	for _, s := range g.shown {
		middle := y + barHeight/2
		end := scale.at(s.Value.Median)
		f.text(scale.from-10, middle+4, pen{size: labelSize, fill: ink, anchor: "end", bold: s.rank == own},
			fit(s.label, labelSize, labelRoom))
		f.rect(scale.from, y, end-scale.from, barHeight, fmt.Sprintf(`fill="%s"`, s.fill))
		if _, repeated := s.Value.deviation(); repeated {
			end = max(end, f.whisker(scale.at(s.Value.Min), scale.at(s.Value.Max), middle))
		}
		f.text(end+8, middle+4, pen{size: labelSize, fill: ink, bold: s.rank == own, halo: true}, s.rate())
		y += barStep
	}
	return y + groupGap
}

// whisker returns where it ends.
func (f *figure) whisker(from, to, y float64) float64 {
	const half, width = 3, 1.2
	f.line(from, y, to, y, width, ink)
	f.line(from, y-half, from, y+half, width, ink)
	f.line(to, y-half, to, y+half, width, ink)
	return to
}

// grid draws a line at each tick, beside the bars and not through the titles.
func (f *figure) grid(scale logScale, top, bottom float64) {
	for _, v := range scale.ticks() {
		f.line(scale.at(v), top, scale.at(v), bottom, 1, lines)
	}
}

func (f *figure) valueAxis(scale logScale, y float64, label string, format func(float64) string) {
	for _, v := range scale.ticks() {
		f.text(scale.at(v), y+14, pen{size: footSize, fill: soft, anchor: "middle"}, format(v))
	}
	f.text((scale.from+scale.to)/2, y+32, pen{size: footSize, fill: soft, anchor: "middle"}, label)
}
