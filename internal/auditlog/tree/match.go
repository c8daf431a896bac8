package tree

import (
	"errors"
	"io"
	"maps"
	"slices"
	"sort"

	"golang.org/x/mod/sumdb/tlog"
)

const (
	// maxStrange is how many rows without a leaf are checked before giving up.
	maxStrange = 1000
	// maxTries is how many places are tried for a row that does not match the leaf at its place.
	maxTries = 2048
)

// ErrTooMany ends the reading of rows.
var ErrTooMany = errors.New("too many rows do not verify")

// Source is a log whose rows are compared with its leaves: a proof file, or a store.
type Source interface {
	// Leaf returns the next leaf of a row, io.EOF after the last.
	Leaf() (tlog.Hash, error)
	// LeafAt returns the leaf of a row with this content at a place, and false if the place is unknown.
	LeafAt(place int64, commitment [32]byte) (tlog.Hash, bool)

	// Late reports a row that has its leaf and comes after rows with later places. No other row has a vacant place.
	Late(row Row, vacant bool)
	// Moved reports a row whose leaf is that of another place.
	Moved(row Row, from int64)
	// Strange reports a row without a leaf.
	Strange(row Row, vacant bool)
	// Lost reports places without a row.
	Lost(from, to int64)
}

// Row is the part of a row that is needed to find its place.
type Row struct {
	Place       int64 // of the leaf: the one in its stream in a file, and the position in the whole log in a store
	Stream, Seq int64
	ID          string
	Commitment  [32]byte
	Leaf        tlog.Hash // of a row with this content at this place

	isErased bool
	erases   string
}

// Matcher finds the leaf of each row. Leaves are known to be true and rows are not. A leaf is
// only a hash. Its place and content are known once a row with this hash is found.
type Matcher struct {
	InOrder int64 // how many rows have the leaf at their place
	Stopped bool  // whether there were too many others

	source  Source
	count   int64
	ahead   []tlog.Hash            // leaves that were read and not yet passed
	room    [1]tlog.Hash           // for the leaf that is read ahead in the normal case
	open    map[tlog.Hash]struct{} // leaves that were passed without a row
	last    int64                  // the place of the last row whose leaf was in order
	highest int64                  // the highest place that a row was read for
	gaps    []span                 // places up to last without a row
	late    []Row                  // rows that have their leaf, but come after rows with later places
	strange []Row                  // rows without a leaf
}

// span is a range of consecutive places.
type span struct{ from, to int64 }

// NewMatcher returns a matcher of a source with that many places.
func NewMatcher(source Source, count int64) *Matcher {
	return &Matcher{source: source, count: count, open: map[tlog.Hash]struct{}{}}
}

// leaf returns the leaf n after the next one, and false if there are fewer leaves.
func (m *Matcher) leaf(n int64) (tlog.Hash, bool, error) {
	for n >= int64(len(m.ahead)) {
		hash, err := m.source.Leaf()
		if err == io.EOF {
			return hash, false, nil
		}
		if err != nil {
			return hash, false, err
		}
		m.ahead = append(m.ahead, hash)
	}
	return m.ahead[n], true, nil
}

// Add compares a row with the leaf at its place, and reports whether the log has a leaf for it.
func (m *Matcher) Add(row Row) (matched bool, err error) {
	m.highest = max(m.highest, row.Place)
	if n := row.Place - m.last - 1; n >= 0 && n <= m.count {
		leaf, ok, err := m.leaf(n)
		if err != nil {
			return false, err
		}
		if ok && leaf == row.Leaf {
			m.pass(row.Place, n)
			return true, nil
		}
	}
	if _, matched = m.open[row.Leaf]; matched {
		delete(m.open, row.Leaf)
		m.late = append(m.late, row)
	} else {
		m.strange = append(m.strange, row)
	}
	if len(m.strange)+len(m.late) >= maxStrange {
		m.Stopped = true
		return matched, ErrTooMany
	}
	return matched, nil
}

