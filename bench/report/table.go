package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Markdown returns the report as tables for GitHub. Their columns are padded, so that they
// read well on a terminal too.
func (r Report) Markdown() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s · %s · load by %s · took %s.\n\n", escape(r.Machine),
		r.Started.UTC().Format("2 January 2006, 15:04 UTC"), escape(r.Generator), duration(r.Took))
	var versions []string
	for _, s := range r.Subjects {
		versions = append(versions, escape(strings.TrimSpace(s.Title+" "+s.Version)))
	}
	fmt.Fprintf(&out, "%s.\n\nNumbers are medians of the repeats; ± is the distance of the repeat that is farthest from the median.\n", strings.Join(versions, " · "))
	r.writeGoals(&out)
	for _, section := range sections() {
		r.writeSection(&out, section)
	}
	if len(r.Skipped) > 0 {
		out.WriteString("\n### Skipped\n\n")
	}
	for _, line := range r.Skipped {
		fmt.Fprintf(&out, "- %s\n", escape(line))
	}
	return out.Bytes()
}

func (r Report) writeGoals(out *bytes.Buffer) {
	rows := [][]string{{"", "goal", "want", "got", "spread"}}
	for _, g := range r.Goals {
		state, text := g.state(), g.Text
		if state == "missed" {
			state = "**missed**"
		}
		if g.Absent != "" {
			text += " (" + g.Absent + ")"
		}
		rows = append(rows, []string{state, escape(text), g.want(), g.got(), g.spread()})
	}
	if len(r.Goals) > 0 {
		fmt.Fprintf(out, "\n### Goals: %s\n\n", tally(r.Goals))
		writeTable(out, rows, 2)
	}
}

// section is a table: the workloads whose names begin with prefix.
type section struct{ prefix, title string }

func sections() []section {
	return []section{
		{"whoami", "Who am I"}, {"list", "List"}, {"deep", "Deep page"}, {"create", "Create"}, {"update", "Update"}, {"import", "Import of a file"}, {"payout", "Payouts"}, {"balance", "Balances"}, {"postings", "Postings"},
		{"read", "Single read"}, {"sized", "Reads and creates by the size of the store"}, {"audit", "Audit log"}, {"delay", "From an action to the audit log, p99 under full load"}, {"token", "Key exchange"}, {"mixed", "Mixed load"},
		{"start", "Start to first answer"}, {"memory", "Memory"}, {"size", "Size of the binary"}, {"disk", "Space on disk"},
	}
}

func (r Report) writeSection(out *bytes.Buffer, s section) {
	var names []string
	of := map[string]bool{} // the subjects of the section
	for _, m := range r.Measurements {
		if prefix, _, _ := strings.Cut(m.Workload, "/"); prefix != s.prefix {
			continue
		}
		if of[m.Subject] = true; !slices.Contains(names, m.Workload) {
			names = append(names, m.Workload)
		}
	}
	if len(names) == 0 {
		return
	}
	fmt.Fprintf(out, "\n### %s\n\n", s.title)
	rows := [][]string{{""}}
	for _, subject := range r.Subjects {
		if of[subject.Name] {
			rows[0] = append(rows[0], escape(subject.Title))
		}
	}
	var notes []string
	for _, name := range names {
		row := []string{""}
		for _, subject := range r.Subjects {
			m, ok := r.Find(name, subject.Name)
			switch {
			case ok:
				row[0] = escape(m.Title)
				row = append(row, m.text())
			case of[subject.Name]:
				row = append(row, "")
			}
			if m.Errors > 0 {
				notes = append(notes, fmt.Sprintf("! %s, %s: %s errors\n", escape(m.Title), escape(subject.Title), plain(float64(m.Errors))))
			}
		}
		rows = append(rows, row)
	}
	writeTable(out, rows, 1)
	for _, note := range notes {
		out.WriteString("\n" + note)
	}
	r.writeLatency(out, names)
}

// writeLatency writes the percentiles of open loops.
func (r Report) writeLatency(out *bytes.Buffer, names []string) {
	for _, name := range names {
		rows := [][]string{append([]string{"latency"}, percentiles()...)}
		for _, subject := range r.Subjects {
			m, _ := r.Find(name, subject.Name)
			if m.Latency == nil {
				continue
			}
			row := []string{escape(subject.Title)}
			for _, ms := range m.Latency.all() {
				row = append(row, short(ms, "ms"))
			}
			rows = append(rows, row)
		}
		if len(rows) > 1 {
			out.WriteString("\n")
			writeTable(out, rows, 1)
		}
	}
}

func percentiles() []string { return []string{"p50", "p90", "p99", "p99.9", "slowest"} }

// text is the median and the deviation; an exclamation mark means that there were errors.
func (m Measurement) text() string {
	text := short(m.Value.Median, m.Unit)
	if m.Errors > 0 {
		text = "!" + text
	}
	if percent, ok := m.Value.deviation(); ok {
		text += fmt.Sprintf(" ±%.0f%%", percent)
	}
	return text
}

// writeTable writes rows, the first of which is the head. The first columns are aligned to the
// left, as many as left, all others to the right.
func writeTable(out *bytes.Buffer, rows [][]string, left int) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	for at, row := range rows {
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < left {
				cell += space
			} else {
				cell = space + cell
			}
			out.WriteString("| " + cell + " ")
		}
		out.WriteString("|\n")
		for i, width := range widths {
			switch {
			case at > 0: // the rule comes after the head only
			case i < left:
				out.WriteString("|" + strings.Repeat("-", width+2))
			default:
				out.WriteString("|" + strings.Repeat("-", width+1) + ":")
			}
		}
		if at == 0 {
			out.WriteString("|\n")
		}
	}
}

// escape keeps a text on one line and hides what Markdown would take for markup.
func escape(text string) string {
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "&", "&amp;",
		"*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "]", "\\]").Replace(strings.Join(strings.Fields(text), " "))
}
