package auditlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/auditlog/tree"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/web"
)

const (
	// proofWait is how long a request waits until the newest rows have been signed. That takes
	// half a second unless the signing node is busy.
	proofWait = 5 * time.Second
	proofPoll = 50 * time.Millisecond
	// proofChunk is how many rows an export reads at once.
	proofChunk = 500
)

// ProofInput selects a row to prove.
type ProofInput struct {
	ID string `path:"id"`
	ProofFileInput
}

// ProofFileInput selects a log to prove.
type ProofFileInput struct {
	WorkspaceID    *string `query:"workspace_id"`
	OrganizationID *string `query:"organization_id"`
	Since          *string `query:"since"`

	since int64
}

// Validate checks the workspace or organization, and the size of the older checkpoint.
func (in *ProofFileInput) Validate(v *fault.Violations) {
	filters := in.filters()
	filters.check(v)
	in.since = number(v, "since", in.Since, 0, 1, 1<<53)
}

func (in ProofFileInput) filters() Filters {
	return Filters{WorkspaceID: in.WorkspaceID, OrganizationID: in.OrganizationID}
}

// Proof returns a proof that a row is in the log as it was written. The public key is
// enough to verify it.
func (s *Service) Proof(ctx context.Context, by db.Caller, in ProofInput) (api.AuditProof, error) {
	f, err := s.authorize(ctx, by, in.filters(), access.AuditRead)
	if err != nil {
		return api.AuditProof{}, err
	}
	signed, position, err := s.covering(ctx, f, in.ID)
	if err != nil {
		return api.AuditProof{}, err
	}
	var proof api.AuditProof
	err = s.db.Read(ctx, func(q db.Q) error {
		if err := q.Snapshot(); err != nil {
			return err
		}
		log, err := s.streamOf(q, f, signed)
		if err != nil {
			return err
		}
		place := db.PackID("aud", in.ID)
		var seq int64
		if _, err := q.Row(`SELECT seq FROM audit_place WHERE audit_id = $1`, place).Scan(&seq); err != nil {
			return err
		}
		rows, err := log.read(q, seq-1, seq)
		if err != nil {
			return err
		}
		if len(rows) != 1 {
			return fault.Missing("audit entry")
		}
		proof = api.AuditProof{Checkpoint: string(signed.Text), Stream: s.signer.key.ProofStream(log.named), Row: rows[0]}
		if proof.Index, err = log.leaf(q, position); err != nil {
			return err
		}
		tiles := NewTiles(q)
		if proof.Since, err = consistency(in.since, signed.Size, tiles); err != nil {
			return err
		}
		proof, err = tree.Prove(proof, signed.Size, tiles)
		return err
	})
	return proof, err
}

func consistency(since, size int64, hashes tlog.HashReader) (*api.AuditConsistency, error) {
	if since == 0 || since >= size { // a checkpoint that is not older needs no proof
		return nil, nil
	}
	return tree.Consistency(since, size, hashes)
}

// covering waits until a row has been signed, and returns its position and the checkpoint.
func (s *Service) covering(ctx context.Context, f filter, id string) (Signed, int64, error) {
	deadline := time.After(proofWait)
	tick := time.NewTicker(proofPoll)
	defer tick.Stop()
	for {
		position, err := s.position(ctx, f, id)
		if err != nil {
			return Signed{}, 0, err
		}
		signed, err := s.signer.Newest(ctx)
		var broken *BrokenError
		switch {
		case err == nil && position > 0 && signed.Rows >= position:
			return signed, position, nil
		case s.signer.key == nil:
			return signed, 0, fault.New(api.CodeAuditUnsigned, "this server does not sign the audit log, so nothing of it can be proven here")
		case errors.As(err, &broken):
			return signed, 0, fault.New(api.CodeAuditUnsigned, "the audit log is not signed at present, so nothing of it can be proven")
		case err != nil && !errors.Is(err, ErrUnsigned):
			return signed, 0, err
		}
		select {
		case <-tick.C:
		case <-deadline:
			late := fault.New(api.CodeUnavailable, "the newest rows of the audit log have not been signed yet")
			late.RetryAfter = time.Second
			return signed, 0, late
		case <-ctx.Done():
			return signed, 0, ctx.Err()
		}
	}
}

// position returns the place of a row in the whole log, 0 if it has none yet.
func (s *Service) position(ctx context.Context, f filter, id string) (position int64, err error) {
	owner, value := f.owner()
	err = s.db.Read(ctx, func(q db.Q) error {
		found, err := q.Row(`SELECT coalesce((SELECT p.position FROM audit_place p WHERE p.audit_id = a.id), 0) FROM audit_log a WHERE a.id = $1 AND `+owner+` = $2`,
			db.PackID("aud", id), value).Scan(&position)
		if err == nil && !found {
			err = fault.Missing("audit entry")
		}
		return err
	})
	return position, err
}

