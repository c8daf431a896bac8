package term

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Table is a list in the form for people.
type Table struct {
	Columns []string
	Detail  []string // columns that a screen omits, in this order, until the rest is readable
	Empty   string   // message if there are no rows

	rows [][]string
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

// gap is the number of spaces between two columns.
const gap = 2

// print writes the table. On a screen it fits the width, unless wide is set. It shortens ids first, then omits details, then cuts the
// widest columns. Elsewhere cells are separated by tabs and nothing is cut.
func (t *Table) print(terminal Terminal, w io.Writer, wide bool) error {
	screen := terminal.Width()
	if screen == 0 {
		for _, row := range t.rows {
			if _, err := fmt.Fprintln(w, strings.Join(printableAll(row), "\t")); err != nil {
				return fmt.Errorf("write the result: %w", err)
			}
		}
		return nil
	}
	all := t.cells(terminal)
	var layout Layout
	if wide {
		layout = terminal.layout(naturalWidths(all))
	} else {
		all = t.narrow(all, screen, ellipsis(terminal.Unicode()))
		layout = terminal.Fit(all)
	}
	bold := terminal.Colored(terminal.Out)
	for i, row := range all {
		text := strings.TrimRight(layout.Line(row, nil), " ")
		if i == 0 && bold {
			text = "\x1b[1m" + text + "\x1b[0m"
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
	}
	return nil
}

// cells returns the head and the rows in characters that the terminal can show.
func (t *Table) cells(terminal Terminal) [][]string {
	head := make([]string, len(t.Columns))
	for i, name := range t.Columns {
		head[i] = strings.ToUpper(name)
	}
	all := append([][]string{head}, t.rows...)
	for i := range all {
		all[i] = terminal.Cells(all[i]...)
	}
	return all
}

// narrow removes the least important parts if the table does not fit: first the middle of ids, then columns of Detail.
func (t *Table) narrow(all [][]string, screen int, ellipsis string) [][]string {
	if total(naturalWidths(all)) > screen {
		for _, row := range all {
			for k, cell := range row {
				row[k] = shortenID(cell, ellipsis)
			}
		}
	}
	columns := slices.Clone(t.Columns)
	for _, name := range t.Detail {
		k := slices.Index(columns, name)
		if k < 0 || readable(all, screen) {
			continue
		}
		columns = slices.Delete(columns, k, k+1)
		for i := range all {
			all[i] = slices.Delete(all[i], k, k+1)
		}
	}
	return all
}

// readable reports whether the rows fit the screen without a column that is cut beyond recognition.
func readable(rows [][]string, screen int) bool {
	const enough = 24
	widths := fit(rows, screen)
	for k, natural := range naturalWidths(rows) {
		if widths[k] < min(natural, enough) {
			return false
		}
	}
	return total(widths) <= screen
}

// Layout contains the widths of columns. Lines written with it are aligned.
type Layout struct {
	widths  []int
	unicode bool
}

// Fit returns a layout for rows like those of the sample, as wide as the screen. If the output is not a screen, cells are separated by
// tabs.
func (t Terminal) Fit(sample [][]string) Layout {
	screen := t.Width()
	if screen == 0 {
		return Layout{}
	}
	return t.layout(fit(sample, screen))
}

func (t Terminal) layout(widths []int) Layout { return Layout{widths, t.Unicode()} }

// Cells returns a row in characters that the terminal can show, for Layout.Line.
func (t Terminal) Cells(row ...string) []string {
	cells := printableAll(row)
	if IsTerminal(t.Out) && !t.Unicode() {
		for k := range cells {
			cells[k] = toASCII(cells[k])
		}
	}
	return cells
}

// Truncate cuts text to a width and marks the cut.
func (t Terminal) Truncate(text string, width int) string {
	return runewidth.Truncate(text, width, ellipsis(t.Unicode()))
}

func ellipsis(unicode bool) string {
	if unicode {
		return "…"
	}
	return "..."
}

// Line writes cells as one line. If paint is not nil it may color a cell.
func (l Layout) Line(cells []string, paint func(k int, cell string) string) string {
	if l.widths == nil {
		return strings.Join(cells, "\t")
	}
	var line strings.Builder
	for k, cell := range cells {
		cell = runewidth.Truncate(cell, l.widths[k], ellipsis(l.unicode))
		pad := ""
		if k < len(cells)-1 {
			pad = strings.Repeat(" ", max(0, l.widths[k]-runewidth.StringWidth(cell))+gap)
		}
		if paint != nil {
			cell = paint(k, cell)
		}
		line.WriteString(cell + pad)
	}
	return line.String()
}

func naturalWidths(rows [][]string) []int {
	if len(rows) == 0 {
		return nil
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for k, cell := range row {
			widths[k] = max(widths[k], runewidth.StringWidth(cell))
		}
	}
	return widths
}

func total(widths []int) int {
	sum := gap * (len(widths) - 1)
	for _, width := range widths {
		sum += width
	}
	return sum
}

// fit narrows the widest columns until all fit the screen, but keeps each readable. Ids and times are useless when cut, so their columns
// are narrowed last.
func fit(rows [][]string, screen int) []int {
	const least = 8
	widths := naturalWidths(rows)
	rigid := make([]bool, len(widths))
	for _, row := range rows {
		for k, cell := range row {
			rigid[k] = rigid[k] || IsID(cell) || IsShortID(cell) || timePattern.MatchString(cell)
		}
	}
	for _, cutRigid := range []bool{false, true} {
		for sum := total(widths); sum > screen; sum-- {
			widest := -1
			for k, width := range widths {
				if width > least && (cutRigid || !rigid[k]) && (widest < 0 || width > widths[widest]) {
					widest = k
				}
			}
			if widest < 0 {
				break
			}
			widths[widest]--
		}
	}
	return widths
}

var timePattern = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}( \d{2}:\d{2}(:\d{2})?)?$`)
