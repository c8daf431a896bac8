package tree

import (
	"errors"
	"fmt"
	"io"
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

// errTooMany ends the reading of rows.
var errTooMany = errors.New("too many rows do not verify")

const whyEdited = "its content is not what was signed"

// matcher finds the leaf of each row of a stream. Leaves are known to be true and rows are
// not. A leaf is only a hash. Its place and content are known once a row with this hash is found.
type matcher struct {
	report *Report
	number int64
	tag    [32]byte
	count  int64
	read   func() (tlog.Hash, error) // the next leaf, io.EOF after the last

	ahead   []tlog.Hash            // leaves that were read and not yet passed
	room    [1]tlog.Hash           // for the leaf that is read ahead in the normal case
	open    map[tlog.Hash]struct{} // leaves that were passed without a row
	last    int64                  // the place of the last row whose leaf was in order
	highest int64                  // the highest place that a row was read for
	gaps    []span                 // places up to last without a row
	late    []seenRow              // rows that have their leaf, but come after rows with later places
	strange []seenRow              // rows without a leaf
	erased  Erasures
}

// span is a range of consecutive places.
type span struct{ from, to int64 }

func newMatcher(r *Report, number int64, tag [32]byte, count int64, read func() (tlog.Hash, error)) *matcher {
	return &matcher{report: r, number: number, tag: tag, count: count, read: read, open: map[tlog.Hash]struct{}{}}
}

// leaf returns the leaf n after the next one, and false if there are fewer leaves.
func (m *matcher) leaf(n int64) (tlog.Hash, bool, error) {
	for n >= int64(len(m.ahead)) {
		hash, err := m.read()
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

// near is how many leaves after the next are checked if a row does not match the leaf of its place.
const near = 16

// add searches for the leaf of a row.
func (m *matcher) add(row seenRow) error {
	m.highest = max(m.highest, row.seq)
	skipped := row.seq - m.last - 1
	for i := int64(-2); i < near; i++ {
		n := i
		switch i {
		case -2:
			n = 0
		case -1:
			n = skipped
		}
		if n < 0 || n > m.count {
			continue
		}
		leaf, ok, err := m.leaf(n)
		if err != nil {
			return err
		}
		if ok && leaf == row.leaf {
			return m.inOrder(row, n)
		}
	}
	if _, ok := m.open[row.leaf]; ok {
		delete(m.open, row.leaf)
		m.late = append(m.late, row)
		m.erased.see(row.seq, row.id, row.isErased, row.erases)
	} else {
		m.strange = append(m.strange, row)
	}
	if len(m.strange)+len(m.late) >= maxStrange {
		return errTooMany
	}
	return nil
}

// inOrder processes a row whose leaf comes n after the next one.
func (m *matcher) inOrder(row seenRow, n int64) error {
	for _, leaf := range m.ahead[:n] {
		m.open[leaf] = struct{}{}
	}
	if m.ahead = m.ahead[n+1:]; len(m.ahead) == 0 {
		m.ahead = m.room[:0]
	}
	m.erased.see(row.seq, row.id, row.isErased, row.erases)
	if row.seq <= m.last {
		m.late = append(m.late, row)
		return nil
	}
	if row.seq > m.last+1 {
		m.gaps = append(m.gaps, span{m.last + 1, row.seq - 1})
	}
	m.last = row.seq
	m.report.Rows++
	return nil
}

// end determines what happened to the rows and places that do not match.
func (m *matcher) end() error {
	r := m.report
	r.Stopped = len(m.strange)+len(m.late) >= maxStrange
	tail := m.count
	if r.Stopped {
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
	missing := func(seq int64) bool {
		i := sort.Search(len(m.gaps), func(i int) bool { return m.gaps[i].to >= seq })
		return i < len(m.gaps) && m.gaps[i].from <= seq && !filled[seq]
	}
	for _, row := range m.late {
		if missing(row.seq) {
			filled[row.seq] = true
			r.fail(Failure{Kind: Moved, Seq: row.seq, ID: row.id, Why: "it stands after rows that follow it"})
		} else {
			r.fail(Failure{Kind: Inserted, Seq: row.seq, ID: row.id, Why: "there is another row in its place"})
		}
	}
	var rest []seenRow
	for _, row := range m.strange {
		if seq, ok := m.origin(row, missing); ok {
			filled[seq] = true
			r.fail(Failure{Kind: Moved, Seq: seq, ID: row.id, Why: fmt.Sprintf("it stands in place %d", row.seq)})
		} else {
			rest = append(rest, row)
		}
	}
	for _, row := range rest {
		has := missing(row.seq)
		filled[row.seq] = filled[row.seq] || has
		switch {
		case row.stream != m.number:
			r.fail(Failure{Kind: Swapped, Seq: row.seq, ID: row.id, Why: "it is a row of another log"})
		case has:
			r.fail(Failure{Kind: Edited, Seq: row.seq, ID: row.id, Why: whyEdited})
		default:
			r.fail(Failure{Kind: Inserted, Seq: row.seq, ID: row.id, Why: "the log has no such row"})
		}
	}
	m.lost(filled)
	if m.last > m.count {
		r.fail(Failure{Kind: Inserted, Seq: m.count + 1, To: m.last, Why: fmt.Sprintf("the log has %d rows", m.count)})
	}
	unnamed := m.erased.Unnamed()
	for _, row := range unnamed {
		r.fail(row)
	}
	r.Rows -= int64(len(unnamed))
	r.Erased = m.erased.Len() - int64(len(unnamed))
	return nil
}

// origin finds the place whose leaf matches a row.
func (m *matcher) origin(row seenRow, missing func(int64) bool) (int64, bool) {
	fits := func(seq int64) bool {
		if !missing(seq) {
			return false
		}
		_, ok := m.open[rowHash(m.number, m.tag, seq, row.commitment)]
		return ok
	}
	var all int64
	for _, gap := range m.gaps {
		all += gap.to - gap.from + 1
	}
	if all <= maxTries {
		for _, gap := range m.gaps {
			for seq := gap.from; seq <= gap.to; seq++ {
				if fits(seq) {
					return seq, true
				}
			}
		}
		return 0, false
	}
	for away := int64(1); away <= maxTries/2; away++ {
		for _, seq := range []int64{row.seq - away, row.seq + away} {
			if fits(seq) {
				return seq, true
			}
		}
	}
	return 0, false
}

// lost reports the places without any row.
func (m *matcher) lost(filled map[int64]bool) {
	taken := make([]int64, 0, len(filled))
	for seq, is := range filled {
		if is {
			taken = append(taken, seq)
		}
	}
	slices.Sort(taken)
	for _, gap := range m.gaps {
		i, _ := slices.BinarySearch(taken, gap.from)
		for from := gap.from; from <= gap.to; i++ {
			to := gap.to
			if i < len(taken) && taken[i] <= to {
				to = taken[i] - 1
			}
			if m.report.Stopped {
				to = min(to, m.highest)
			}
			if to >= from {
				f := Failure{Kind: Removed, Seq: from, To: to, Why: "no such row is here"}
				if to == m.count {
					f.Kind, f.Why = CutOff, fmt.Sprintf("the log has %d rows", m.count)
				}
				m.report.fail(f)
			}
			if i >= len(taken) {
				break
			}
			from = max(from, taken[i]+1)
		}
	}
}
