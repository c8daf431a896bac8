package db

import (
	"encoding/binary"
	"math/bits"

	"bursar/internal/db/engine"
)

// Tables with millions of rows store an id as the 16 bytes that its characters encode:
// SQLite as a BLOB, PostgreSQL as a uuid. The prefix is the same in the whole column and
// is not stored.

// PackID returns the parameter of a statement that stands for an id. A text that is not
// an id with that prefix becomes NULL, which equals no row, so the query finds nothing.
// Only the spelling that NewID produces is an id.
func PackID(prefix, id string) any {
	if packed, ok := engine.PackID(prefix, id); ok {
		return packed
	}
	return nil
}

// PackBelow returns the parameter for the upper bound of a list: an id, or the start
// position of a list with the newest row first, which is above all ids.
func PackBelow(prefix, position string) any {
	if packed, ok := engine.PackID(prefix, position); ok {
		return packed
	}
	var highest [16]byte
	for i := range highest {
		highest[i] = 0xff
	}
	return highest
}

// NextID returns the smallest id that is above another one.
func NextID(prefix, id string) string {
	packed, _ := engine.PackID(prefix, id)
	hi, lo := binary.BigEndian.Uint64(packed[:8]), binary.BigEndian.Uint64(packed[8:])
	lo, carry := bits.Add64(lo, 1, 0)
	return encodeID(prefix, hi+carry, lo)
}

// UnpackID returns the id in a column of a row.
func UnpackID(prefix string, r Rows, column int) string {
	return string(AppendID(make([]byte, 0, len(prefix)+1+engine.IDDigits), prefix, r.Raw(column)))
}

// AppendID appends the text of an id that is stored as these bytes.
func AppendID(dst []byte, prefix string, stored []byte) []byte {
	return engine.AppendID(dst, prefix, binary.BigEndian.Uint64(stored[:8]), binary.BigEndian.Uint64(stored[8:]))
}

// IDTime returns when an id was created, in milliseconds. It returns 0 if id is not an id.
func IDTime(prefix, id string) int64 {
	packed, _ := engine.PackID(prefix, id)
	return int64(binary.BigEndian.Uint64(packed[:8]) >> 16)
}
