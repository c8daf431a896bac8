package auditlog

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"bursar/internal/audit"
	"bursar/internal/auditlog/tree"
	"bursar/internal/db"
)

// treeState is the state of the tree in the store.
type treeState struct {
	verifier   string // of the signing key; empty before there is one
	origin     string
	generation int64
	restart    string // the checkpoint of the former log; empty in the first log
	offset     int64  // the leaves before the first row
	size       int64
	rows       int64 // the last position that has a leaf
	heads      int64
	mac        string // see authenticate
}

func readTree(q db.Q) (s treeState, err error) {
	_, err = q.Row(`SELECT verifier, origin, generation, restart, row_offset, size, rows, heads, mac FROM audit_tree`).
		Scan(&s.verifier, &s.origin, &s.generation, &s.restart, &s.offset, &s.size, &s.rows, &s.heads, &s.mac)
	return s, err
}

// head is a tree that can be signed.
type head struct {
	number, size, rows, at int64
	root                   tlog.Hash
}

// readHead returns a head. Its number is 0 if there is none.
func readHead(q db.Q, number int64) (h head, err error) {
	err = q.Each(func(r db.Rows) error {
		h = head{number: r.Int(0), size: r.Int(1), rows: r.Int(2), at: r.Int(3)}
		if len(r.Raw(4)) != tlog.HashSize {
			return fmt.Errorf("the root of head %d of the audit log has %d bytes", h.number, len(r.Raw(4)))
		}
		copy(h.root[:], r.Raw(4))
		return nil
	}, `SELECT number, size, rows, at, root FROM audit_head WHERE number = $1`, number)
	return h, err
}

// treeBuilder adds the rows that have a place to the tree. Every node with the key may do
// it: the store accepts leaves only from a node that knows the current size of the tree.
type treeBuilder struct {
	db  *db.DB
	key *tree.Key

	// The state of the tree, valid while the tree in the store has this code.
	mac                    string
	newest                 head
	generation, size, rows int64
	edge                   *frontier
	counts                 *tree.Counts
	lasts                  map[int64]int64    // the last place in the tree for each stream, by its number
	tags                   map[int64][32]byte // by the number of the stream
}

// treeRow is a row of the log that becomes a leaf.
type treeRow struct {
	position, stream, seq int64
	commitment            [32]byte
}

// turn adds all rows that have a place.
func (b *treeBuilder) turn(ctx context.Context) error {
	goal := int64(-1) // not yet known
	for {
		done, err := b.batch(ctx, &goal)
		if err != nil {
			b.edge = nil
		}
		if err != nil || done {
			return err
		}
	}
}

// batch adds the next rows. With the rows that reach the goal, it adds the leaf that
// commits to how many rows each stream has, and the tree becomes a head.
func (b *treeBuilder) batch(ctx context.Context, goal *int64) (done bool, err error) {
	var state treeState
	var rows []treeRow
	err = b.db.Read(ctx, func(q db.Q) (err error) {
		if err = q.Snapshot(); err != nil {
			return err
		}
		if *goal < 0 {
			if _, err = q.Row(`SELECT size FROM audit_sequence`).Scan(goal); err != nil {
				return err
			}
		}
		if state, err = readTree(q); err != nil || state.rows >= *goal {
			return err
		}
		if err = b.know(q, state); err != nil {
			return err
		}
		if rows, err = b.nextRows(q, state.rows); err != nil {
			return err
		}
		return b.name(q, rows)
	})
	if err != nil || len(rows) == 0 {
		return true, err
	}
	grown, next := b.edge.clone(), state
	if state.size == 0 && state.restart != "" {
		grown.add(tree.RestartLeaf([]byte(state.restart)))
	}
	for _, row := range rows {
		// A place that is already in the tree must not be signed for another row.
		if last := b.lasts[row.stream]; row.seq != last+1 {
			return false, fmt.Errorf("the place %d of the stream %d of the audit log follows the place %d: places were changed in the store", row.seq, row.stream, last)
		}
		grown.add(tree.RowLeaf(row.stream, b.tags[row.stream], row.seq, row.commitment))
		if err := b.count(row.stream, row.seq); err != nil {
			return false, err
		}
		next.rows = row.position
	}
	complete := next.rows >= *goal
	if complete {
		grown.add(tree.CountsLeaf(b.counts.Len(), b.counts.Root()))
	}
	root, err := grown.root()
	if err != nil {
		return false, err
	}
	newest := b.newest
	if complete {
		next.heads++
		newest = head{number: next.heads, size: grown.size, rows: next.rows, root: root, at: b.db.Now()}
	}
	next.size = grown.size
	next.mac = next.authenticate(b.key, root, newest)
	if err := b.store(ctx, state, next, grown.changed(), newest); err != nil {
		b.edge = nil
		if errors.Is(err, errOvertaken) {
			return true, nil
		}
		return false, err
	}
	grown.full, grown.grown = map[tileID][]byte{}, 0
	b.edge, b.mac, b.newest, b.size, b.rows = grown, next.mac, newest, next.size, next.rows
	return complete, nil
}

