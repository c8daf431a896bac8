package auditlog

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/mod/sumdb/tlog"

	"bursar/internal/auditlog/tree"
	"bursar/internal/db"
)

// storedTree is the tree in the store as far as it was verified. Up to each head, the true
// leaves are those that produce its root: the leaves in the tiles, or those of the rows.
type storedTree struct {
	segment               // that was verified last
	whole    bool         // whether it is the last
	index    int64        // of the leaf after the segment
	leaves   tree.Compact // the true leaves before it
	read     int64        // the position of the last row whose leaf was read
	last     head         // the last head that was reached
	badTiles map[tileID]bool
	keptMet  bool
	tiles    *Tiles // at most one tile of leaves
}

// segment is the leaves between two heads.
type segment struct {
	head     head                // its number is 0 for the leaves after the last head
	first    int64               // the index of the first leaf of a row
	from, to int64               // the positions of its rows are those after from
	sound    bool                // whether the leaves in the tiles produce the root of the head
	rebuilt  map[int64]tlog.Hash // leaves that are not those in the tiles
	strange  int                 // how many rows before it are not in order
}

// headAfter returns the head that follows a number. Its number is 0 if there is none.
func (v *storeVerifier) headAfter(number int64) (h head, err error) {
	err = v.q.Each(func(r db.Rows) error {
		h = head{number: r.Int(0), size: r.Int(1), rows: r.Int(2)}
		copy(h.root[:], r.Raw(3))
		return nil
	}, `SELECT number, size, rows, root FROM audit_head WHERE number > $1 ORDER BY number LIMIT 1`, number)
	if err == nil && h.number > number+1 {
		v.fail(tree.Failure{Kind: tree.Removed, Why: fmt.Sprintf("the head %d of the tree is missing", number+1)})
	}
	return h, err
}

// reach verifies the tree up to the head that covers a position.
func (v *storeVerifier) reach(position int64) error {
	for !v.whole && position > v.to {
		if err := v.endSegment(); err != nil {
			return err
		}
		if err := v.beginSegment(); err != nil {
			return err
		}
	}
	return nil
}

// beginSegment verifies the leaves up to the next head, or takes those after the last head as they are.
func (v *storeVerifier) beginSegment() error {
	h, err := v.headAfter(v.last.number)
	if err != nil {
		return err
	}
	s := segment{head: h, first: v.index, from: v.to, strange: len(v.strange)}
	if v.index == 0 && v.state.restart != "" {
		s.first = 1
	}
	end := h.size - 1 // without the leaf of the counts
	if h.number == 0 || h.size > v.state.size || end < s.first {
		if h.number > 0 {
			v.fail(tree.Failure{Kind: tree.CutOff, Why: fmt.Sprintf("the tree ends before its head %d, which has %d leaves", h.number, h.size)})
		}
		s.head, end, v.whole = head{}, max(v.state.size, s.first), true
	}
	s.to = s.from + end - s.first
	if s.head.number > 0 {
		if err := v.verify(&s); err != nil {
			return err
		}
		v.index, v.last = h.size, h
		v.report.Heads++
	}
	v.segment = s
	return nil
}

// verify determines the true leaves of a segment.
func (v *storeVerifier) verify(s *segment) error {
	h, before := s.head, v.leaves.Clone()
	if h.rows != h.size-h.number-v.state.offset { // leaves are rows, one for each head, and one for a restart
		v.fail(tree.Failure{Kind: tree.Edited, Why: fmt.Sprintf("the head %d of the tree does not say how many rows are below it", h.number)})
	}
	for index := v.index; index < h.size; index++ {
		leaf, err := v.storedLeaf(index)
		if err != nil {
			return err
		}
		v.leaves.Add(leaf)
	}
	if s.sound = v.leaves.Root() == h.root; !s.sound {
		rebuilt, err := v.rebuild(s, before)
		if err != nil {
			return err
		}
		if rebuilt.Root() == h.root {
			v.leaves = rebuilt
			for index := range s.rebuilt {
				v.badTile(0, index/tileWidth)
			}
		} else {
			s.rebuilt = nil
			v.fail(tree.Failure{Kind: tree.Edited, Why: fmt.Sprintf("the root of the head %d of the tree is not that of its leaves", h.number)})
		}
	}
	if v.kept != nil && v.kept.Origin == v.state.origin && v.kept.Size == h.size {
		v.keptMet = true
		if root := v.leaves.Root(); root != v.kept.Root {
			v.fail(tree.Failure{Kind: tree.Forked, Why: fmt.Sprintf("the tree of the first %d leaves is not the one whose checkpoint was kept", h.size)})
		}
	}
	return nil
}

// rebuild adds the leaves of a segment to those before it, as they follow from the rows.
func (v *storeVerifier) rebuild(s *segment, leaves tree.Compact) (tree.Compact, error) {
	s.rebuilt = map[int64]tlog.Hash{}
	index := v.index
	add := func(computed tlog.Hash) error {
		stored, err := v.storedLeaf(index)
		if computed == (tlog.Hash{}) { // there is no row
			computed = stored
		}
		if stored != computed {
			s.rebuilt[index] = computed
		}
		leaves.Add(computed)
		index++
		return err
	}
	if s.first > v.index {
		if err := add(tlog.RecordHash(tree.RestartLeaf([]byte(v.state.restart)))); err != nil {
			return leaves, err
		}
	}
	for position := s.from; position < s.to; {
		rows, err := v.rowsAfter(position)
		if err != nil {
			return leaves, err
		}
		end := s.to
		if len(rows) > 0 {
			end = min(end, rows[len(rows)-1].position)
		}
		for ; position < end; position++ {
			var leaf tlog.Hash
			if len(rows) > 0 && rows[0].position == position+1 {
				leaf, rows = v.rowLeaf(&rows[0]), rows[1:]
			}
			if err := add(leaf); err != nil {
				return leaves, err
			}
		}
	}
	return leaves, add(tlog.RecordHash(tree.CountsLeaf(v.counts.Len(), v.counts.Root())))
}