// Reach reads the leaves up to a place.
func (m *Matcher) Reach(place int64) error {
	if place <= m.last {
		return nil
	}
	_, _, err := m.leaf(place - m.last - 1)
	return err
}

// pass continues after the leaf of a place, which comes n after the next one.
func (m *Matcher) pass(place, n int64) {
	for _, leaf := range m.ahead[:n] {
		m.open[leaf] = struct{}{}
	}
	if m.ahead = m.ahead[n+1:]; len(m.ahead) == 0 {
		m.ahead = m.room[:0]
	}
	if n > 0 {
		m.gaps = append(m.gaps, span{m.last + 1, place - 1})
	}
	m.last = place
	m.InOrder++
}

// Has reports whether there is a leaf without a row.
func (m *Matcher) Has(leaf tlog.Hash) bool {
	_, ok := m.open[leaf]
	return ok
}

// End determines what happened to the rows and places that do not match.
func (m *Matcher) End() error {
	tail := m.count
	if m.Stopped {
		tail = min(tail, m.highest+maxTries)
	}
	if tail > m.last {
		m.gaps = append(m.gaps, span{m.last + 1, tail})
	}
	if len(m.strange) > 0 {
		if _, _, err := m.leaf(2 * maxTries); err != nil { // rows may have been moved from there
			return err
		}
		for _, leaf := range m.ahead {
			m.open[leaf] = struct{}{}
		}
	}
	filled := map[int64]bool{}
	vacant := func(place int64) bool {
		i := sort.Search(len(m.gaps), func(i int) bool { return m.gaps[i].to >= place })
		return i < len(m.gaps) && m.gaps[i].from <= place && !filled[place]
	}
	fill := func(place int64) bool {
		was := vacant(place)
		if was {
			filled[place] = true
		}
		return was
	}
	for _, row := range m.late {
		m.source.Late(row, fill(row.Place))
	}
	var rest []Row
	for _, row := range m.strange {
		if m.Has(row.Leaf) { // of a later place
			m.source.Late(row, fill(row.Place))
		} else if place, ok := m.origin(row, vacant); ok {
			filled[place] = true
			m.source.Moved(row, place)
		} else {
			rest = append(rest, row)
		}
	}
	for _, row := range rest {
		m.source.Strange(row, fill(row.Place))
	}
	m.lost(filled)
	return nil
}

// origin finds the vacant place whose leaf matches a row.
func (m *Matcher) origin(row Row, vacant func(int64) bool) (int64, bool) {
	fits := func(place int64) bool {
		if !vacant(place) {
			return false
		}
		leaf, ok := m.source.LeafAt(place, row.Commitment)
		return ok && m.Has(leaf)
	}
	var all int64
	for _, gap := range m.gaps {
		all += gap.to - gap.from + 1
	}
	if all <= maxTries {
		for _, gap := range m.gaps {
			for place := gap.from; place <= gap.to; place++ {
				if fits(place) {
					return place, true
				}
			}
		}
		return 0, false
	}
	for away := int64(1); away <= maxTries/2; away++ {
		for _, place := range []int64{row.Place - away, row.Place + away} {
			if fits(place) {
				return place, true
			}
		}
	}
	return 0, false
}

// lost reports the places without any row.
func (m *Matcher) lost(filled map[int64]bool) {
	taken := slices.Sorted(maps.Keys(filled))
	for _, gap := range m.gaps {
		i, _ := slices.BinarySearch(taken, gap.from)
		for from := gap.from; from <= gap.to; i++ {
			to := gap.to
			if i < len(taken) && taken[i] <= to {
				to = taken[i] - 1
			}
			if m.Stopped {
				to = min(to, m.highest)
			}
			if to >= from {
				m.source.Lost(from, to)
			}
			if i >= len(taken) {
				break
			}
			from = max(from, taken[i]+1)
		}
	}
}
