package report

import (
	"cmp"
	"slices"
)

type axes struct{ x, y logScale }

// panel draws own lines last, so that nothing covers them.
func (f *figure) panel(p panel, a axes, left, top float64) {
	f.text(left, top+14, pen{size: titleSize, fill: ink, bold: true}, fit(p.title, titleSize*bolder, a.x.to+panelRight-left))
	f.text(left, top+31, pen{size: footSize, fill: soft}, "median time")
	for _, ms := range a.y.ticks() {
		y := a.y.at(ms)
		f.line(a.x.from-8, y, a.x.to+6, y, 1, lines)
		f.text(a.x.from-14, y+4, pen{size: footSize, fill: soft, anchor: "end"}, quantity(ms, "ms", plain))
	}
	for _, rows := range p.rowCounts() {
		f.text(a.x.at(rows), a.y.from+18, pen{size: footSize, fill: soft, anchor: "middle"}, plain(rows))
	}
	f.text((a.x.from+a.x.to)/2, a.y.from+34, pen{size: footSize, fill: soft, anchor: "middle"}, "rows")

	drawn := slices.Clone(p.lines)
	slices.SortStableFunc(drawn, func(a, b rowLine) int { return cmp.Compare(a.rank, b.rank) })
	for _, l := range drawn {
		f.series(l, a)
	}
	f.lastValues(drawn, a)
}

func (p panel) rowCounts() []float64 {
	var out []float64
	for _, l := range p.lines {
		for _, s := range l.samples {
			out = append(out, float64(s.rows))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (f *figure) series(l rowLine, a axes) {
	width := 2.0
	if l.rank == own {
		width = 2.5
	}
	var points []point
	for _, s := range l.samples {
		points = append(points, point{a.x.at(float64(s.rows)), a.y.at(s.ms)})
	}
	f.polyline(points, width, l.fill)
	for _, at := range points {
		f.mark(l.shape, at, 3.8, l.fill, surface)
	}
}

// lastValues writes where each line ends, moved apart where they would touch.
func (f *figure) lastValues(lines []rowLine, a axes) {
	const apart = 13.0
	ends := slices.Clone(lines)
	slices.SortStableFunc(ends, func(a, b rowLine) int { return cmp.Compare(b.last().ms, a.last().ms) })
	places := make([]float64, len(ends))
	for i, l := range ends {
		places[i] = a.y.at(l.last().ms)
		if i > 0 {
			places[i] = max(places[i], places[i-1]+apart)
		}
	}
	for i := len(places) - 1; i >= 0; i-- {
		lowest := a.y.from
		if i < len(places)-1 {
			lowest = places[i+1] - apart
		}
		places[i] = min(places[i], lowest)
	}
	for i, l := range ends {
		x := a.x.at(float64(l.last().rows))
		f.text(x+10, places[i]+4, pen{size: footSize, fill: l.ink, bold: l.rank == own, halo: true}, short(l.last().ms, "ms"))
	}
}

func (l rowLine) last() sample { return l.samples[len(l.samples)-1] }

// legend names each subject once and returns where it ends.
func (f *figure) legend(panels []panel, y float64) float64 {
	const swatch, between = 34.0, 20.0
	x := margin
	var named []string
	for _, p := range panels {
		for _, l := range p.lines {
			if slices.Contains(named, l.label) {
				continue
			}
			named = append(named, l.label)
			text := fit(l.label, labelSize, labelRoom)
			width := swatch + textWidth(text, labelSize*bolder) + between
			if x > margin && x+width-between > chartWidth-margin {
				x = margin
				y += legendLine
			}
			f.polyline([]point{{x, y + 6}, {x + swatch - 8, y + 6}}, 3, l.fill)
			f.mark(l.shape, point{x + (swatch-8)/2, y + 6}, 4, l.fill, surface)
			f.text(x+swatch, y+10, pen{size: labelSize, fill: ink, bold: l.rank == own}, text)
			x += width
		}
	}
	return y + legendLine
}
