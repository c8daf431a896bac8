package backup

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"

	"bursar/internal/db"
)

// TableDigest is the digest and the number of rows of a table.
type TableDigest struct {
	Name   string `json:"name"`
	Rows   int64  `json:"rows"`
	Digest string `json:"digest"`
}

// digest is the sum of the digests of rows, its lowest part last.
type digest struct {
	rows int64
	sum  [4]uint64
}

func (d *digest) add(row []byte) {
	hash := sha256.Sum256(row)
	var carry uint64
	for i := 3; i >= 0; i-- {
		d.sum[i], carry = bits.Add64(d.sum[i], binary.BigEndian.Uint64(hash[8*i:]), carry)
	}
	d.rows++
}

func (d *digest) of(table string) TableDigest {
	var text []byte
	for _, part := range d.sum {
		text = binary.BigEndian.AppendUint64(text, part)
	}
	return TableDigest{table, d.rows, hex.EncodeToString(text)}
}

// digests computes the digests of all tables of a store.
func digests(q db.Q, d *db.DB, progress func(rows int64)) ([]TableDigest, error) {
	tables, err := q.Tables(d)
	if err != nil {
		return nil, err
	}
	count := counter(progress)
	var list []TableDigest
	for _, t := range tables {
		var sum digest
		if err := q.EachRow(d, t, func(row []byte) error {
			sum.add(row)
			count()
			return nil
		}); err != nil {
			return nil, err
		}
		list = append(list, sum.of(t.Name))
	}
	return list, nil
}

// counter returns a function that calls progress for every thousandth row.
func counter(progress func(rows int64)) func() {
	var n int64
	return func() {
		if n++; n%1000 == 0 && progress != nil {
			progress(n)
		}
	}
}

// Difference is a table that differs between two stores.
type Difference struct {
	Table string `json:"table"`
	Text  string `json:"text"`
}

// compare returns how a second list of tables differs from a first.
func compare(first, second []TableDigest) (list []Difference) {
	other := map[string]TableDigest{}
	for _, t := range second {
		other[t.Name] = t
	}
	for _, t := range first {
		o, found := other[t.Name]
		delete(other, t.Name)
		switch {
		case !found:
			list = append(list, Difference{t.Name, "is missing"})
		case t.Rows != o.Rows:
			list = append(list, Difference{t.Name, fmt.Sprintf("has %d rows in place of %d", o.Rows, t.Rows)})
		case t.Digest != o.Digest:
			list = append(list, Difference{t.Name, fmt.Sprintf("has %d rows, and other ones", o.Rows)})
		}
	}
	for _, t := range second {
		if _, left := other[t.Name]; left && t.Rows > 0 {
			list = append(list, Difference{t.Name, fmt.Sprintf("has %d rows in place of none", t.Rows)})
		}
	}
	return list
}

// differ returns an error about differences, nil if there are none.
func differ(list []Difference) error {
	if len(list) == 0 {
		return nil
	}
	text := ""
	for i, d := range list {
		if i > 0 {
			text += ", "
		}
		text += d.Table + " " + d.Text
	}
	return fmt.Errorf("the copy differs from its original: %s", text)
}
