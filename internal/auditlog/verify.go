package auditlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/auditlog/tree"
	"bursar/internal/db"
)

// StoreReport is the result of the verification of a store.
type StoreReport struct {
	Rows, Streams, Heads, Size int64
	Former                     *tree.Checkpoint // the last checkpoint of the log before this one, if it was restarted
	Failures                   []tree.Failure
	Stopped                    bool // whether so many rows do not match their leaves that the others were not compared
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
	v := &storeVerifier{q: q, db: d, key: key, counts: tree.NewCounts(), strange: map[int64]tree.Row{}, missing: map[string]tree.Row{}}
	v.tiles, v.badTiles = NewTiles(q), map[tileID]bool{}
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

// storeVerifier is the store as a source of a tree.Matcher. The place of a row is its position in the whole log.
type storeVerifier struct {
	q      db.Q
	db     *db.DB
	key    *tree.Key
	kept   *Signed
	report StoreReport

	state   treeState
	streams map[int64]*verifiedStream
	counts  *tree.Counts
	match   *tree.Matcher
	strange map[int64]tree.Row  // rows that are not in order, by their positions
	missing map[string]tree.Row // rows that are not at their places
	storedTree
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
	if v.state.restart != "" {
		former, err := tree.ReadCheckpoint([]byte(v.state.restart), v.key.Verifier())
		if err != nil {
			return fmt.Errorf("the checkpoint that the log was restarted after: %w", err)
		}
		v.report.Former = &former
	}
	if err := v.rows(); err != nil {
		return err
	}
	if err := v.columns(); err != nil {
		return err
	}
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

// rows compares all rows that have a place with the tree.
func (v *storeVerifier) rows() error {
	v.match = tree.NewMatcher(v, v.state.rows)
	var position int64
	for {
		rows, err := v.rowsAfter(position)
		if err != nil {
			return err
		}
		for i := range rows {
			row := &rows[i]
			if err := v.reach(row.position); err != nil {
				return err
			}
			if row.position > position+1 {
				v.fail(tree.Failure{Kind: tree.Removed, Why: lostPlaces(position+1, row.position-1)})
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
	}
	if err := v.reach(math.MaxInt64); err != nil {
		return err
	}
	if err := v.endSegment(); err != nil || v.match.Stopped {
		return err
	}
	return v.match.End()
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
func (v *storeVerifier) row(row *storedRow) error {
	s := v.streams[row.Stream]
	if s == nil {
		v.fail(tree.Failure{Kind: tree.Moved, Seq: row.Seq, ID: row.ID, Why: fmt.Sprintf("its stream %d does not exist", row.Stream)})
		return nil
	}
	s.seen++
	v.count(s, row.Seq)
	if row.missing {
		v.missing[row.ID] = tree.Row{Stream: row.Stream, Seq: row.Seq}
		return nil
	}
	v.report.Rows++
	s.erased.See(row.AuditProofRow)
	if row.position > v.to || v.match.Stopped { // not in the tree yet
		return nil
	}
	compared, before := v.rowOf(s, row), v.match.InOrder
	_, err := v.match.Add(compared)
	if v.match.InOrder == before {
		v.strange[row.position] = compared
	}
	if errors.Is(err, tree.ErrTooMany) {
		v.report.Stopped = true
		err = v.match.End()
	}
	return err
}

// rowOf computes the leaf of a row.
func (v *storeVerifier) rowOf(s *verifiedStream, row *storedRow) tree.Row {
	commitment, _ := tree.RowCommitment(row.AuditProofRow)
	return tree.Row{Place: row.position, Stream: s.Number, Seq: row.Seq, ID: row.ID, Commitment: commitment,
		Leaf: tree.RowHash(s.Number, s.tag, row.Seq, commitment)}
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
	for id, row := range v.missing {
		v.fail(tree.Failure{Kind: tree.Removed, Stream: v.streams[row.Stream].Name, Seq: row.Seq, ID: id, Why: "it has a place and is not in the log"})
	}
	return err
}

// LeafAt implements tree.Source.
func (v *storeVerifier) LeafAt(position int64, commitment [32]byte) (tlog.Hash, bool) {
	row, ok := v.strange[position]
	if !ok {
		return tlog.Hash{}, false
	}
	return tree.RowHash(row.Stream, v.streams[row.Stream].tag, row.Seq, commitment), true
}

// failRow reports a row that does not match the leaf at its place.
func (v *storeVerifier) failRow(row tree.Row, kind tree.Kind, why string) {
	v.fail(tree.Failure{Kind: kind, Stream: v.streams[row.Stream].Name, Seq: row.Seq, ID: row.ID, Why: why})
}

// Late implements tree.Source.
func (v *storeVerifier) Late(row tree.Row, _ bool) {
	v.failRow(row, tree.Moved, fmt.Sprintf("its position in the whole log is not %d", row.Place))
}

// Moved implements tree.Source.
func (v *storeVerifier) Moved(row tree.Row, from int64) {
	if other := v.strange[from]; other.Stream != row.Stream {
		v.failRow(row, tree.Swapped, "it belongs to "+v.streams[other.Stream].Name)
	} else {
		v.failRow(row, tree.Moved, fmt.Sprintf("its place is %d", other.Seq))
	}
}

// Strange implements tree.Source.
func (v *storeVerifier) Strange(row tree.Row, _ bool) {
	for _, s := range v.streams { // at the same place of another stream
		if s.Number != row.Stream && v.match.Has(tree.RowHash(s.Number, s.tag, row.Seq, row.Commitment)) {
			v.failRow(row, tree.Swapped, "it belongs to "+s.Name)
			return
		}
	}
	v.failRow(row, tree.Edited, "its content is not what is in the tree")
}

// Lost implements tree.Source. The rows that are missing have been reported.
func (v *storeVerifier) Lost(_, _ int64) {}

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
