package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	usualWidth = 100
	gap        = "  "
	narrowest  = 24 // columns left to texts that give way
)

// Table writes the report for a terminal of that many columns; 0 means 100.
func (r Report) Table(w io.Writer, width int) error {
	if width <= 0 {
		width = usualWidth
	}
	var out bytes.Buffer
	writeWrapped(&out, "", r.headline(), " · ", width)
	writeWrapped(&out, "", r.versions(), " · ", width)
	for _, s := range r.sections() {
		fmt.Fprintf(&out, "\n%s\n", s.title)
		for i, table := range s.table.split(width) {
			if i > 0 {
				out.WriteByte('\n')
			}
			table.write(&out, width)
		}
		for _, note := range s.notes {
			writeWrapped(&out, "  ", strings.Fields(note), " ", width)
		}
	}
	if len(r.Skipped) > 0 {
		out.WriteString("\nSkipped\n")
	}
	for _, line := range r.Skipped {
		writeWrapped(&out, "  ", strings.Fields(line), " ", width)
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}

// split makes tables of fewer columns where one would be too wide, as few and
// as even as can be. Each repeats the column on the left.
func (g grid) split(width int) []grid {
	columns := len(g.head) - g.left
	for parts := 1; parts < columns; parts++ {
		if tables := g.inParts(parts); !slices.ContainsFunc(tables, func(t grid) bool { return t.least() > width }) {
			return tables
		}
	}
	return g.inParts(max(columns, 1))
}

func (g grid) inParts(parts int) []grid {
	columns := len(g.head) - g.left
	var out []grid
	for i := range parts {
		from, to := g.left+columns*i/parts, g.left+columns*(i+1)/parts
		out = append(out, g.columns(0, g.left).beside(g.columns(from, to)))
	}
	return out
}

// least is the width of the table when it has given way.
func (g grid) least() int {
	total := len(gap) * len(g.head)
	for i := range g.head {
		if i == g.flex {
			total += min(g.width(i), narrowest)
			continue
		}
		total += g.width(i)
	}
	return total
}

func (g grid) columns(from, to int) grid {
	part := grid{head: slices.Clone(g.head[from:to]), left: g.left, flex: g.flex}
	for _, row := range g.rows {
		part.rows = append(part.rows, slices.Clone(row[from:to]))
	}
	return part
}

func (g grid) beside(other grid) grid {
	g.head = append(g.head, other.head...)
	for i := range g.rows {
		g.rows[i] = append(g.rows[i], other.rows[i]...)
	}
	return g
}

// width is what the column's cells need; a head is wrapped to its words.
func (g grid) width(column int) int {
	widest := 0
	for _, word := range strings.Fields(g.head[column]) {
		widest = max(widest, utf8.RuneCountInString(word))
	}
	for _, row := range g.rows {
		widest = max(widest, utf8.RuneCountInString(row[column]))
	}
	return widest
}

func (g grid) write(out *bytes.Buffer, width int) {
	widths := make([]int, len(g.head))
	total := len(gap) * len(g.head)
	for i := range g.head {
		widths[i] = g.width(i)
		total += widths[i]
	}
	if over := total - width; over > 0 {
		widths[g.flex] = max(widths[g.flex]-over, min(widths[g.flex], narrowest))
		total = width
	}
	g.writeRow(out, g.head, widths, true)
	fmt.Fprintf(out, "%s%s\n", gap, strings.Repeat("─", total-len(gap)))
	for _, row := range g.rows {
		g.writeRow(out, row, widths, false)
	}
}

// writeRow wraps cells that are too wide; a head stands at its bottom line.
func (g grid) writeRow(out *bytes.Buffer, row []string, widths []int, head bool) {
	cells := make([][]string, len(row))
	height := 0
	for i, text := range row {
		cells[i] = []string{text}
		if utf8.RuneCountInString(text) > widths[i] {
			cells[i] = wrap(phrases(text, widths[i]), " ", widths[i])
		}
		height = max(height, len(cells[i]))
	}
	for line := range height {
		var text strings.Builder
		for i, lines := range cells {
			at := line
			if head {
				at -= height - len(lines)
			}
			cell := ""
			if at >= 0 && at < len(lines) {
				cell = lines[at]
			}
			text.WriteString(gap + pad(cell, widths[i], i >= g.left))
		}
		out.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
}

func pad(text string, width int, right bool) string {
	space := strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0))
	if right {
		return space + text
	}
	return text + space
}

func writeWrapped(out *bytes.Buffer, indent string, parts []string, separator string, width int) {
	for _, line := range wrap(parts, separator, width-len(indent)) {
		out.WriteString(indent + line + "\n")
	}
}

// phrases parts text at its commas or, where that is too coarse, at its spaces.
func phrases(text string, width int) []string {
	parts := strings.SplitAfter(text, ", ")
	for i, part := range parts {
		parts[i] = strings.TrimSpace(part)
		if utf8.RuneCountInString(parts[i]) > width {
			return strings.Fields(text)
		}
	}
	return parts
}

// wrap joins the parts to lines no wider than width, where no part is wider.
func wrap(parts []string, separator string, width int) []string {
	var lines []string
	line := ""
	for _, part := range parts {
		joined := line + separator + part
		switch {
		case line == "":
			line = part
		case utf8.RuneCountInString(joined) > width:
			lines = append(lines, line)
			line = part
		default:
			line = joined
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