// rowLeaf counts a row and computes its leaf, which is zero if there is no such row.
func (v *storeVerifier) rowLeaf(row *storedRow) tlog.Hash {
	s := v.streams[row.Stream]
	if s == nil {
		return tlog.Hash{}
	}
	v.count(s, row.Seq)
	if row.missing {
		return tlog.Hash{}
	}
	return v.rowOf(s, row).Leaf
}

// endSegment compares the counts of the rows up to a head with those that were signed.
func (v *storeVerifier) endSegment() error {
	if v.match.Stopped {
		return nil
	}
	if err := v.match.Reach(v.to); err != nil || !v.sound || len(v.strange) > v.segment.strange {
		return err
	}
	signed, err := v.storedLeaf(v.head.size - 1)
	if err == nil && signed != tlog.RecordHash(tree.CountsLeaf(v.counts.Len(), v.counts.Root())) {
		v.fail(tree.Failure{Kind: tree.CutOff, Why: fmt.Sprintf("the head %d was signed with another number of rows", v.head.number)})
	}
	return err
}

// Leaf implements tree.Source. It has the leaves of one segment at a time.
func (v *storeVerifier) Leaf() (tlog.Hash, error) {
	if v.read == v.to {
		return tlog.Hash{}, io.EOF
	}
	index := v.first + v.read - v.from
	v.read++
	if leaf, ok := v.rebuilt[index]; ok {
		return leaf, nil
	}
	return v.storedLeaf(index)
}

// storedLeaf reads a leaf from the tiles. It is zero if they do not have it.
func (v *storeVerifier) storedLeaf(index int64) (hash tlog.Hash, err error) {
	id := tileID{0, index / tileWidth}
	if _, ok := v.tiles.read[id]; !ok {
		v.tiles = NewTiles(v.q)
	}
	hashes, err := v.tiles.tile(id)
	if at := int(index%tileWidth) * tlog.HashSize; len(hashes) >= at+tlog.HashSize {
		hash = tlog.Hash(hashes[at : at+tlog.HashSize])
	}
	return hash, err
}

func (v *storeVerifier) badTile(level int, number int64) {
	if id := (tileID{level, number}); !v.badTiles[id] {
		v.badTiles[id] = true
		v.fail(tree.Failure{Kind: tree.Edited, Why: fmt.Sprintf("the tile %d of level %d does not have the hashes of its rows", number, level)})
	}
}

// checkKept compares the tree with the checkpoint that is kept outside the store.
func (v *storeVerifier) checkKept() {
	switch {
	case v.kept == nil || v.keptMet:
	case v.kept.Origin != v.state.origin:
		if err := v.kept.restarted(v.state); err != nil {
			v.fail(tree.Failure{Kind: tree.Forked, Why: err.Error()})
		}
	case v.kept.Size > v.last.size:
		v.fail(tree.Failure{Kind: tree.CutOff, Why: fmt.Sprintf("the tree has %d leaves, and the checkpoint that was kept has %d", v.last.size, v.kept.Size)})
	default:
		v.fail(tree.Failure{Kind: tree.Forked, Why: fmt.Sprintf("the tree was never signed with %d leaves, as the checkpoint that was kept says", v.kept.Size)})
	}
}

// checkAuthentic checks that the state of the tree was written with the key. If nothing else
// was changed, the state was.
func (v *storeVerifier) checkAuthentic() error {
	newest, err := readHead(v.q, v.state.heads)
	if err == nil {
		err = v.state.authentic(v.key, NewTiles(v.q), newest)
	}
	if errors.Is(err, errNotAuthentic) && v.state.size > 0 {
		v.fail(tree.Failure{Kind: tree.Edited, Why: err.Error()})
		err = nil
	}
	return err
}

// checkTiles compares each tile with those below it.
func (v *storeVerifier) checkTiles() error {
	for level := 0; v.state.size>>(tileHeight*level) > 0; level++ {
		full := v.state.size >> (tileHeight * (level + 1)) // tiles of the level that are full
		for from := int64(0); from < full; from += tileWidth {
			tiles := NewTiles(v.q)
			above, err := tiles.tile(tileID{level + 1, from / tileWidth})
			if err != nil {
				return err
			}
			for number := from; number < min(from+tileWidth, full); number++ {
				hashes, err := tiles.tile(tileID{level, number})
				if err != nil {
					return err
				}
				at := int(number-from) * tlog.HashSize
				fits := len(hashes) == tileWidth*tlog.HashSize && len(above) >= at+tlog.HashSize && tileRoot(hashes) == tlog.Hash(above[at:at+tlog.HashSize])
				if !fits && !v.badTiles[tileID{level, number}] {
					v.badTile(level+1, from/tileWidth)
				}
			}
		}
	}
	return nil
}
