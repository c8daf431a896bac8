package db

import "strconv"

// Statement is a question or a change whose text depends on what it is about. Its text is made of
// constants alone: values go in as parameters.
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

// Limit ends a question with how many rows are wanted, at least: the number is part
// of the text, so that there are few of them. As a parameter it would keep PostgreSQL
// from planning once for all: not knowing it, it reckons with a tenth of the table.
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

// EachOf runs fn on every row of the answer to a statement.
func (q Q) EachOf(s *Statement, fn func(r Rows) error) error {
	return q.Each(fn, string(s.text), s.args...)
}

// ExecOf runs a statement whose answer does not matter. See Exec.
func (tx *Tx) ExecOf(s *Statement) error { return tx.Exec(string(s.text), s.args...) }
