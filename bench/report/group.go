package report

import (
	"fmt"
	"strings"
)

// group is what all subjects did of one work, in the order of the subjects.
type group struct {
	title string
	shown []shown
}

// shown is a cell and how its subject looks.
type shown struct {
	Cell
	paint
	label string
}

// groups leaves out works of which there is nothing to draw.
func (r Report) groups(works []string, drawable func(Cell) bool) []group {
	palette := r.palette()
	var out []group
	for _, work := range works {
		var g group
		for _, s := range r.allSubjects() {
			if cell, ok := r.Cell(work, s.Name); ok && drawable(cell) {
				g.shown = append(g.shown, shown{cell, palette[s.Name], s.title()})
			}
		}
		if len(g.shown) > 0 {
			g.title = g.shown[0].title()
			out = append(out, g)
		}
	}
	return out
}

func widestLabel(groups []group, size, most float64) float64 {
	widest := 0.0
	for _, g := range groups {
		for _, s := range g.shown {
			widest = max(widest, textWidth(s.label, size))
		}
	}
	return min(widest, most)
}

// describe says in words what the chart shows.
func describe(groups []group, value func(Cell) string) string {
	var out []string
	for _, g := range groups {
		var values []string
		for _, s := range g.shown {
			values = append(values, s.label+" "+value(s.Cell))
		}
		out = append(out, fmt.Sprintf("%s: %s.", g.title, strings.Join(values, ", ")))
	}
	return strings.Join(out, " ")
}

func (r Report) footnote() string {
	return fmt.Sprintf("%s. %s. Load by %s.", r.Machine, r.date(), r.Generator)
}

// nothing is the chart of works that were not measured.
func (f *figure) nothing() []byte {
	f.height = 40
	f.text(margin, headHeight+16, pen{size: 13, fill: ink}, "Nothing was measured.")
	f.desc = "Nothing was measured."
	return f.render()
}
