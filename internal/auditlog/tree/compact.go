package tree

import (
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// Compact computes the root of a tree whose leaves are added from left to right. It
// stores only one hash for each level.
type Compact struct {
	size  int64
	nodes []compactNode // from the largest subtree to the smallest
}

type compactNode struct {
	level int
	hash  tlog.Hash
}

// Add appends the hash of the next leaf.
func (c *Compact) Add(leaf tlog.Hash) { c.add(0, leaf, c.size+1) }

// Clone returns a copy that grows independently.
func (c *Compact) Clone() Compact { return Compact{c.size, slices.Clone(c.nodes)} }

// add appends the next subtree. It returns false if the subtree cannot be there in a tree
// of that size.
func (c *Compact) add(level int, hash tlog.Hash, size int64) bool {
	width := int64(1) << level
	if c.size%width != 0 || width > size-c.size {
		return false
	}
	c.size += width
	for n := len(c.nodes); n > 0 && c.nodes[n-1].level == level; n-- {
		hash = tlog.NodeHash(c.nodes[n-1].hash, hash)
		level++
		c.nodes = c.nodes[:n-1]
	}
	c.nodes = append(c.nodes, compactNode{level, hash})
	return true
}

// Root returns the hash of the tree.
func (c *Compact) Root() tlog.Hash {
	if len(c.nodes) == 0 {
		return tlog.RecordHash(nil) // no signed tree has this root
	}
	last := len(c.nodes) - 1
	root := c.nodes[last].hash
	for i := last - 1; i >= 0; i-- {
		root = tlog.NodeHash(c.nodes[i].hash, root)
	}
	return root
}