// owner returns the column that identifies the owner of a row, and its value.
func (f filter) owner() (column string, value any) {
	if f.column == "organization_id" {
		return "organization_id", f.value
	}
	return "workspace_number", f.workspace
}

// provenLog is the log of a workspace or an organization as of a checkpoint.
type provenLog struct {
	filter
	named tree.Stream
	count int64 // rows
	state treeState
}

// streamOf finds the stream of a log, and how many of its rows the checkpoint covers.
func (s *Service) streamOf(q db.Q, f filter, signed Signed) (log provenLog, err error) {
	log.filter = f
	if log.state, err = readTree(q); err != nil {
		return log, err
	}
	if log.state.origin != signed.Origin {
		return log, errors.New("the audit log was restarted meanwhile")
	}
	found, ok, err := findStream(q, f.stream())
	if err == nil && !ok {
		err = errors.New("the log has no stream, although a row of it has a place")
	}
	if err != nil {
		return log, err
	}
	log.named = tree.Stream{Number: found.number, Name: "workspace " + f.value}
	if f.column == "organization_id" {
		log.named.Name = "organization " + f.value
	}
	var later int64 // few rows, so they are found by their positions
	_, err = q.Row(`SELECT count(*) FROM audit_place WHERE position > $1 AND stream + 0 = $2`, signed.Rows, found.number).Scan(&later)
	log.count = found.size - later
	return log, err
}

// read reads the rows after one place and up to another, one chunk at most. The inner limit
// keeps PostgreSQL from reading the whole log for the join.
func (l provenLog) read(q db.Q, after, end int64) ([]api.AuditProofRow, error) {
	owner, value := l.owner()
	return db.Collect(q, func(r db.Rows) api.AuditProofRow {
		row := api.AuditProofRow{Stream: l.named.Number, Seq: r.Int(0), ID: db.UnpackID("aud", r, 1), Entry: r.Text(2), Personal: r.Text(3)}
		row.Salt, row.Erased = append(row.Salt, r.Raw(4)...), append(row.Erased, r.Raw(5)...)
		return row
	}, `SELECT p.seq, p.audit_id, a.entry, a.personal, a.salt, a.erased
		FROM (SELECT seq, audit_id FROM audit_place WHERE stream = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT 500) p
		JOIN audit_log a ON a.id = p.audit_id AND a.`+owner+` = $4 ORDER BY p.seq`, l.named.Number, after, end, value)
}

// leaf returns the index of the leaf of a row at a position. Each head before it has a
// leaf, too.
func (l provenLog) leaf(q db.Q, position int64) (int64, error) {
	var head int64
	_, err := q.Row(`SELECT number FROM audit_head WHERE rows >= $1 ORDER BY rows LIMIT 1`, position).Scan(&head)
	return l.state.offset + position + head - 2, err
}

// leaves reads the leaf indexes of the rows after one place and up to another, one chunk
// at most.
func (l provenLog) leaves(q db.Q, after, end int64) ([]int64, error) {
	return db.Collect(q, func(r db.Rows) int64 { return l.state.offset + r.Int(0) + r.Int(1) - 2 },
		`SELECT p.position, (SELECT h.number FROM audit_head h WHERE h.rows >= p.position ORDER BY h.rows LIMIT 1)
		FROM (SELECT position, seq FROM audit_place WHERE stream = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT 500) p ORDER BY p.seq`,
		l.named.Number, after, end)
}

// ProofFile writes a file that proves that the log of a workspace or an organization is
// unchanged and complete. The public key is enough to verify it. It first adds a row to the
// log that describes the export, so that every export leaves a trace.
func (s *Service) ProofFile(ctx context.Context, by db.Caller, in ProofFileInput, to *web.File) error {
	f, err := s.authorize(ctx, by, in.filters(), access.AuditExport)
	if err != nil {
		return err
	}
	event := f.exported("")
	event.Description = "Exported the audit log with its proof"
	if err := db.Record(ctx, s.db, by, event, nil); err != nil {
		return err
	}
	newest, err := s.rows(ctx, filter{column: f.column, value: f.value, workspace: f.workspace, to: web.LastMillisecond}, string(web.Descending), 1)
	if err != nil {
		return err
	}
	if len(newest) == 0 {
		return errors.New("the row that tells of the export is not in the log")
	}
	export := proofExport{s: s, ctx: ctx, f: f, since: in.since}
	if err := export.cover(newest[0].ID); err != nil {
		return err
	}
	to.Type, to.Name = "application/zip", "audit-proof.zip"
	return tree.WriteFile(to, time.UnixMilli(s.db.Now()), export.rows, export.rest)
}

