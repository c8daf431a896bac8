package auditlog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/work"
)

const (
	// sequenceInterval is how often the sequencer looks for rows. A row gets its place at
	// most half a second after it was committed, unless more are written than can be sequenced.
	sequenceInterval = 250 * time.Millisecond
	// headTurns is how many turns pass between two heads of the tree. Each head adds a leaf of
	// its own and rewrites tiles, so there are fewer heads than batches of places.
	headTurns = 2
	// leaseTime is how long other nodes leave the work to the node that did it last.
	leaseTime = 2 * time.Second
)

// Sequencer gives the rows of the log their places, and lets the signer add them to the tree.
// Every node runs one. They may all work at once: the store accepts a batch only from a node
// that knows the current size of the log. A lease lets the others rest.
type Sequencer struct {
	db     *db.DB
	node   string
	signer *Signer
	tree   *treeBuilder
	leased bool // another node does the work

	// streams is the state of streams in the store, valid while the log has this size.
	streams map[streamKey]stream
	size    int64

	mu      sync.Mutex
	grown   chan struct{} // closed and replaced when the log has grown
	stopped bool
}

// streamKey identifies a stream: that of a workspace, of an organization, or the operator's.
type streamKey struct {
	workspace    int64
	organization string
}

type stream struct{ number, size int64 }

// NewSequencer returns the sequencer of a node.
func NewSequencer(d *db.DB, s *Signer) *Sequencer {
	host, _ := os.Hostname() // the rest of the name distinguishes nodes, too
	node := fmt.Sprintf("%s/%d/%s", host, os.Getpid(), rand.Text())
	return &Sequencer{db: d, node: node, signer: s, tree: &treeBuilder{db: d, key: s.Key()}, size: -1, grown: make(chan struct{})}
}

// Run sequences until the context ends.
func (s *Sequencer) Run(ctx context.Context, log *slog.Logger) {
	defer s.EndWaits()
	var sequencing, building outage
	turn := 0
	work.Every(ctx, sequenceInterval, func() {
		err := s.sequence(ctx)
		if sequencing.begins(ctx, err) {
			log.Error("the audit log cannot be sequenced, which will be retried", "error", err.Error())
		}
		if err == nil && turn%headTurns == 0 {
			if err := s.build(ctx); building.begins(ctx, err) {
				log.Error("the tree of the audit log cannot be built, which will be retried", "error", err.Error())
			}
		}
		turn++
	})
}

// outage is whether something is failing. It is logged once.
type outage bool

func (o *outage) begins(ctx context.Context, err error) bool {
	before := *o
	*o = err != nil
	return err != nil && ctx.Err() == nil && !bool(before)
}

// Turn gives places to all rows that can have one, and adds them to the tree.
func (s *Sequencer) Turn(ctx context.Context) error {
	if err := s.sequence(ctx); err != nil {
		return err
	}
	return s.build(ctx)
}

func (s *Sequencer) sequence(ctx context.Context) error {
	for {
		sequenced, err := s.batch(ctx)
		if err != nil {
			s.signer.health.fail("sequence")
		}
		if err != nil || sequenced < db.AuditBatch {
			return err
		}
	}
}

// build adds the rows to the tree, unless another node does so, or this node does not sign.
func (s *Sequencer) build(ctx context.Context) error {
	if s.leased || s.tree.key == nil || s.signer.Broken() != nil {
		return nil
	}
	err := s.tree.turn(ctx)
	if err != nil {
		s.signer.health.fail("tree")
	}
	return err
}

// errOvertaken is returned from a write to roll it back: another node has sequenced the rows.
var errOvertaken = errors.New("another node was faster")

// batch sequences the next rows and returns their number.
func (s *Sequencer) batch(ctx context.Context) (int, error) {
	var state db.AuditState
	var rows []db.AuditRow
	err := s.db.Read(ctx, func(q db.Q) (err error) {
		state, rows, err = q.AuditState(s.db)
		return err
	})
	if err != nil {
		return 0, err
	}
	if state.Size != s.size {
		s.know(state.Size, nil)
	}
	s.leased = state.LeaseHolder != s.node && state.LeaseUntil > s.db.Now()
	if s.leased || len(rows) == 0 && !state.Renumbered() {
		return 0, nil
	}
	var streams map[streamKey]stream
	_, err = db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
		exempt := audit.None("a place in the log is no change that the log tells of")
		state := state // the function may run again
		if state.Renumbered() {
			var err error
			if rows, err = tx.RenumberAudit(&state); err != nil {
				return struct{}{}, exempt, err
			}
		}
		alone, err := tx.AdvanceAudit(state, rows, s.node, s.db.Now()+leaseTime.Milliseconds())
		if err == nil && !alone {
			err = errOvertaken
		}
		if err == nil {
			streams, err = s.place(tx, state.Size, rows)
		}
		return struct{}{}, exempt, err
	})
	if errors.Is(err, errOvertaken) {
		return 0, nil
	}
	if err != nil {
		s.streams, s.size = nil, -1
		return 0, err
	}
	s.know(state.Size+int64(len(rows)), streams)
	return len(rows), nil
}

