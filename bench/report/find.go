package report

import (
	"cmp"
	"slices"
	"strings"
)

// Cell is what the subject did of the work, if it did it.
func (r Report) Cell(work, subject string) (Cell, bool) {
	return find(r.Cells, work, subject)
}

func find(cells []Cell, work, subject string) (Cell, bool) {
	at := slices.IndexFunc(cells, func(c Cell) bool { return c.Work == work && c.Subject == subject })
	if at < 0 {
		return Cell{}, false
	}
	return cells[at], true
}

func (r Report) cellsOf(family string) []Cell {
	var out []Cell
	for _, c := range r.Cells {
		if c.family() == family {
			out = append(out, c)
		}
	}
	return out
}

// worksOf is in the order in which the works first appear.
func worksOf(cells []Cell) []string {
	var out []string
	for _, c := range cells {
		if !slices.Contains(out, c.Work) {
			out = append(out, c.Work)
		}
	}
	return out
}

// subjectsOf is in the order of the report; those that it does not list come last.
func (r Report) subjectsOf(cells []Cell) []Subject {
	var out []Subject
	for _, s := range r.allSubjects() {
		if slices.ContainsFunc(cells, func(c Cell) bool { return c.Subject == s.Name }) {
			out = append(out, s)
		}
	}
	return out
}

func (r Report) allSubjects() []Subject {
	out := slices.Clone(r.Subjects)
	for _, c := range r.Cells {
		if !slices.ContainsFunc(out, func(s Subject) bool { return s.Name == c.Subject }) {
			out = append(out, Subject{Name: c.Subject})
		}
	}
	return out
}

func (c Cell) family() string {
	family, _, _ := strings.Cut(c.Work, "/")
	return family
}

func (c Cell) title() string    { return cmp.Or(c.Title, c.Work) }
func (s Subject) title() string { return cmp.Or(s.Title, s.Name) }
