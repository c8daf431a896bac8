package auditlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/auditlog/tree"
	"bursar/internal/db"
)

// maxMistaken is how many rows that do not match their leaves are compared with each other.
const maxMistaken = 300

// StoreReport is the result of the verification of a store.
type StoreReport struct {
	Rows, Streams, Heads, Size int64
	Former                     *tree.Checkpoint // the last checkpoint of the log before this one, if it was restarted
	Failures                   []tree.Failure
}

// VerifyStore recomputes all data of the audit log in the store. It computes leaves from
// rows and places, the tree and its heads from the leaves, tiles from tiles, counts, and
// the columns by which rows are found. kept is the checkpoint that is kept outside the
// store, which a forger of the store cannot change. It may be empty.
//
// A row that does not match its leaf was changed, unless the tree shows that the leaf was.
// Up to each head, the true leaves are those that produce its root.
func VerifyStore(ctx context.Context, d *db.DB, key *tree.Key, kept []byte) (StoreReport, error) {
	var report StoreReport
	err := d.Read(ctx, func(q db.Q) (err error) {
		if err = q.Snapshot(); err == nil {
			report, err = VerifyRead(q, d, key, kept)
		}
		return err
	})
	return report, err
}

// VerifyRead is VerifyStore for the state that a query reads.
func VerifyRead(q db.Q, d *db.DB, key *tree.Key, kept []byte) (StoreReport, error) {
	v := &storeVerifier{q: q, db: d, key: key, counts: tree.NewCounts(), badTiles: map[tileID]bool{}, missing: map[string]mistakenRow{}}
	if len(kept) > 0 {
		point, err := tree.ReadCheckpoint(kept, key.Verifier())
		if err != nil {
			return v.report, fmt.Errorf("the checkpoint that is kept outside of the store: %w", err)
		}
		v.kept = &Signed{Checkpoint: point, Text: kept}
	}
	err := v.all()
	// Streams and missing rows are read from maps, which are unordered.
	slices.SortStableFunc(v.report.Failures, func(a, b tree.Failure) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID))
	})
	return v.report, err
}

type storeVerifier struct {
	q      db.Q
	db     *db.DB
	key    *tree.Key
	kept   *Signed
	report StoreReport

	state   treeState
	streams map[int64]*verifiedStream
	counts  *tree.Counts
	next    head  // the next head; its number is 0 after the last
	last    head  // the last head that was reached
	index   int64 // of the next leaf

	stored, computed tree.Compact           // the tree since the last head, from the leaves of the tiles, and from those of the rows
	mistaken         []mistakenRow          // since the last head
	changed          []mistakenRow          // rows that were changed
	missing          map[string]mistakenRow // rows that are not at their places
	badTiles         map[tileID]bool
	tiles            *Tiles
	keptMet          bool
}

type verifiedStream struct {
	tree.Stream
	tag          [32]byte
	workspace    int64
	organization string
	workspaceID  string
	size, seen   int64
	erased       tree.Erasures
}

// mistakenRow is a row whose leaf is not the one in the tree.
type mistakenRow struct {
	stream, seq int64
	id          string
	commitment  [32]byte
	index       int64
	leaf        tlog.Hash // in the tree
}

func (v *storeVerifier) fail(f tree.Failure) { v.report.Failures = append(v.report.Failures, f) }

