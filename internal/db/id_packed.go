package db

import (
	"encoding/binary"
	"strings"
)

// Tables that there are millions of rows of store an id as the 16 bytes that its 26
// characters stand for. They sort as the text does. The prefix is the same in the whole
// column and is not stored.

// packed is the width of a stored id. SQLite keeps it as a BLOB and PostgreSQL as a uuid.
type packed = [16]byte

// PackID returns the parameter of a statement that stands for an id. A text that is not
// an id with that prefix becomes NULL, which no row equals: whoever asks for it is told
// that there is no such thing. Only the spelling that NewID makes is an id.
func PackID(prefix, id string) any {
	if len(id) != len(prefix)+1+idDigits || id[:len(prefix)] != prefix || id[len(prefix)] != '_' || id[len(prefix)+1] > '7' {
		return nil // 26 characters have room for 130 bits: the first one has three
	}
	var hi, lo uint64
	for _, c := range []byte(id[len(prefix)+1:]) {
		bits := strings.IndexByte(crockford, c)
		if bits < 0 {
			return nil
		}
		hi = hi<<5 | lo>>59
		lo = lo<<5 | uint64(bits)
	}
	var out packed
	binary.BigEndian.PutUint64(out[:8], hi)
	binary.BigEndian.PutUint64(out[8:], lo)
	return out
}

// PackBelow returns the parameter for the upper bound of a list: a position that no id
// reaches, such as the one where lists that begin with the newest row begin, is above
// all of them.
func PackBelow(prefix, position string) any {
	if id := PackID(prefix, position); id != nil {
		return id
	}
	var highest packed
	for i := range highest {
		highest[i] = 0xff
	}
	return highest
}

// UnpackID returns the id that a column of a row holds.
func UnpackID(prefix string, r Rows, column int) string {
	return string(AppendID(make([]byte, 0, len(prefix)+1+idDigits), prefix, r.Raw(column)))
}

// AppendID appends the id that is stored as these bytes.
func AppendID(dst []byte, prefix string, stored []byte) []byte {
	return appendID(dst, prefix, binary.BigEndian.Uint64(stored[:8]), binary.BigEndian.Uint64(stored[8:]))
}
