package tree

import (
	"encoding/hex"
	"fmt"
	"strconv"

	"golang.org/x/mod/sumdb/tlog"
)

// Counts is the tree of how many rows each stream has. It proves to the owner of a stream
// that no row is missing. Leaf i has the count of the stream with the number i.
type Counts struct {
	levels [][]tlog.Hash // levels[l][i] is the hash of the leaves from i<<l up to (i+1)<<l
}

// NewCounts returns the tree of no streams.
func NewCounts() *Counts { return &Counts{levels: [][]tlog.Hash{nil}} }

// Len returns how many streams the tree has.
func (c *Counts) Len() int64 { return int64(len(c.levels[0])) }

// Set sets how many rows a stream has. Streams are numbered from 0 without gaps, so the
// number is at most that of the streams so far. Any other number is a bug.
func (c *Counts) Set(number int64, tag [32]byte, count int64) {
	if number < 0 || number > c.Len() {
		panic(fmt.Sprintf("tree: stream %d cannot follow %d streams", number, c.Len()))
	}
	hash := tlog.RecordHash(countLeaf(number, tag, count))
	for level := 0; ; level++ {
		if level == len(c.levels) {
			c.levels = append(c.levels, nil)
		}
		if number == int64(len(c.levels[level])) {
			c.levels[level] = append(c.levels[level], tlog.Hash{})
		}
		c.levels[level][number] = hash
		pair := number | 1
		if pair >= int64(len(c.levels[level])) {
			return // the subtree above is not full
		}
		hash = tlog.NodeHash(c.levels[level][pair-1], c.levels[level][pair])
		number /= 2
	}
}

func countLeaf(number int64, tag [32]byte, count int64) []byte {
	leaf := append(strconv.AppendInt(nil, number, 10), ' ')
	leaf = append(hex.AppendEncode(leaf, tag[:]), ' ')
	return append(strconv.AppendInt(leaf, count, 10), '\n')
}

// Root returns the hash that the counts leaf contains.
func (c *Counts) Root() tlog.Hash {
	root, _ := tlog.TreeHash(c.Len(), tlog.HashReaderFunc(c.read)) // read never fails
	return root
}

// Prove returns the proof that the tree has a stream, which CheckCount verifies.
func (c *Counts) Prove(number int64) ([]tlog.Hash, error) {
	return tlog.ProveRecord(c.Len(), number, tlog.HashReaderFunc(c.read))
}

func (c *Counts) read(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		level, n := tlog.SplitStoredHashIndex(index)
		hashes[i] = c.levels[level][n]
	}
	return hashes, nil
}
