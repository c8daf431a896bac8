package engine

import (
	"encoding/binary"
	"errors"
)

// Kind is the type of a column's values, independent of the engine's name for it.
type Kind byte

// The kinds of columns.
const (
	Int   Kind = 'i'
	Bool  Kind = 'b'
	Text  Kind = 't'
	Bytes Kind = 'x'
)

// Tag is the encoding of a value in a row.
type Tag byte

// The tags of values.
const (
	Null   Tag = iota
	Number     // a varint
	False
	True
	String // its length as a uvarint, then its bytes
	Blob   // as String
)

// ErrRow is the error of a row that ends too early or has an invalid tag.
var ErrRow = errors.New("a row is damaged")

// AppendRow writes the current row of a query in a format that is the same for both engines.
func AppendRow(dst []byte, r Rows, kinds []Kind) []byte {
	for i, kind := range kinds {
		switch {
		case r.Null(i):
			dst = append(dst, byte(Null))
		case kind == Int:
			dst = binary.AppendVarint(append(dst, byte(Number)), r.Int(i))
		case kind == Bool && r.Bool(i):
			dst = append(dst, byte(True))
		case kind == Bool:
			dst = append(dst, byte(False))
		default:
			value, tag := r.Raw(i), String
			if kind == Bytes {
				tag = Blob
			}
			dst = append(binary.AppendUvarint(append(dst, byte(tag)), uint64(len(value))), value...)
		}
	}
	return dst
}

// NextValue decodes the first value of a row and returns the rest. text is a part of row.
func NextValue(row []byte) (tag Tag, number int64, text, rest []byte, err error) {
	if len(row) == 0 {
		return 0, 0, nil, nil, ErrRow
	}
	tag, rest = Tag(row[0]), row[1:]
	switch tag {
	case Null, True, False:
	case Number:
		var n int
		if number, n = binary.Varint(rest); n <= 0 {
			return 0, 0, nil, nil, ErrRow
		}
		rest = rest[n:]
	case String, Blob:
		size, n := binary.Uvarint(rest)
		if n <= 0 || size > uint64(len(rest)-n) {
			return 0, 0, nil, nil, ErrRow
		}
		text, rest = rest[n:n+int(size)], rest[n+int(size):]
	default:
		return 0, 0, nil, nil, ErrRow
	}
	return tag, number, text, rest, nil
}