// store stores the changes of a batch, unless another node has already done so.
func (b *treeBuilder) store(ctx context.Context, old, next treeState, tiles map[tileID][]byte, newest head) error {
	_, err := db.Write(ctx, b.db, db.SystemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
		exempt := audit.None("a leaf of the log's own tree is no change that the log tells of")
		var size int64
		// This comparison is all that keeps two nodes from adding the same rows.
		alone, err := tx.Row(`UPDATE audit_tree SET size = $1, rows = $2, heads = $3, mac = $4 WHERE size = $5 AND mac = $6 RETURNING size`,
			next.size, next.rows, next.heads, next.mac, old.size, old.mac).Scan(&size)
		if err == nil && !alone {
			err = errOvertaken
		}
		if err != nil {
			return struct{}{}, exempt, err
		}
		for id, hashes := range tiles {
			err := tx.Exec(`INSERT INTO audit_tile (level, number, hashes) VALUES ($1, $2, $3)
				ON CONFLICT (level, number) DO UPDATE SET hashes = excluded.hashes`, id.level, id.number, hashes)
			if err != nil {
				return struct{}{}, exempt, err
			}
		}
		if next.heads > old.heads {
			err = tx.Exec(`INSERT INTO audit_head (number, size, rows, root, at) VALUES ($1, $2, $3, $4, $5)`,
				newest.number, newest.size, newest.rows, newest.root[:], newest.at)
		}
		return struct{}{}, exempt, err
	})
	return err
}

// know reads the state of the tree, unless it is already known.
func (b *treeBuilder) know(q db.Q, state treeState) error {
	if b.edge != nil && b.mac == state.mac {
		return nil
	}
	newest, err := readHead(q, state.heads)
	if err != nil {
		return err
	}
	tiles := NewTiles(q)
	if err := state.authentic(b.key, tiles, newest); err != nil {
		return err
	}
	edge, err := newFrontier(tiles, state.size)
	if err != nil {
		return err
	}
	if b.edge == nil || b.generation != state.generation || b.rows > state.rows {
		if err = b.countsFit(q, tiles, newest); err == nil {
			err = b.countAll(q, state.rows)
		}
	} else {
		err = b.countFurther(q, state.rows)
	}
	b.edge, b.mac, b.newest, b.generation, b.size, b.rows = edge, state.mac, newest, state.generation, state.size, state.rows
	if err != nil {
		b.edge = nil
	}
	return err
}

// fits checks that the tiles have the root of the head. A tree with changed tiles must
// not be extended.
func (h head) fits(tiles *Tiles) error {
	if h.number == 0 {
		return nil
	}
	root, err := tlog.TreeHash(h.size, tiles)
	if err == nil && root != h.root {
		err = errors.New("its root is another")
	}
	if err != nil {
		return fmt.Errorf("the tiles of the audit log do not fit its head %d, they were changed in the store: %w", h.number, err)
	}
	return nil
}

// countsFit checks that the streams have as many rows below a head as its last leaf commits
// to. A tree with a shortened stream must not be extended: the lost places would be given,
// and signed, again.
func (b *treeBuilder) countsFit(q db.Q, tiles *Tiles, h head) error {
	if h.number == 0 {
		return nil
	}
	if err := b.countAll(q, h.rows); err != nil {
		return err
	}
	signed, err := tiles.ReadHashes([]int64{tlog.StoredHashIndex(0, max(0, h.size-1))})
	if err == nil && signed[0] != tlog.RecordHash(tree.CountsLeaf(b.counts.Len(), b.counts.Root())) {
		err = fmt.Errorf("the audit log does not have as many rows as its head %d says, they were changed in the store", h.number)
	}
	return err
}