// know records the size of the log, and the streams if this node has extended them. It wakes
// the goroutines that wait for rows.
func (s *Sequencer) know(size int64, streams map[streamKey]stream) {
	s.size = size
	if streams == nil {
		s.streams = map[streamKey]stream{}
	}
	for key, grown := range streams {
		s.streams[key] = grown
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		close(s.grown)
		s.grown = make(chan struct{})
	}
}

// EndWaits ends all waits for rows, because the server stops.
func (s *Sequencer) EndWaits() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.stopped = true
		close(s.grown)
	}
}

// Grown returns a channel that is closed when the log has grown, or when the server
// stops. stopped reports the latter.
func (s *Sequencer) Grown() (grown <-chan struct{}, stopped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grown, s.stopped
}

// place stores the places of rows and returns the streams that have grown.
func (s *Sequencer) place(tx *db.Tx, position int64, rows []db.AuditRow) (map[streamKey]stream, error) {
	grown := map[streamKey]stream{}
	insert := newPlaces(tx)
	for _, row := range rows {
		key := streamKey{workspace: row.Workspace}
		if row.Workspace == 0 {
			key.organization = row.OrganizationID
		}
		at, known := grown[key]
		if !known {
			var err error
			if at, err = s.stream(tx, key); err != nil {
				return nil, err
			}
		}
		at.size++
		position++
		grown[key] = at
		if err := insert.add(at, position, row.ID); err != nil {
			return nil, err
		}
	}
	for _, at := range grown {
		if err := tx.Exec(`UPDATE audit_stream SET size = $1 WHERE number = $2`, at.size, at.number); err != nil {
			return nil, err
		}
	}
	return grown, insert.flush()
}

// stream returns a stream, and creates it if it does not exist.
func (s *Sequencer) stream(tx *db.Tx, key streamKey) (stream, error) {
	if known, ok := s.streams[key]; ok {
		return known, nil
	}
	if found, ok, err := findStream(tx.Q, key); err != nil || ok {
		return found, err
	}
	made := stream{}
	_, err := tx.Row(`INSERT INTO audit_stream (number, workspace_number, organization_id, size)
		SELECT max(number) + 1, $1, $2, 0 FROM audit_stream RETURNING number`, db.NullInt(key.workspace), db.NullText(key.organization)).Scan(&made.number)
	return made, err
}

func findStream(q db.Q, key streamKey) (found stream, ok bool, err error) {
	row := q.Row(`SELECT number, size FROM audit_stream WHERE number = 0`)
	switch {
	case key.workspace != 0:
		row = q.Row(`SELECT number, size FROM audit_stream WHERE workspace_number = $1`, key.workspace)
	case key.organization != "":
		row = q.Row(`SELECT number, size FROM audit_stream WHERE organization_id = $1`, key.organization)
	}
	ok, err = row.Scan(&found.number, &found.size)
	return found, ok, err
}

// places inserts places, many with one statement.
type places struct {
	tx   *db.Tx
	args []any
}

// placesAtOnce is how many places one statement inserts. The last places of a batch are
// inserted one by one, so that there are only two texts to prepare.
const placesAtOnce = 50

func newPlaces(tx *db.Tx) *places { return &places{tx: tx, args: make([]any, 0, 4*placesAtOnce)} }

func (p *places) add(at stream, position int64, id [16]byte) error {
	p.args = append(p.args, at.number, at.size, id, position)
	if len(p.args) < 4*placesAtOnce {
		return nil
	}
	args := p.args
	p.args = make([]any, 0, 4*placesAtOnce)
	return insertPlaces(p.tx, args)
}

func (p *places) flush() error {
	for i := 0; i < len(p.args); i += 4 {
		if err := insertPlaces(p.tx, p.args[i:i+4]); err != nil {
			return err
		}
	}
	return nil
}

func insertPlaces(tx *db.Tx, args []any) error {
	insert := db.NewStatement(`INSERT INTO audit_place (stream, seq, audit_id, position) VALUES (`, args[:4]...)
	for i := 4; i < len(args); i += 4 {
		insert.Add(`), (`, args[i:i+4]...)
	}
	insert.Add(`)`)
	return tx.ExecOf(insert)
}