func (v *storeVerifier) all() (err error) {
	if v.state, err = readTree(v.q); err != nil {
		return err
	}
	if v.state.verifier != "" && v.state.verifier != v.key.Verifier() {
		return fmt.Errorf("the audit log of this store is signed with another key: %s", v.state.verifier)
	}
	if err := v.readStreams(); err != nil {
		return err
	}
	if operator := v.streams[0]; operator != nil {
		v.count(operator, 0) // counted before it has rows
	}
	if v.next, err = v.headAfter(0); err != nil {
		return err
	}
	if v.state.restart != "" {
		former, err := tree.ReadCheckpoint([]byte(v.state.restart), v.key.Verifier())
		if err != nil {
			return fmt.Errorf("the checkpoint that the log was restarted after: %w", err)
		}
		v.report.Former = &former
		if err := v.leaf(tree.RestartLeaf([]byte(v.state.restart)), nil); err != nil {
			return err
		}
	}
	var position int64
	for {
		rows, err := v.rowsAfter(position)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.position > position+1 {
				v.fail(tree.Failure{Kind: tree.Removed, Why: lostPlaces(position+1, row.position-1)})
				if err := v.skip(position, row.position-1); err != nil {
					return err
				}
			}
			position = row.position
			if err := v.row(row); err != nil {
				return err
			}
		}
		if len(rows) == 0 {
			break
		}
	}
	if position < v.state.rows {
		v.fail(tree.Failure{Kind: tree.CutOff, Why: lostPlaces(position+1, v.state.rows)})
		if err := v.skip(position, v.state.rows); err != nil {
			return err
		}
	}
	if v.next.number > 0 {
		v.fail(tree.Failure{Kind: tree.CutOff, Why: fmt.Sprintf("the tree ends before its head %d, which has %d leaves", v.next.number, v.next.size)})
	}
	v.changed = append(v.changed, v.mistaken...) // after the last head
	if err := v.columns(); err != nil {
		return err
	}
	v.explain()
	v.checkStreams()
	v.checkKept()
	if err := v.checkTiles(); err != nil {
		return err
	}
	v.report.Size, v.report.Streams = v.state.size, int64(len(v.streams))
	skipped, err := v.q.AuditSkipped(v.db)
	for _, id := range skipped {
		v.fail(tree.Failure{Kind: tree.Inserted, ID: id, Why: "it has no place, although rows that were written later have one"})
	}
	if err != nil || len(v.report.Failures) > 0 {
		return err
	}
	return v.checkAuthentic()
}

func lostPlaces(from, to int64) string {
	if from == to {
		return fmt.Sprintf("the place of row %d of the whole log is missing", from)
	}
	return fmt.Sprintf("the places of the rows %d to %d of the whole log are missing", from, to)
}

