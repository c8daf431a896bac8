package cli

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/itchyny/gojq"
	"github.com/mattn/go-runewidth"
	"github.com/spf13/cobra"
)

// format is how a command writes its result.
type format struct {
	json bool
	jq   string
	csv  bool

	query *gojq.Code
}

// bind adds the flags of the result. Only lists can be written as CSV.
func (f *format) bind(c *cobra.Command, rows bool) {
	c.Flags().BoolVar(&f.json, "json", false, "write the data of the API as JSON")
	c.Flags().StringVar(&f.jq, "jq", "", "write what a jq expression makes of the JSON")
	if rows {
		c.Flags().BoolVar(&f.csv, "csv", false, "write the rows as CSV")
		c.MarkFlagsMutuallyExclusive("json", "csv")
		c.MarkFlagsMutuallyExclusive("jq", "csv")
	}
	// A mistake in the expression must be told before anything is done.
	c.PreRunE = func(*cobra.Command, []string) (err error) {
		if f.jq != "" {
			f.query, err = compileJQ(f.jq)
		}
		return err
	}
}

func compileJQ(expression string) (*gojq.Code, error) {
	query, err := gojq.Parse(expression)
	if err != nil {
		return nil, usageError{fmt.Errorf("--jq: %w", err)}
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, usageError{fmt.Errorf("--jq: %w", err)}
	}
	return code, nil
}

// table is a result as people read it.
type table struct {
	columns []string
	rows    [][]string
	empty   string // what is said where there are no rows
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write writes a result: the value as JSON, or the text that people read.
func (f format) write(t Terminal, value any, people func(w io.Writer) error) error {
	switch {
	case f.jq != "":
		return f.writeJQ(t, value)
	case f.json:
		return writeJSON(t, value)
	}
	return people(t.Out)
}

// writeTable writes a list.
func (f format) writeTable(t Terminal, value any, rows *table) error {
	if f.csv {
		if isTerminal(t.Out) {
			for i := range rows.rows {
				rows.rows[i] = clean(rows.rows[i])
			}
		}
		return writeCSV(t.Out, rows)
	}
	return f.write(t, value, func(w io.Writer) error {
		if len(rows.rows) == 0 {
			// Whoever reads the output of a pipe wants rows alone.
			_, err := fmt.Fprintln(t.Err, rows.empty)
			return err
		}
		return rows.print(t, w)
	})
}

func writeJSON(t Terminal, value any) error {
	encoder := json.NewEncoder(t.Out)
	encoder.SetEscapeHTML(false)
	if isTerminal(t.Out) {
		encoder.SetIndent("", "  ")
	}
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

func (f format) writeJQ(t Terminal, value any) error {
	query := f.query
	if query == nil {
		var err error
		if query, err = compileJQ(f.jq); err != nil {
			return err
		}
	}
	shown := func(text string) string { return text }
	if isTerminal(t.Out) {
		shown = printable
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	var plain any
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	if err := decoder.Decode(&plain); err != nil {
		return fmt.Errorf("read the result: %w", err)
	}
	found := query.Run(plain)
	for {
		one, more := found.Next()
		if !more {
			return nil
		}
		if err, failed := one.(error); failed {
			return fmt.Errorf("--jq: %w", err)
		}
		if text, ok := one.(string); ok {
			_, err = fmt.Fprintln(t.Out, shown(text))
		} else {
			var line []byte
			if line, err = gojq.Marshal(one); err == nil {
				_, err = fmt.Fprintln(t.Out, string(line))
			}
		}
		if err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
	}
}

func writeCSV(w io.Writer, rows *table) error {
	out := csv.NewWriter(w)
	if err := out.Write(rows.columns); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	if err := out.WriteAll(rows.rows); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

const gap = 2

// print writes the table, fitted to the screen: the widest columns give way.
// Without a screen, cells are separated by tabs and nothing is cut.
func (t *table) print(term Terminal, w io.Writer) error {
	screen := term.width()
	if screen == 0 {
		for _, row := range t.rows {
			if _, err := fmt.Fprintln(w, strings.Join(clean(row), "\t")); err != nil {
				return fmt.Errorf("write the result: %w", err)
			}
		}
		return nil
	}
	ascii := !term.unicode()
	head := make([]string, len(t.columns))
	for i, name := range t.columns {
		head[i] = strings.ToUpper(name)
	}
	all := append([][]string{head}, t.rows...)
	for i := range all {
		all[i] = clean(all[i])
		if ascii {
			for k := range all[i] {
				all[i][k] = toASCII(all[i][k])
			}
		}
	}
	widths := fit(all, screen)
	bold := term.coloured(term.Out)
	for i, row := range all {
		var line strings.Builder
		for k, cell := range row {
			cell = shortened(cell, widths[k], ascii)
			line.WriteString(cell)
			if k < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[k]-runewidth.StringWidth(cell)+gap))
			}
		}
		text := strings.TrimRight(line.String(), " ")
		if i == 0 && bold {
			text = "\x1b[1m" + text + "\x1b[0m"
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
	}
	return nil
}

// fit decides how wide columns are: as wide as their content where there is room,
// else the widest give way, but not below a readable minimum, and ids last: one that
// is cut cannot be copied.
func fit(rows [][]string, screen int) []int {
	const least = 8
	widths := make([]int, len(rows[0]))
	total := gap * (len(widths) - 1)
	for k := range widths {
		for _, row := range rows {
			widths[k] = max(widths[k], runewidth.StringWidth(row[k]))
		}
		total += widths[k]
	}
	for _, spared := range []string{"ID", ""} {
		for total > screen {
			widest := -1
			for k := range widths {
				if rows[0][k] != spared && widths[k] > least && (widest < 0 || widths[k] > widths[widest]) {
					widest = k
				}
			}
			if widest < 0 {
				break
			}
			widths[widest]--
			total--
		}
	}
	return widths
}

func shortened(text string, width int, ascii bool) string {
	if runewidth.StringWidth(text) <= width {
		return text
	}
	end := "…"
	if ascii {
		end = "..."
	}
	return runewidth.Truncate(text, width, end)
}

// clean keeps what a stranger wrote from moving the cursor or breaking the lines.
func clean(row []string) []string {
	out := make([]string, len(row))
	for i, cell := range row {
		out[i] = printable(cell)
	}
	return out
}

func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d':
			return -1
		}
		return r
	}, text)
}

func toASCII(text string) string {
	return strings.Map(func(r rune) rune {
		if r > '~' {
			return '?'
		}
		return r
	}, text)
}

// pairs writes one thing, a line a property.
func writePairs(t Terminal, w io.Writer, pairs ...string) error {
	wide := 0
	for i := 0; i+1 < len(pairs); i += 2 {
		wide = max(wide, runewidth.StringWidth(pairs[i]))
	}
	bold := t.coloured(t.Out)
	for i := 0; i+1 < len(pairs); i += 2 {
		name := pairs[i] + strings.Repeat(" ", wide-runewidth.StringWidth(pairs[i])+gap)
		if bold {
			name = "\x1b[1m" + name + "\x1b[0m"
		}
		value := printable(pairs[i+1])
		if !t.unicode() && isTerminal(t.Out) {
			value = toASCII(value)
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(name+value, " ")); err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
	}
	return nil
}

// writeJQ writes what an expression makes of a value.
func writeJQ(w io.Writer, expression string, value any) error {
	return format{jq: expression}.writeJQ(Terminal{Out: w}, value)
}