// proofExport writes a proof file. It holds no connection to the store while it writes, so it
// reads only data that never changes: rows, places, and complete hashes of the tree. The
// exception is an erasure, which adds a row that has to be in the file too.
type proofExport struct {
	s     *Service
	ctx   context.Context
	f     filter
	since int64

	signed Signed
	log    provenLog
	erased tree.Erasures
}

// cover chooses the newest checkpoint, which must cover a row.
func (e *proofExport) cover(id string) (err error) {
	if e.signed, _, err = e.s.covering(e.ctx, e.f, id); err != nil {
		return err
	}
	return e.read(func(q db.Q) (err error) {
		e.log, err = e.s.streamOf(q, e.f, e.signed)
		return err
	})
}

func (e *proofExport) read(fn func(q db.Q) error) error {
	return e.s.db.Read(e.ctx, func(q db.Q) error {
		if err := q.Snapshot(); err != nil {
			return err
		}
		return fn(q)
	})
}

// rows yields the rows that the checkpoint covers. If some were erased so recently that the row
// of the erasure is not covered, it advances to a checkpoint that covers it.
func (e *proofExport) rows(yield func(api.AuditProofRow, error) bool) {
	for last := int64(0); ; {
		for last < e.log.count {
			var chunk []api.AuditProofRow
			end := min(last+proofChunk, e.log.count)
			err := e.read(func(q db.Q) (err error) {
				chunk, err = e.log.read(q, last, end)
				return err
			})
			if err != nil {
				yield(api.AuditProofRow{}, err)
				return
			}
			for _, row := range chunk {
				e.erased.See(row)
				if !yield(row, nil) {
					return
				}
			}
			last = end
		}
		if len(e.erased.Unnamed()) == 0 {
			return
		}
		newest, err := e.s.rows(e.ctx, filter{column: e.f.column, value: e.f.value, workspace: e.f.workspace, to: web.LastMillisecond}, string(web.Descending), 1)
		if err == nil && len(newest) > 0 {
			err = e.cover(newest[0].ID)
		}
		if err != nil {
			yield(api.AuditProofRow{}, err)
			return
		}
		if last == e.log.count {
			return // no row records the erasure, which the verifier reports
		}
	}
}

// rest returns the proofs of the rows.
func (e *proofExport) rest() (tree.Export, error) {
	x := tree.Export{
		Checkpoint: e.signed.Text, Size: e.signed.Size, Leaves: e.leaves, Hashes: tlog.HashReaderFunc(e.hashes),
		Manifest: tree.Manifest{
			Key: e.s.signer.key.Verifier(), Stream: e.s.signer.key.ProofStream(e.log.named), Count: e.log.count, Restart: e.log.state.restart,
		},
	}
	err := e.read(func(q db.Q) (err error) {
		all := &treeBuilder{db: e.s.db, key: e.s.signer.key}
		if err := all.countAll(q, e.signed.Rows); err != nil {
			return err
		}
		root := all.counts.Root()
		proof, err := all.counts.Prove(e.log.named.Number)
		if err != nil {
			return err
		}
		x.Manifest.Streams, x.Manifest.CountsRoot, x.Manifest.Counts = all.counts.Len(), root[:], tree.Raw(proof)
		x.Manifest.Since, err = consistency(e.since, e.signed.Size, NewTiles(q))
		return err
	})
	return x, err
}

func (e *proofExport) leaves(yield func(int64, error) bool) {
	for last := int64(0); last < e.log.count; last += proofChunk {
		var chunk []int64
		err := e.read(func(q db.Q) (err error) {
			chunk, err = e.log.leaves(q, last, min(last+proofChunk, e.log.count))
			return err
		})
		if err != nil {
			yield(0, err)
			return
		}
		for _, leaf := range chunk {
			if !yield(leaf, nil) {
				return
			}
		}
	}
}

// hashes reads from the tree, unless the log was restarted since the checkpoint.
func (e *proofExport) hashes(indexes []int64) (hashes []tlog.Hash, err error) {
	err = e.read(func(q db.Q) error {
		state, err := readTree(q)
		if err == nil && state.origin != e.signed.Origin {
			err = fmt.Errorf("the log %s was restarted while it was exported", e.signed.Origin)
		}
		if err == nil {
			hashes, err = NewTiles(q).ReadHashes(indexes)
		}
		return err
	})
	return hashes, err
}
