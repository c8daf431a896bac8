package postgres

import (
	"encoding/binary"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// rows reads values from the bytes that the server sent.
type rows struct {
	rows  pgx.Rows
	batch pgx.BatchResults // closed after the rows; nil if the query was sent alone
	raw   [][]byte
	err   error

	peeked, has bool // the first row was fetched, and exists
}

// first fetches the first row. After that, Err reports whether the query failed.
func (r *rows) first() {
	r.has = r.Next()
	r.peeked = true
}

func (r *rows) Next() bool {
	if r.peeked {
		r.peeked = false
		return r.has
	}
	if !r.rows.Next() {
		r.Close()
		return false
	}
	r.raw = r.rows.RawValues()
	return true
}

func (r *rows) Err() error {
	if err := r.rows.Err(); err != nil {
		return err
	}
	return r.err
}

func (r *rows) Close() {
	r.rows.Close()
	if r.batch != nil {
		r.err = r.batch.Close()
		r.batch = nil
	}
}

func (r *rows) Text(i int) string { return string(r.raw[i]) }
func (r *rows) Raw(i int) []byte  { return r.raw[i] }
func (r *rows) Null(i int) bool   { return r.raw[i] == nil }

func (r *rows) Int(i int) int64 {
	v := r.raw[i]
	if r.rows.FieldDescriptions()[i].Format == pgx.TextFormatCode {
		n, _ := strconv.ParseInt(string(v), 10, 64) // NULL becomes 0, and anything else is a number
		return n
	}
	switch len(v) {
	case 8:
		return int64(binary.BigEndian.Uint64(v))
	case 4:
		return int64(int32(binary.BigEndian.Uint32(v)))
	case 2:
		return int64(int16(binary.BigEndian.Uint16(v)))
	}
	return 0
}

func (r *rows) Bool(i int) bool {
	v := r.raw[i]
	return len(v) == 1 && (v[0] == 1 || v[0] == 't')
}
