package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/directory"
	"bursar/internal/directory/entryfile"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/work"
)

const (
	// importBatch is how many lines one transaction imports, and politeBatch how many while people write, too: SQLite has one writer, and
	// people wait for it.
	importBatch = 500
	politeBatch = 25
	// politeTime is how long an import stays polite after another write.
	politeTime = time.Second
	// importBatchBytes bounds the memory of a transaction, however long its lines are.
	importBatchBytes = 1 << 20
)

// runImport works on an import until it ends or its turn is over.
func (s *Service) runImport(ctx context.Context, i job) error {
	source := s.part(ctx, i, partFile)
	file, err := i.kind().open(source)
	if err == nil && i.Position > 0 {
		source = s.part(ctx, i, partFile)
		source.next, source.skip = i.Position/chunkSize, int(i.Position%chunkSize)
		file.Resume(source, i.at())
	}
	if err == nil {
		i, err = s.importAll(ctx, i, file)
	}
	var stopped stoppedImport
	switch {
	case source.err != nil:
		return s.failImport(ctx, i, source.err)
	case errors.As(err, &stopped):
		return s.failImport(ctx, i, stopped.error)
	case !errors.Is(err, io.EOF):
		return s.failImport(ctx, i, fault.Invalid("file", err.Error()))
	}
	return s.finishImport(ctx, i, api.ImportCompleted, i.Reason)
}

// stoppedImport is why an import cannot continue although its file can be read.
type stoppedImport struct{ error }

// importAll applies the rest of a file, or as much as one turn has time for. While a transaction runs, the rows of the next one are read.
// It returns the error that ended the file, or a stoppedImport.
func (s *Service) importAll(ctx context.Context, i job, file jobFile) (job, error) {
	var ahead chan batch
	defer func() {
		if ahead != nil {
			<-ahead // the file is no longer read
		}
	}()
	polite := s.yielding()
	b := nextRows(file, rowsAtOnce(polite))
	for transactions := 1; ; transactions++ {
		if len(b.rows) == 0 {
			return i, b.err
		}
		begun := time.Now()
		polite = s.yielding()
		over := transactions == importTurn && b.err == nil
		if b.err == nil && !over {
			ahead = make(chan batch, 1)
			go func() { ahead <- nextRows(file, rowsAtOnce(polite)) }()
		}
		held, err := s.stillMay(ctx, i)
		if err == nil {
			i, err = s.jobs(ctx, i, file, b, held, over)
		}
		if err != nil {
			return i, stoppedImport{err}
		}
		if b.err != nil {
			return i, b.err
		}
		if polite { // others have the writer for as long as the transaction took
			if err := work.Sleep(ctx, time.Since(begun)); err != nil {
				return i, stoppedImport{err}
			}
		}
		if over {
			return i, stoppedImport{errTurnOver}
		}
		b, ahead = <-ahead, nil
	}
}

// batch is the rows of one transaction.
type batch struct {
	rows []*entryfile.Row
	at   entryfile.Position // after the last of them
	err  error              // from reading ahead
}

// rowsAtOnce returns how many rows a transaction applies.
func rowsAtOnce(polite bool) int {
	if polite {
		return politeBatch
	}
	return importBatch
}

// nextRows reads the rows of a transaction.
func nextRows(file jobFile, most int) (b batch) {
	begin := file.Position().Offset
	for n := 0; n < most && file.Position().Offset-begin < importBatchBytes; {
		row, err := file.Next()
		if b.at = file.Position(); err != nil {
			b.err = err
			return b
		}
		b.rows = append(b.rows, row)
		n += max(1, len(row.Methods)) // each method takes as long as a line
	}
	return b
}

// stillMay returns the permissions of the account that requested the import, or why it may not continue: an import ends when that access
// ends.
func (s *Service) stillMay(ctx context.Context, i job) (access.Set, error) {
	err := s.db.Read(ctx, func(q db.Q) error { return identity.RequireCredential(q, i.actor) })
	if err == nil {
		err = s.authority.RequireInWorkspace(ctx, i.actor, i.WorkspaceID, i.needs())
	}
	if err != nil {
		return 0, err
	}
	return s.authority.Permissions(ctx, i.actor, i.WorkspaceID)
}

// jobs applies rows, and stores the position after them in the same transaction. The last transaction of a turn releases the claim.
func (s *Service) jobs(ctx context.Context, i job, file jobFile, b batch, held access.Set, over bool) (job, error) {
	if err := s.vault.Ready(ctx, i.Workspace); err != nil {
		return i, err
	}
	rules := directory.Rules{WorkspaceID: i.WorkspaceID, Workspace: i.Workspace, Held: held, Match: i.options.Match, OnMatch: i.options.OnMatch,
		OnDuplicate: i.options.OnDuplicate, DryRun: i.options.DryRun}
	if !rules.DryRun {
		rules.JobID = i.ID
		if rules.OnDuplicate == api.OnDuplicateWarn {
			rules.OnDuplicate = api.OnDuplicateAllow // only a rehearsal reports each line
		}
	}
	done, err := directory.Apply(ctx, s.directory, db.Caller{Actor: i.actor, CoInitiators: i.options.Behind}, rules,
		func(tx *db.Tx, a *directory.Applier) (job, error) { return s.applyRows(tx, a, i, file, b, over) })
	s.own.Add(1)
	if err != nil {
		return i, err
	}
	return done, nil
}

