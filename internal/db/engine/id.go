package engine

import (
	"encoding/binary"
	"strings"
)

// crockford is an alphabet that sorts like the bits it encodes and has no letters
// that are easily confused.
const crockford = "0123456789abcdefghjkmnpqrstvwxyz"

// IDDigits is the number of five-bit characters that encode the 128 bits of an id.
const IDDigits = 26

// AppendID appends the text of an id: the prefix, an underscore and the characters. It is
// called for each row of a page, so it uses only 64-bit shifts. Each half has twelve
// characters; one more has the rest of the upper half, and one the bits between.
func AppendID(dst []byte, prefix string, hi, lo uint64) []byte {
	dst = append(append(dst, prefix...), "_00000000000000000000000000"...)
	digits := dst[len(dst)-IDDigits:]
	digits[0], digits[13] = crockford[hi>>61], crockford[(hi<<4|lo>>60)&31]
	hi >>= 1
	for i := 12; i > 0; i-- {
		digits[i], digits[i+13] = crockford[hi&31], crockford[lo&31]
		hi >>= 5
		lo >>= 5
	}
	return dst
}

// PackID returns the 16 bytes that an id stands for, which sort as the texts of ids with
// one prefix do. It accepts only the text that AppendID writes.
func PackID(prefix, id string) (packed [16]byte, ok bool) {
	if len(id) != len(prefix)+1+IDDigits || id[:len(prefix)] != prefix || id[len(prefix)] != '_' || id[len(prefix)+1] > '7' {
		return packed, false // 26 characters have room for 130 bits, so the first has only three
	}
	var hi, lo uint64
	for _, c := range []byte(id[len(prefix)+1:]) {
		bits := strings.IndexByte(crockford, c)
		if bits < 0 {
			return packed, false
		}
		hi = hi<<5 | lo>>59
		lo = lo<<5 | uint64(bits)
	}
	binary.BigEndian.PutUint64(packed[:8], hi)
	binary.BigEndian.PutUint64(packed[8:], lo)
	return packed, true
}
