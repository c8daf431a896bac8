package db

import (
	"slices"
	"strconv"
)

// Statement builds SQL whose text depends on the request, such as on the filters
// of a list. Only constants become part of the text; values become parameters.
type Statement struct {
	text []byte
	args []any
}

// NewStatement begins a statement.
func NewStatement(text string, args ...any) *Statement {
	s := &Statement{text: make([]byte, 0, 512), args: make([]any, 0, 8)}
	s.Add(text, args...)
	return s
}

// Add appends a piece of the text, followed by a parameter for each argument.
func (s *Statement) Add(text string, args ...any) {
	s.text = append(s.text, text...)
	for i, arg := range args {
		if i > 0 {
			s.text = append(s.text, ", "...)
		}
		s.args = append(s.args, arg)
		s.text = append(s.text, '$')
		s.text = strconv.AppendInt(s.text, int64(len(s.args)), 10)
	}
}

// Limit ends the statement with a LIMIT of at least rows. It is part of the text, because
// PostgreSQL assumes that a LIMIT parameter means a tenth of the table. It is rounded up
// to a few values, so that there are few texts to prepare.
func (s *Statement) Limit(rows int) {
	for _, usual := range []int{26, 51, 101} {
		if rows <= usual {
			rows = usual
			break
		}
	}
	s.text = append(s.text, " LIMIT "...)
	s.text = strconv.AppendInt(s.text, int64(rows), 10)
}

// EachOf calls fn with every row of the result of a statement.
func (q Q) EachOf(s *Statement, fn func(r Rows) error) error {
	return q.Each(fn, string(s.text), s.args...)
}

// ExecOf runs a statement without a result. See Exec.
func (tx *Tx) ExecOf(s *Statement) error { return tx.Exec(string(s.text), s.args...) }

// Args returns a list as the arguments of Add.
func Args[T any](list []T) []any {
	args := make([]any, len(list))
	for i, one := range list {
		args[i] = one
	}
	return args
}

// AddList adds a non-empty list of values and the closing parenthesis. It repeats the last value to round up the length,
// because each number of values is another statement to prepare.
func (s *Statement) AddList(begin string, values []any) {
	size := 8
	for size < len(values) {
		size *= 8
	}
	padded := slices.Grow(slices.Clone(values), size-len(values))
	for len(padded) < size {
		padded = append(padded, values[len(values)-1])
	}
	s.Add(begin, padded...)
	s.Add(`)`)
}
