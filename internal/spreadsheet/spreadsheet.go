// Package spreadsheet writes CSV that is safe to open in a spreadsheet, and undoes its escapes.
//
// A spreadsheet runs a cell that begins like a formula, whether it is quoted or not. People choose names, labels and fields. So a cell
// could run a formula of theirs in the program of the person who opens the file. An apostrophe before the cell makes it a text.
package spreadsheet

import (
	"encoding/csv"
	"io"
	"strings"
	"unicode/utf8"
)

// starts are the characters that begin a formula, or that a spreadsheet skips before one. They are those that OWASP names, with the
// full-width forms that some spreadsheets treat the same.
const starts = "=+-@\t\r\n\x00＝＋－＠"

// isFormula reports whether a spreadsheet could run a cell if it had no apostrophes. Leading apostrophes are skipped, so a cell that begins
// with one of its own gets another. Unescape removes no more than Escape added.
func isFormula(cell string) bool {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(strings.TrimLeft(cell, "'"), " "))
	return strings.ContainsRune(starts, first)
}

// Escape puts an apostrophe before a cell that a spreadsheet could run. Every other cell is unchanged.
func Escape(cell string) string {
	if isFormula(cell) {
		return "'" + cell
	}
	return cell
}

// Unescape removes the apostrophe that Escape added. A cell that Escape has not seen is unchanged, unless it has an apostrophe before a
// formula.
func Unescape(cell string) string {
	if rest, ok := strings.CutPrefix(cell, "'"); ok && isFormula(rest) {
		return rest
	}
	return cell
}

// Writer writes CSV whose cells are escaped.
type Writer struct {
	csv *csv.Writer
	raw bool
}

// NewWriter returns a Writer that separates cells by a comma or the given delimiter. With raw it escapes nothing: for machines, which would
// treat the apostrophe as a part of the cell.
func NewWriter(to io.Writer, comma rune, raw bool) *Writer {
	w := &Writer{csv.NewWriter(to), raw}
	w.csv.Comma = comma
	return w
}

// Write writes a line. It does not modify the caller's cells.
func (w *Writer) Write(cells ...string) error {
	if !w.raw {
		escaped := make([]string, len(cells))
		for i, cell := range cells {
			escaped[i] = Escape(cell)
		}
		cells = escaped
	}
	return w.csv.Write(cells)
}

// Flush writes what is buffered, and returns the first error of any write.
func (w *Writer) Flush() error {
	w.csv.Flush()
	return w.csv.Error()
}
