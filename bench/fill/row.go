package fill

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bursar/internal/db"
)

// Row is a row that the product has written, made ready to be inserted again with other
// values. The benchmark knows which values vary, but not the columns of the product's tables.
type Row struct {
	Columns []string
	values  []func(i int) any
}

// Values returns the values of the i-th copy of the row, in the order of Columns.
func (r Row) Values(i int) []any {
	out := make([]any, len(r.values))
	for column, value := range r.values {
		out[column] = value(i)
	}
	return out
}

// Vary describes how the copies of a row differ from it.
type Vary struct {
	Texts   []Text                   // what to replace, wherever it occurs in a text
	At      func(int) int64          // time of the i-th copy, in Unix milliseconds
	Columns map[string]func(int) any // values of whole columns, where a table has them
}

// Text is replaced by another in each copy.
type Text struct {
	Old string
	New func(i int) string
}

// newIDs matches the ids in texts that the product creates for each request: of the entry or
// the payout, of its transaction in the ledger, and of the request.
var newIDs = regexp.MustCompile(`\b(entry|po|txn|req)_[0-9a-z]{26}`)

// isTime reports whether a number is a time: Unix milliseconds of the years 2001 to 2286.
func isTime(n int64) bool { return n > 1e12 && n < 1e13 }

// newRow prepares copies of a row.
func newRow(columns []string, values []any, v Vary) Row {
	r := Row{Columns: columns}
	texts := slices.Concat(v.Texts, derived(values, v.At))
	for i, value := range values {
		if column, ok := v.Columns[columns[i]]; ok {
			r.values = append(r.values, column)
		} else {
			r.values = append(r.values, vary(value, texts, v.At))
		}
	}
	return r
}

// derived returns the replacements of the new ids and times that occur in the values.
func derived(values []any, at func(int) int64) (out []Text) {
	for _, value := range values {
		switch value := value.(type) {
		case string:
			for _, id := range newIDs.FindAllString(value, -1) {
				prefix, _, _ := strings.Cut(id, "_")
				out = append(out, Text{id, func(i int) string { return db.FirstID(prefix, at(i)) }})
			}
		case int64:
			if isTime(value) {
				out = append(out, Text{strconv.FormatInt(value, 10), func(i int) string { return strconv.FormatInt(at(i), 10) }})
			}
		}
	}
	return out
}

func vary(value any, texts []Text, at func(int) int64) func(int) any {
	switch value := value.(type) {
	case int64:
		if isTime(value) {
			return func(i int) any { return at(i) }
		}
	case [16]byte: // an id, as the product stores it
		for _, t := range texts {
			if pack(t.Old) == value {
				return func(i int) any { return pack(t.New(i)) }
			}
		}
		return func(i int) any { return pack(db.FirstID("new", at(i))) }
	case string:
		if parts := split(value, texts); len(parts) > 1 {
			return func(i int) any {
				var out strings.Builder
				for _, part := range parts {
					out.WriteString(part(i))
				}
				return out.String()
			}
		}
	}
	return func(int) any { return value }
}

// pack is an id as the product stores it, or nil.
func pack(id string) any {
	prefix, _, _ := strings.Cut(id, "_")
	return db.PackID(prefix, id)
}

// split cuts a text into parts that stay and parts that are replaced. Where two
// replacements match at the same place, the first one is used.
func split(text string, texts []Text) (parts []func(int) string) {
	for {
		at, found := len(text), -1
		for i, t := range texts {
			if place := strings.Index(text, t.Old); place >= 0 && place < at {
				at, found = place, i
			}
		}
		before := text[:at]
		parts = append(parts, func(int) string { return before })
		if found < 0 {
			return parts
		}
		parts = append(parts, texts[found].New)
		text = text[at+len(texts[found].Old):]
	}
}
