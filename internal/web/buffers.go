package web

import "sync"

// buffers lends memory for bodies of answers, which is as good for the next one.
type buffers struct{ free sync.Pool }

const (
	// smallBuffer is as long as a page of a list usually is.
	smallBuffer = 8 << 10
	// largeBuffer is the longest that is worth keeping.
	largeBuffer = 64 << 10
)

// get is an empty buffer.
func (b *buffers) get() *[]byte {
	if lent, ok := b.free.Get().(*[]byte); ok {
		return lent
	}
	fresh := make([]byte, 0, smallBuffer)
	return &fresh
}

// put takes a buffer back that nobody uses any more.
func (b *buffers) put(lent *[]byte) {
	if cap(*lent) == 0 || cap(*lent) > largeBuffer {
		return
	}
	*lent = (*lent)[:0]
	b.free.Put(lent)
}