// countAll counts the rows of all streams up to a position. The sums in the queries keep SQLite
// from reading all places in the order of their streams.
func (b *treeBuilder) countAll(q db.Q, rows int64) error {
	b.counts, b.lasts, b.tags = tree.NewCounts(), map[int64]int64{}, map[int64][32]byte{}
	later := map[int64]int64{}
	if rows > 0 { // otherwise all rows are later
		err := q.Each(func(r db.Rows) error {
			later[r.Int(0)] = r.Int(1)
			return nil
		}, `SELECT stream + 0, count(*) FROM audit_place WHERE position > $1 GROUP BY 1`, rows)
		if err != nil {
			return err
		}
	}
	return q.Each(func(r db.Rows) error {
		number := r.Int(0)
		b.tags[number] = b.key.Tag(streamName(r.Text(2), r.Text(3)))
		// A stream gets its number with its first row, so streams with rows have the
		// lowest numbers. The operator's stream always exists.
		count := r.Int(1) - later[number]
		if rows == 0 {
			count = 0
		}
		if count > 0 || number == 0 {
			return b.count(number, count)
		}
		return nil
	}, `SELECT s.number, s.size, w.id, s.organization_id FROM audit_stream s LEFT JOIN workspace w ON w.number = s.workspace_number ORDER BY s.number`)
}

// countFurther counts the rows that other nodes have added since this one extended the tree.
func (b *treeBuilder) countFurther(q db.Q, rows int64) error {
	grown, err := db.Collect(q, func(r db.Rows) treeRow { return treeRow{stream: r.Int(0), seq: r.Int(1)} },
		`SELECT stream + 0, max(seq) FROM audit_place WHERE position > $1 AND position <= $2 GROUP BY 1 ORDER BY 1`, b.rows, rows)
	if err == nil {
		err = b.name(q, grown)
	}
	for i := 0; err == nil && i < len(grown); i++ {
		err = b.count(grown[i].stream, grown[i].seq)
	}
	return err
}

// count sets how many rows a stream has.
func (b *treeBuilder) count(stream, rows int64) error {
	if stream > b.counts.Len() {
		return fmt.Errorf("the stream %d of the audit log is missing: it was removed from the store", b.counts.Len())
	}
	b.counts.Set(stream, b.tags[stream], rows)
	b.lasts[stream] = rows
	return nil
}

// name computes the tags of new streams.
func (b *treeBuilder) name(q db.Q, rows []treeRow) error {
	for _, row := range rows {
		if _, known := b.tags[row.stream]; known {
			continue
		}
		var workspaceID, organizationID string
		_, err := q.Row(`SELECT w.id, s.organization_id FROM audit_stream s LEFT JOIN workspace w ON w.number = s.workspace_number WHERE s.number = $1`,
			row.stream).Scan(&workspaceID, &organizationID)
		if err != nil {
			return err
		}
		b.tags[row.stream] = b.key.Tag(streamName(workspaceID, organizationID))
	}
	return nil
}

// streamName returns the name of a stream in its tag.
func streamName(workspaceID, organizationID string) string {
	switch {
	case workspaceID != "":
		return "workspace " + workspaceID
	case organizationID != "":
		return "organization " + organizationID
	}
	return "operator"
}

// nextRows returns the rows that follow a position.
func (b *treeBuilder) nextRows(q db.Q, after int64) ([]treeRow, error) {
	var rows []treeRow
	var id []byte
	err := q.PlacedAudit(b.db, after, func(r db.Rows) error {
		row := treeRow{position: r.Int(0), stream: r.Int(1), seq: r.Int(2)}
		if want := after + int64(len(rows)) + 1; row.position != want || r.Null(4) {
			return fmt.Errorf("the audit row of position %d is missing: it was removed from the store", want)
		}
		id = db.AppendID(id[:0], "aud", r.Raw(3))
		var personal [32]byte
		if !r.Null(5) {
			personal = tree.PersonalDigest(r.Raw(6), r.Raw(5))
		} else if copy(personal[:], r.Raw(7)) != len(personal) {
			return fmt.Errorf("the audit row %s has neither its personal part nor the digest of it", id)
		}
		row.commitment = tree.Commitment(string(id), r.Raw(4), personal)
		rows = append(rows, row)
		return nil
	})
	return rows, err
}
