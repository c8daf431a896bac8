package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Markdown writes the report for a page on GitHub.
func (r Report) Markdown(w io.Writer) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s.\n\n", escaped(strings.Join(r.headline(), " · ")))
	if versions := r.versions(); len(versions) > 0 {
		fmt.Fprintf(&out, "%s.\n\n", escaped(strings.Join(versions, " · ")))
	}
	out.WriteString("Numbers are the median of the repeats; ± is the repeat farthest from it.\n")
	for _, s := range r.sections() {
		fmt.Fprintf(&out, "\n### %s\n\n", escaped(s.title))
		s.table.markdown(&out)
		for _, note := range s.notes {
			fmt.Fprintf(&out, "\n%s\n", escaped(note))
		}
	}
	if len(r.Skipped) > 0 {
		out.WriteString("\n### Skipped\n\n")
	}
	for _, line := range r.Skipped {
		fmt.Fprintf(&out, "- %s\n", escaped(line))
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("writing the markdown: %w", err)
	}
	return nil
}

func (g grid) markdown(out *bytes.Buffer) {
	rule := strings.Repeat("---|", g.left) + strings.Repeat("--:|", len(g.head)-g.left)
	fmt.Fprintf(out, "%s|%s\n", markdownRow(g.head), rule)
	for _, row := range g.rows {
		out.WriteString(markdownRow(row))
	}
}

func markdownRow(cells []string) string {
	var line strings.Builder
	line.WriteString("|")
	for _, cell := range cells {
		text := escaped(cell)
		if text == "missed" {
			text = "**missed**"
		}
		line.WriteString(" " + text + " |")
	}
	return line.String() + "\n"
}

// escaped keeps text on one line and out of the way of tables, tags and emphasis.
func escaped(text string) string {
	replacer := strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "&", "&amp;",
		"*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "]", "\\]")
	return replacer.Replace(strings.Join(strings.Fields(text), " "))
}