func (v *storeVerifier) readStreams() error {
	v.streams = map[int64]*verifiedStream{}
	return v.q.Each(func(r db.Rows) error {
		s := &verifiedStream{workspace: r.Int(2), organization: r.Text(3), workspaceID: r.Text(4), size: r.Int(1)}
		s.Stream = tree.Stream{Number: r.Int(0), Name: streamName(r.Text(4), r.Text(3))}
		s.tag = v.key.Tag(s.Name)
		v.streams[s.Number] = s
		return nil
	}, `SELECT s.number, s.size, s.workspace_number, s.organization_id, w.id
		FROM audit_stream s LEFT JOIN workspace w ON w.number = s.workspace_number ORDER BY s.number`)
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

// storedRow is a row of the log with its place.
type storedRow struct {
	position int64
	api.AuditProofRow
	missing bool // no such row in this stream
}

func (v *storeVerifier) rowsAfter(position int64) (rows []storedRow, err error) {
	err = v.q.PlacedAudit(v.db, position, func(r db.Rows) error {
		row := storedRow{position: r.Int(0), missing: r.Null(4)}
		row.AuditProofRow = api.AuditProofRow{Stream: r.Int(1), Seq: r.Int(2), ID: db.UnpackID("aud", r, 3), Entry: r.Text(4), Personal: r.Text(5)}
		row.Salt, row.Erased = append(row.Salt, r.Raw(6)...), append(row.Erased, r.Raw(7)...)
		rows = append(rows, row)
		return nil
	})
	return rows, err
}

// row compares a row with its leaf.
func (v *storeVerifier) row(row storedRow) error {
	s := v.streams[row.Stream]
	if s == nil {
		v.fail(tree.Failure{Kind: tree.Moved, Seq: row.Seq, ID: row.ID, Why: fmt.Sprintf("its stream %d does not exist", row.Stream)})
		return v.skip(row.position-1, row.position)
	}
	s.seen++
	v.count(s, row.Seq)
	if row.missing {
		v.missing[row.ID] = mistakenRow{stream: row.Stream, seq: row.Seq, id: row.ID}
		return v.skip(row.position-1, row.position)
	}
	v.report.Rows++
	commitment, _ := tree.RowCommitment(row.AuditProofRow)
	s.erased.See(row.AuditProofRow)
	return v.leaf(tree.RowLeaf(s.Number, s.tag, row.Seq, commitment), &mistakenRow{stream: s.Number, seq: row.Seq, id: row.ID, commitment: commitment})
}

func (v *storeVerifier) count(s *verifiedStream, seq int64) {
	if s.Number <= v.counts.Len() { // otherwise the stream before it has lost its rows
		v.counts.Set(s.Number, s.tag, seq)
	}
}

// columns compares the columns by which rows are found with the contents of the rows, and
// with their places.
func (v *storeVerifier) columns() error {
	byKey := map[streamKey]*verifiedStream{}
	for _, s := range v.streams {
		byKey[streamKey{s.workspace, s.organization}] = s
	}
	err := v.q.Each(func(r db.Rows) error {
		organization := r.Text(2)
		if r.Int(1) != 0 {
			organization = ""
		}
		if r.Null(8) { // it will get a place after those of its stream
			if s := byKey[streamKey{r.Int(1), organization}]; s != nil {
				s.erased.See(api.AuditProofRow{Seq: s.size + 1, Entry: r.Text(10)})
			}
			return nil
		}
		s := v.streams[r.Int(8)]
		if s == nil {
			return nil // already reported
		}
		id, seq := db.UnpackID("aud", r, 0), r.Int(9)
		delete(v.missing, id)
		if r.Int(1) != s.workspace || organization != s.organization {
			v.fail(tree.Failure{Kind: tree.Swapped, Stream: s.Name, Seq: seq, ID: id, Why: "its columns say that it belongs to another log"})
			return nil
		}
		e, err := audit.ReadStored(id, r.Raw(10), nil, 0)
		if err != nil {
			return nil // an entry that cannot be read does not match its leaf either
		}
		wrong := func(by audit.Filter) {
			v.fail(tree.Failure{Kind: tree.Edited, Stream: s.Name, Seq: seq, ID: id, Why: fmt.Sprintf("the column %s_key does not fit the row, so that it is not found by it", by)})
		}
		for i, column := range []struct {
			by    audit.Filter
			value string
		}{{audit.ByActor, e.ActorID}, {audit.ByAction, e.Action}, {audit.ByResourceType, e.ResourceType}, {audit.ByResource, e.ResourceID}} {
			if audit.FilterKey(column.by, s.workspaceID, column.value) != r.Int(3+i) {
				wrong(column.by)
			}
		}
		var outcome any
		if !r.Null(7) {
			outcome = r.Int(7)
		}
		if outcome != audit.OutcomeKey(s.workspaceID, audit.Outcome(e.Outcome)) {
			wrong(audit.ByOutcome)
		}
		return nil
	}, `SELECT a.id, a.workspace_number, a.organization_id, a.actor_id_key, a.action_key, a.resource_type_key, a.resource_id_key, a.outcome_key, p.stream, p.seq, a.entry
		FROM audit_log a LEFT JOIN audit_place p ON p.audit_id = a.id`)
	for _, row := range v.missing {
		v.fail(tree.Failure{Kind: tree.Removed, Stream: v.streams[row.stream].Name, Seq: row.seq, ID: row.id, Why: "it has a place and is not in the log"})
	}
	return err
}

// leaf compares a computed leaf with the one in the tree. If the leaf is the last before
// that of the next head, it continues with the head.
func (v *storeVerifier) leaf(text []byte, row *mistakenRow) error {
	hash := tlog.RecordHash(text)
	return v.add(&hash, row)
}

// skip skips leaves whose rows are lost.
func (v *storeVerifier) skip(position, to int64) error {
	for ; position < to && position < v.state.rows; position++ {
		if err := v.add(nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// add adds a leaf to both trees. The computed one is nil if there is no row.
func (v *storeVerifier) add(computed *tlog.Hash, row *mistakenRow) error {
	if v.index >= v.state.size {
		return nil // not in the tree yet
	}
	stored, err := v.storedLeaf(v.index)
	if err != nil {
		return err
	}
	switch {
	case stored == nil && computed == nil:
		stored, computed = &tlog.Hash{}, &tlog.Hash{}
	case stored == nil:
		stored = &tlog.Hash{} // the tile is cut off
	case computed == nil:
		computed = stored
	}
	if *stored != *computed {
		var at mistakenRow
		if row != nil {
			at = *row
		}
		at.index, at.leaf = v.index, *stored
		v.mistaken = append(v.mistaken, at)
	}
	v.stored.Add(*stored)
	v.computed.Add(*computed)
	v.index++
	if v.next.number > 0 && v.index == v.next.size-1 {
		return v.head()
	}
	return nil
}

// head ends a tree with the leaf of its counts. It determines which of the differing
// leaves are the true ones.
func (v *storeVerifier) head() error {
	h := v.next
	v.next = head{}
	counts := tlog.RecordHash(tree.CountsLeaf(v.counts.Len(), v.counts.Root()))
	before := len(v.mistaken)
	if err := v.add(&counts, nil); err != nil {
		return err
	}
	countsDiffer := len(v.mistaken) > before
	if h.rows != h.size-h.number-v.state.offset { // leaves are rows, one for each head, and one for a restart
		v.fail(tree.Failure{Kind: tree.Edited, Why: fmt.Sprintf("the head %d of the tree does not say how many rows are below it", h.number)})
	}
	rows := v.mistaken[:before]
	v.mistaken = nil
	switch {
	case v.stored.Root() == h.root:
		v.changed = append(v.changed, rows...)
		if countsDiffer && len(rows) == 0 {
			v.fail(tree.Failure{Kind: tree.CutOff, Why: fmt.Sprintf("the head %d was signed with another number of rows", h.number)})
		}
		v.computed = v.stored.Clone()
	case v.computed.Root() == h.root:
		for _, at := range rows {
			v.badTile(0, at.index/tileWidth)
		}
		if countsDiffer {
			v.badTile(0, (v.index-1)/tileWidth)
		}
		v.stored = v.computed.Clone()
	default:
		v.changed = append(v.changed, rows...)
		v.fail(tree.Failure{Kind: tree.Edited, Why: fmt.Sprintf("the root of the head %d of the tree is not that of its leaves", h.number)})
		v.computed = v.stored.Clone()
	}
	if v.kept != nil && v.kept.Origin == v.state.origin && v.kept.Size == h.size {
		v.keptMet = true
		if root := v.stored.Root(); root != v.kept.Root {
			v.fail(tree.Failure{Kind: tree.Forked, Why: fmt.Sprintf("the tree of the first %d leaves is not the one whose checkpoint was kept", h.size)})
		}
	}
	v.report.Heads++
	v.last = h
	next, err := v.headAfter(h.number)
	v.next = next
	return err
}

func (v *storeVerifier) badTile(level int, number int64) {
	if id := (tileID{level, number}); !v.badTiles[id] {
		v.badTiles[id] = true
		v.fail(tree.Failure{Kind: tree.Edited, Why: fmt.Sprintf("the tile %d of level %d does not have the hashes of its rows", number, level)})
	}
}

// storedLeaf reads a leaf from the tiles, or returns nil if they do not have it.
func (v *storeVerifier) storedLeaf(index int64) (*tlog.Hash, error) {
	if v.tiles == nil || index%tileWidth == 0 {
		v.tiles = NewTiles(v.q) // keeps at most one tile in memory
	}
	hashes, err := v.tiles.tile(tileID{0, index / tileWidth})
	at := int(index%tileWidth) * tlog.HashSize
	if err != nil || len(hashes) < at+tlog.HashSize {
		return nil, err
	}
	hash := tlog.Hash(hashes[at : at+tlog.HashSize])
	return &hash, nil
}

// explain determines what was done to rows that do not match their leaves. A row that was
// moved matches the leaf of another.
func (v *storeVerifier) explain() {
	var rows []mistakenRow
	leaves := map[tlog.Hash]bool{}
	for _, row := range v.changed {
		if row.id != "" {
			rows = append(rows, row)
			leaves[row.leaf] = true
		}
	}
	for i, row := range rows {
		f := tree.Failure{Kind: tree.Edited, Stream: v.streams[row.stream].Name, Seq: row.seq, ID: row.id, Why: "its content is not what is in the tree"}
		for _, other := range rows[:min(len(rows), maxMistaken)] {
			s := v.streams[other.stream]
			if i >= maxMistaken || !leaves[tlog.RecordHash(tree.RowLeaf(s.Number, s.tag, other.seq, row.commitment))] {
				continue
			}
			f.Kind, f.Why = tree.Moved, fmt.Sprintf("its place is %d", other.seq)
			if other.stream != row.stream {
				f.Kind, f.Why = tree.Swapped, fmt.Sprintf("it belongs to %s", s.Name)
			}
			break
		}
		if f.Kind == tree.Edited {
			for _, s := range v.streams { // at the same place of another stream
				if s.Number != row.stream && row.leaf == tlog.RecordHash(tree.RowLeaf(s.Number, s.tag, row.seq, row.commitment)) {
					f.Kind, f.Why = tree.Swapped, fmt.Sprintf("it belongs to %s", s.Name)
				}
			}
		}
		v.fail(f)
	}
}

// checkStreams compares the stored state of streams with their rows.
func (v *storeVerifier) checkStreams() {
	for _, s := range v.streams {
		if s.seen != s.size {
			v.fail(tree.Failure{Kind: tree.CutOff, Stream: s.Name, Why: fmt.Sprintf("it has %d rows and must have %d", s.seen, s.size)})
		}
		for _, f := range s.erased.Unnamed() {
			f.Stream = s.Name
			v.fail(f)
		}
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
