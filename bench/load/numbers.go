package load

import "sync/atomic"

// Numbers hands out what {n} stands for. All generators that drive the same
// server share one, so that no number comes twice. The zero value is ready.
type Numbers struct{ taken atomic.Int64 }

// take reserves size numbers and returns the first.
func (n *Numbers) take(size int64) int64 { return n.taken.Add(size) - size + 1 }

// counter gives one connection its numbers; it reserves many at once, so that
// connections seldom meet at the shared count.
type counter struct {
	all       *Numbers
	next, end int64
}

func (c *counter) number() int64 {
	const block = 1024
	if c.next == c.end {
		c.next = c.all.take(block)
		c.end = c.next + block
	}
	c.next++
	return c.next - 1
}
