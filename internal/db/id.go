package db

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"
)

// crockford sorts like the bits it encodes and has no letters to confuse.
const crockford = "0123456789abcdefghjkmnpqrstvwxyz"

// idSource makes 128-bit values that grow: 48 bits of milliseconds, 16 bits that
// count within one, 64 random bits.
type idSource struct {
	clock func() time.Time
	mu    sync.Mutex
	last  uint64

	// Random bits are drawn for many ids at once: asking for eight bytes costs
	// nearly as much as asking for hundreds.
	random [512]byte
	left   int
}

func newIDSource(clock func() time.Time) *idSource { return &idSource{clock: clock} }

func (s *idSource) next(prefix string) (id string, at int64) {
	tick, tail := s.draw()
	return encodeID(prefix, tick, tail), int64(tick >> 16)
}

// FirstID is the least id that can be made at a time: ids sort by creation, so a
// span of time is a span of ids.
func FirstID(prefix string, at int64) string { return encodeID(prefix, uint64(at)<<16, 0) }

func encodeID(prefix string, hi, lo uint64) string {
	out := make([]byte, len(prefix)+1+26)
	copy(out, prefix)
	out[len(prefix)] = '_'
	for i := len(out) - 1; i > len(prefix); i-- {
		out[i] = crockford[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(out)
}

// draw is a tick that never repeats and never goes back, even where the clock
// does, and random bits.
func (s *idSource) draw() (tick, random uint64) {
	now := uint64(s.clock().UnixMilli()) << 16
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last+1, now)
	if s.left == 0 {
		rand.Read(s.random[:]) // never fails: crypto/rand ends the program instead
		s.left = len(s.random)
	}
	s.left -= 8
	return s.last, binary.BigEndian.Uint64(s.random[s.left:])
}
