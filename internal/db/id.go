package db

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	"bursar/internal/db/engine"
)

// idSource generates increasing 128-bit values: 48 bits of milliseconds, 16 bits that
// count within a millisecond, and 64 random bits.
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

// DerivedID returns an id for something that has a time but no id. It is derived from a
// text that names the thing.
func DerivedID(prefix string, at int64, name string) string {
	sum := sha256.Sum256([]byte(name))
	return encodeID(prefix, uint64(at)<<16|uint64(binary.BigEndian.Uint16(sum[:])), binary.BigEndian.Uint64(sum[8:]))
}

func encodeID(prefix string, hi, lo uint64) string {
	return string(engine.AppendID(make([]byte, 0, len(prefix)+1+engine.IDDigits), prefix, hi, lo))
}

// draw returns random bits and a tick, which always grows even if the clock goes back.
func (s *idSource) draw() (tick, random uint64) {
	var bits [8]byte
	rand.Read(bits[:]) // never fails: crypto/rand would end the program
	now := uint64(s.clock().UnixMilli()) << 16
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last+1, now)
	return s.last, binary.BigEndian.Uint64(bits[:])
}