func (s *Service) applyRows(tx *db.Tx, a *directory.Applier, i job, file jobFile, b batch, over bool) (job, error) {
	lease := tx.Now() + importLease.Milliseconds()
	if over {
		lease = tx.Now()
	}
	mine, err := tx.Row(`UPDATE directory_import SET lease_until = $3 WHERE id = $1 AND node = $2 AND status = 'running' RETURNING id`,
		i.ID, i.Node, lease).Scan(new(string))
	if err == nil && !mine {
		err = errNotMine
	}
	to := i.kind().applier(a)
	if err == nil {
		err = to.Begin(b.rows)
	}
	if err != nil {
		return i, err
	}
	var refused, plan, changed []byte
	for _, row := range b.rows {
		done, err := to.Apply(row)
		var no *fault.Fault
		if errors.As(err, &no) {
			done.Action = entryfile.Refused
			refused = append(refused, file.refuse(&i, row, no.Message)...)
		} else if err != nil {
			return i, err
		}
		i.count(done.Action)
		changed = append(changed, done.Undo...)
		if i.options.DryRun {
			line := api.ImportLine{Line: row.Line, Action: done.Action, ID: done.ID, Label: row.Called(), Type: row.Type, Changes: done.Changes, Duplicates: done.Duplicates}
			if no != nil {
				line.Reason = no.Message
			}
			text, err := api.EncodeJSON(line)
			if err != nil {
				return i, fmt.Errorf("encode the plan of a line: %w", err)
			}
			plan = append(append(plan, text...), '\n')
		}
	}
	i.Position, i.PositionLines = b.at.Offset, int64(b.at.Lines)
	for part, body := range map[string][]byte{partRefused: refused, partPlan: plan, partChanged: changed} {
		if len(body) > 0 {
			if err := s.insertChunk(tx, i, part, i.Position, body); err != nil {
				return i, err
			}
		}
	}
	return i, tx.Exec(`UPDATE directory_import SET position = $2, position_lines = $3, lines = $4, created = $5, updated = $6, unchanged = $7, refused = $8, reason = $9
		WHERE id = $1`, i.ID, i.Position, i.PositionLines, i.Lines, i.Created, i.Updated, i.Unchanged, i.Refused, i.Reason)
}

func (i *job) count(action string) {
	i.Lines++
	switch action {
	case entryfile.Created:
		i.Created++
	case entryfile.Updated:
		i.Updated++
	case entryfile.Unchanged:
		i.Unchanged++
	case entryfile.Refused:
		i.Refused++
	}
}

// failImport ends an import that cannot continue. Its changes stay.
func (s *Service) failImport(ctx context.Context, i job, why error) error {
	var no *fault.Fault
	if !errors.As(why, &no) {
		return why // for example an error of the store, which may be temporary
	}
	return s.finishImport(ctx, i, api.ImportFailed, strings.ReplaceAll(no.Message, "\n", "; "))
}

func (s *Service) finishImport(ctx context.Context, i job, status, reason string) error {
	if err := s.vault.Ready(ctx, i.Workspace); err != nil {
		return err
	}
	_, err := db.Write(ctx, s.db, db.Caller{Actor: i.actor}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		end := s.endJob
		if i.options.Hold && i.options.DryRun {
			end = holdAgain
		}
		done, err := end(tx, i.ID, i.Node, status, reason)
		if err == nil && done.ID == "" {
			err = errNotMine
		}
		event := done.event(audit.ImportCompleted, "Completed")
		if status == api.ImportFailed {
			event = done.event(audit.ImportFailed, "Gave up")
			event.Outcome = audit.Failure
			event.Description += ": " + reason
		}
		event.Changes.Add("approval_id", "", done.approvalID)
		return struct{}{}, event, err
	})
	s.own.Add(1)
	return err
}

// chunkReader reads a part of an import from the store, chunk by chunk.
type chunkReader struct {
	ctx     context.Context
	service *Service
	row     job
	part    string
	next    int64 // the chunk that comes next
	skip    int   // how much of it was already read
	rest    []byte
	err     error // an error of the store or the vault; the file is valid
}

// part returns a reader of a part of a job.
func (s *Service) part(ctx context.Context, i job, name string) *chunkReader {
	return &chunkReader{ctx: ctx, service: s, row: i, part: name}
}

func (r *chunkReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		var found bool
		var number int64
		if number, r.rest, found, r.err = r.service.readChunk(r.ctx, r.row, r.part, r.next); r.err != nil {
			return 0, r.err
		}
		if !found {
			return 0, io.EOF
		}
		r.rest = r.rest[min(r.skip, len(r.rest)):]
		r.next, r.skip = number+1, 0
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
