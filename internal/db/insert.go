package db

import (
	"iter"
	"strconv"
)

// maxPiece is how many rows a statement inserts. 64 rows of the widest table, payout, have about
// 1,900 parameters; SQLite allows 32,766.
const maxPiece = 64

// Pieces splits a list for statements whose text depends on the number of values. Each length is
// another statement to prepare, so there are only a few: 64, 32, 16, and so on down to 1.
func Pieces[T any](list []T) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for size := maxPiece; len(list) > 0; size /= 2 {
			for ; len(list) >= size; list = list[size:] {
				if !yield(list[:size:size]) {
					return
				}
			}
		}
	}
}

// InsertRows inserts rows, many by one statement, which costs PostgreSQL and the driver far less than
// a statement for each. into is the text before the values. row is the values of one row in
// parentheses, in which $1 is the first value of the row; it has no other dollar signs.
func (tx *Tx) InsertRows(into, row string, rows [][]any) error {
	return tx.insertRows(into, row, "", rows)
}

func (tx *Tx) insertRows(into, row, after string, rows [][]any) error {
	for piece := range Pieces(rows) {
		if err := tx.insert(into, row, after, piece); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) insert(into, row, after string, rows [][]any) error {
	if len(rows) == 1 {
		return tx.Exec(into+row+after, rows[0]...)
	}
	text := append(make([]byte, 0, len(into)+len(rows)*(2*len(row))), into...)
	args := make([]any, 0, len(rows)*len(rows[0]))
	for i, one := range rows {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = renumbered(text, row, len(args))
		args = append(args, one...)
	}
	return tx.Exec(string(append(text, after...)), args...)
}

// renumbered appends text with by added to the numbers of its parameters.
func renumbered(to []byte, text string, by int) []byte {
	for i := 0; i < len(text); {
		to = append(to, text[i])
		if text[i] != '$' {
			i++
			continue
		}
		number := 0
		for i++; i < len(text) && '0' <= text[i] && text[i] <= '9'; i++ {
			number = 10*number + int(text[i]-'0')
		}
		to = strconv.AppendInt(to, int64(number+by), 10)
	}
	return to
}
