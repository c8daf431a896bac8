package db

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"
)

// crockford is an alphabet that sorts like the bits it encodes and has no letters
// that are easily confused.
const crockford = "0123456789abcdefghjkmnpqrstvwxyz"

// idSource makes 128-bit values that only grow: 48 bits of milliseconds, 16 bits
// that count within a millisecond, and 64 random bits.
type idSource struct {
	clock func() time.Time
	mu    sync.Mutex
	last  uint64
}

func newIDSource(clock func() time.Time) *idSource { return &idSource{clock: clock} }

func (s *idSource) next(prefix string) (id string, at int64) {
	tick, tail := s.draw()
	return encodeID(prefix, tick, tail), int64(tick >> 16)
}

// FirstID returns the smallest id of a millisecond. Ids sort by the time of their
// creation, so a range of time is a range of ids.
func FirstID(prefix string, at int64) string { return encodeID(prefix, uint64(at)<<16, 0) }

func encodeID(prefix string, hi, lo uint64) string {
	return string(appendID(make([]byte, 0, len(prefix)+1+idDigits), prefix, hi, lo))
}

// idDigits is how many characters of five bits 128 bits take.
const idDigits = 26

func appendID(dst []byte, prefix string, hi, lo uint64) []byte {
	dst = append(append(dst, prefix...), '_')
	first := len(dst)
	dst = append(dst, "00000000000000000000000000"...)
	for i := len(dst) - 1; i >= first; i-- {
		dst[i] = crockford[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return dst
}

// draw returns a tick, which always grows even if the clock goes back, and random
// bits.
func (s *idSource) draw() (tick, random uint64) {
	var bits [8]byte
	rand.Read(bits[:]) // never fails: crypto/rand would end the program
	now := uint64(s.clock().UnixMilli()) << 16
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last+1, now)
	return s.last, binary.BigEndian.Uint64(bits[:])
}
