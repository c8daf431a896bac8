package term

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/spf13/cobra"

	"bursar/internal/spreadsheet"
)

// Format is the output format of a command: text for a person, unless a flag requests JSON, jq or CSV.
type Format struct {
	JSON bool
	CSV  bool
	JQ   *JQ
	wide bool
	raw  bool // whether CSV cells are written unchanged
}

// RawUsage is the help of the flag --raw of every command that writes CSV.
const RawUsage = "write CSV for machines, without the ' before what a spreadsheet would run"

// Bind adds the flags that choose the format. Only lists can be written as CSV.
func (f *Format) Bind(c *cobra.Command, list bool) {
	var expression string
	c.Flags().BoolVar(&f.JSON, "json", false, "write the API's data as JSON")
	c.Flags().StringVar(&expression, "jq", "", "apply a jq expression to the JSON and write its results")
	if list {
		c.Flags().BoolVar(&f.CSV, "csv", false, "write the rows as CSV")
		c.Flags().BoolVar(&f.raw, "raw", false, RawUsage)
		c.Flags().BoolVar(&f.wide, "wide", false, "show whole ids and all columns, even where lines get longer than the screen")
		c.MarkFlagsMutuallyExclusive("json", "csv")
		c.MarkFlagsMutuallyExclusive("jq", "csv")
	}
	c.PreRunE = func(*cobra.Command, []string) (err error) {
		if expression != "" {
			f.JQ, err = CompileJQ(expression)
		}
		return err
	}
}

// Write writes a result: the value as JSON, or else what forPerson writes.
func (f Format) Write(t Terminal, value any, forPerson func(w io.Writer) error) error {
	switch {
	case f.JQ != nil:
		return f.JQ.Write(t, value)
	case f.JSON:
		return WriteJSON(t, value)
	}
	return forPerson(t.Out)
}

// WriteTable writes a list: the value as JSON, or else the table.
func (f Format) WriteTable(t Terminal, value any, table *Table) error {
	if f.CSV {
		return f.writeCSV(t, table)
	}
	return f.Write(t, value, func(w io.Writer) error {
		if len(table.rows) == 0 {
			// This goes to standard error, because a pipe must contain only rows.
			_, err := fmt.Fprintln(t.Err, table.Empty)
			return err
		}
		return table.print(t, w, f.wide)
	})
}

// NewEncoder returns an encoder that does not escape <, > and &.
func NewEncoder(w io.Writer) *json.Encoder {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder
}

// WriteJSON writes a value as JSON: indented on a screen, else on one line.
func WriteJSON(t Terminal, value any) error {
	encoder := NewEncoder(t.Out)
	if IsTerminal(t.Out) {
		encoder.SetIndent("", "  ")
	}
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// WriteBody writes the body of an HTTP response: unchanged to a file or a pipe,
// indented and without control characters on a screen.
func WriteBody(t Terminal, body []byte) error {
	if IsTerminal(t.Out) {
		var pretty bytes.Buffer
		if json.Indent(&pretty, body, "", "  ") == nil {
			body = pretty.Bytes()
		}
		body = []byte(strings.Join(printableAll(strings.Split(string(body), "\n")), "\n"))
	}
	if len(body) > 0 && body[len(body)-1] != '\n' {
		body = append(body, '\n')
	}
	if _, err := t.Out.Write(body); err != nil {
		return fmt.Errorf("write the response: %w", err)
	}
	return nil
}

func (f Format) writeCSV(t Terminal, table *Table) error {
	out := spreadsheet.NewWriter(t.Out, ',', f.raw)
	err := out.Write(table.Columns...)
	for _, row := range table.rows {
		if IsTerminal(t.Out) {
			row = printableAll(row)
		}
		err = errors.Join(err, out.Write(row...))
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// WritePairs writes the properties of one object, each on a line. The arguments are alternating names and values.
func WritePairs(t Terminal, w io.Writer, pairs ...string) error {
	wide := 0
	for i := 0; i+1 < len(pairs); i += 2 {
		wide = max(wide, runewidth.StringWidth(pairs[i]))
	}
	bold := t.Colored(t.Out)
	for i := 0; i+1 < len(pairs); i += 2 {
		name := pairs[i] + strings.Repeat(" ", wide-runewidth.StringWidth(pairs[i])+gap)
		if bold {
			name = "\x1b[1m" + name + "\x1b[0m"
		}
		value := Printable(pairs[i+1])
		if !t.Unicode() && IsTerminal(t.Out) {
			value = toASCII(value)
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(name+value, " ")); err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
	}
	return nil
}
