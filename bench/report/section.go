package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// section is one table of the report and what has to be said below it.
type section struct {
	title string
	table grid
	notes []string
}

// grid is a table of texts. Columns up to left are aligned left, the others
// right; the column flex gives way where the room is short.
type grid struct {
	head []string
	rows [][]string
	left int
	flex int
}

// mixed is the family whose latencies matter most.
const mixed = "mixed"

type family struct{ name, title string }

func families() []family {
	return []family{
		{"whoami", "Who am I"},
		{"list", "List"},
		{"deep", "Deep page"},
		{"create", "Create"},
		{"update", "Update"},
		{"read", "Single read"},
		{"audit", "Audit log"},
		{"token", "Key exchange"},
		{mixed, "Mixed load"},
		{"start", "Start to first answer"},
		{"memory", "Memory"},
		{"size", "Size of the binary"},
		{"disk", "Space on disk"},
	}
}

// sections has the goals first, then a table for each family of works.
func (r Report) sections() []section {
	var out []section
	if len(r.Goals) > 0 {
		out = append(out, goalSection(r.Goals))
	}
	for _, f := range r.familiesFound() {
		cells := r.cellsOf(f.name)
		out = append(out, r.workSection(f, cells))
		if f.name == mixed {
			out = append(out, r.latencySections(cells)...)
		}
	}
	return out
}

func goalSection(goals []Goal) section {
	table := grid{head: []string{"", "goal", "want", "got", "spread"}, left: 2, flex: 1}
	for _, g := range goals {
		text := g.Text
		if g.Absent != "" {
			text += " (" + g.Absent + ")"
		}
		table.rows = append(table.rows, []string{g.state(), text, g.want(), g.got(), g.spread()})
	}
	return section{title: "Goals: " + tally(goals), table: table}
}

// familiesFound is in the usual order; families it does not know come last.
func (r Report) familiesFound() []family {
	found := families()
	found = slices.DeleteFunc(found, func(f family) bool { return len(r.cellsOf(f.name)) == 0 })
	for _, cell := range r.Cells {
		name := cell.family()
		if !slices.ContainsFunc(found, func(f family) bool { return f.name == name }) {
			found = append(found, family{name, capital(name)})
		}
	}
	return found
}

func (r Report) workSection(f family, cells []Cell) section {
	subjects := r.subjectsOf(cells)
	out := section{title: f.title, table: grid{head: []string{""}, left: 1}}
	for _, subject := range subjects {
		out.table.head = append(out.table.head, subject.title())
	}
	for _, work := range worksOf(cells) {
		row := []string{""}
		for _, subject := range subjects {
			cell, ok := find(cells, work, subject.Name)
			if !ok {
				row = append(row, "")
				continue
			}
			row = append(row, cell.text())
			if row[0] == "" {
				row[0] = cell.title()
			}
			if cell.Errors > 0 {
				out.notes = append(out.notes, fmt.Sprintf("! %s, %s: %s errors",
					cell.title(), subject.title(), plain(float64(cell.Errors))))
			}
		}
		out.table.rows = append(out.table.rows, row)
	}
	return out
}

// latencySections are for the mixed load, whose point is its slowest answers.
func (r Report) latencySections(cells []Cell) []section {
	var out []section
	for _, work := range worksOf(cells) {
		s := section{table: grid{head: []string{"", "p50", "p90", "p99", "p99.9", "slowest"}, left: 1}}
		for _, subject := range r.subjectsOf(cells) {
			cell, ok := find(cells, work, subject.Name)
			if !ok || cell.Latency == nil {
				continue
			}
			s.title = "Latency: " + cell.title()
			row := []string{subject.title()}
			for _, ms := range append(cell.Latency.percentiles(), cell.Latency.Max) {
				row = append(row, short(ms, "ms"))
			}
			s.table.rows = append(s.table.rows, row)
		}
		if len(s.table.rows) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// text has the deviation padded, so that numbers stand in line.
func (c Cell) text() string {
	text := short(c.Value.Median, c.Unit)
	if c.Errors > 0 {
		text = "!" + text
	}
	return fmt.Sprintf("%s %4s", text, c.Value.plusMinus())
}

func (s Spread) plusMinus() string {
	percent, ok := s.deviation()
	if !ok {
		return ""
	}
	return fmt.Sprintf("±%.0f%%", percent)
}

func (r Report) headline() []string {
	return []string{
		r.Machine,
		r.date(),
		"load by " + r.Generator,
		"took " + duration(r.Took),
	}
}

func (r Report) date() string { return r.Started.UTC().Format("2 January 2006, 15:04 UTC") }

func (r Report) versions() []string {
	var out []string
	for _, s := range r.Subjects {
		out = append(out, strings.TrimSpace(s.title()+" "+s.Version))
	}
	return out
}

func capital(s string) string {
	for i, first := range s {
		return string(unicode.ToUpper(first)) + s[i+len(string(first)):]
	}
	return s
}
