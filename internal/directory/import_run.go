package directory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
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

// imports is the state of a node about the imports that it works on.
type imports struct {
	wake    work.Signal
	decided work.Signal   // wakes the loop that carries out decisions
	own     atomic.Uint64 // writes of imports

	mu     sync.Mutex
	others uint64    // the number of all other writes, when last read
	busy   time.Time // when the last other write was seen
}

func newImports() *imports {
	return &imports{wake: make(work.Signal, importSlots), decided: make(work.Signal, 1)}
}

// runImport works on an import until it ends or its turn is over.
func (s *Service) runImport(ctx context.Context, i importRow) error {
	source := &chunkReader{ctx: ctx, service: s, row: i, part: partFile}
	file, err := i.open(source)
	if err == nil && i.at.Offset > 0 {
		source = &chunkReader{ctx: ctx, service: s, row: i, part: partFile, next: i.at.Offset / chunkSize, skip: int(i.at.Offset % chunkSize)}
		file.Resume(source, i.at)
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
	return s.finishImport(ctx, i, api.ImportCompleted, i.reason)
}

// stoppedImport is why an import cannot continue although its file can be read.
type stoppedImport struct{ error }

// importAll applies the rest of a file, or as much as one turn has time for. While a transaction runs, the rows of the next one are read.
// It returns the error that ended the file, or a stoppedImport.
func (s *Service) importAll(ctx context.Context, i importRow, file entryfile.Reader) (importRow, error) {
	var ahead chan batch
	defer func() {
		if ahead != nil {
			<-ahead // the file is no longer read
		}
	}()
	polite := s.yielding()
	b := nextRows(file, polite)
	for transactions := 1; ; transactions++ {
		if len(b.rows) == 0 {
			return i, b.err
		}
		begun := time.Now()
		polite = s.yielding()
		over := transactions == importTurn && b.err == nil
		if b.err == nil && !over {
			ahead = make(chan batch, 1)
			go func() { ahead <- nextRows(file, polite) }()
		}
		held, err := s.stillMay(ctx, i)
		if err == nil {
			i, err = s.importRows(ctx, i, file, b, held, over)
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

// open begins to read the file of an import.
func (i importRow) open(source io.Reader) (entryfile.Reader, error) {
	if i.options.Bulk != nil {
		return newBulkFile(source), nil
	}
	return entryfile.Open(source, i.options.file(i.workspaceID))
}

// yielding reports whether there was another write a moment ago.
func (s *Service) yielding() bool {
	m := s.imports
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if others := s.db.Writes() - m.own.Load(); others != m.others {
		m.others, m.busy = others, now
	}
	return now.Sub(m.busy) < politeTime
}

// batch is the rows of one transaction.
type batch struct {
	rows []*entryfile.Row
	at   entryfile.Position // after the last of them
	err  error              // from reading ahead
}

// nextRows reads the rows of a transaction.
func nextRows(file entryfile.Reader, polite bool) (b batch) {
	most, begin := importBatch, file.Position().Offset
	if polite {
		most = politeBatch
	}
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
func (s *Service) stillMay(ctx context.Context, i importRow) (access.Set, error) {
	err := s.db.Read(ctx, func(q db.Q) error { return identity.RequireCredential(q, i.actor) })
	if err == nil {
		err = s.authority.RequireInWorkspace(ctx, i.actor, i.workspaceID, i.needs())
	}
	if err != nil {
		return 0, err
	}
	return s.authority.Permissions(ctx, i.actor, i.workspaceID)
}

// importRows applies rows, and stores the position after them in the same transaction. The last transaction of a turn releases the claim.
func (s *Service) importRows(ctx context.Context, i importRow, file entryfile.Reader, b batch, held access.Set, over bool) (importRow, error) {
	if err := s.vault.Ready(ctx, i.workspace); err != nil {
		return i, err
	}
	many := applier{
		service: s, workspaceID: i.workspaceID, workspace: i.workspace, held: held,
		match: i.options.Match, onMatch: i.options.OnMatch, onDuplicate: i.options.OnDuplicate, dry: i.options.DryRun, bulk: i.options.Bulk,
		job: !i.options.DryRun,
	}
	if many.onDuplicate == api.OnDuplicateWarn && !many.dry {
		many.onDuplicate = api.OnDuplicateAllow // only a rehearsal reports each line
	}
	done, err := applyMany(ctx, db.Caller{Actor: i.actor, CoInitiators: i.options.Behind}, many, func(a *applier) (importRow, error) { return s.applyRows(a, i, file, b, over) })
	s.imports.own.Add(1)
	if err != nil {
		return i, err
	}
	return done, nil
}

func (s *Service) applyRows(a *applier, i importRow, file entryfile.Reader, b batch, over bool) (importRow, error) {
	tx := a.tx
	if a.job {
		a.service = s.forJob(i, a.accounts)
	}
	lease := tx.Now() + importLease.Milliseconds()
	if over {
		lease = tx.Now()
	}
	mine, err := tx.Row(`UPDATE directory_import SET lease_until = $3 WHERE id = $1 AND node = $2 AND status = 'running' RETURNING id`,
		i.id, i.claim, lease).Scan(new(string))
	if err == nil && !mine {
		err = errNotMine
	}
	if err == nil {
		err = a.begin(b.rows)
	}
	if err != nil {
		return i, err
	}
	var refused, plan, changed []byte
	for _, row := range b.rows {
		if a.job {
			a.service.job.line = int64(row.Line)
		}
		done, err := a.apply(row)
		var no *fault.Fault
		if errors.As(err, &no) {
			done.action = rowRefused
			if i.refused == 0 {
				refused = append(refused, file.RefusedHead()...)
			}
			refused = append(refused, file.Refused(row, no.Message)...)
		} else if err != nil {
			return i, err
		}
		i.count(done.action)
		if i.options.Bulk != nil {
			if i.reason == "" && no != nil {
				i.reason = row.ID + ": " + no.Message
			}
			changed = append(changed, done.undo...)
		}
		if i.options.DryRun {
			line := api.ImportLine{Line: row.Line, Action: done.action, ID: done.id, Label: row.Called(), Type: row.Type, Changes: done.changes, Duplicates: done.doubles}
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
	i.at = b.at
	for part, body := range map[string][]byte{partRefused: refused, partPlan: plan, partChanged: changed} {
		if len(body) > 0 {
			if err := s.insertChunk(tx, i, part, i.at.Offset, body); err != nil {
				return i, err
			}
		}
	}
	return i, tx.Exec(`UPDATE directory_import SET position = $2, position_lines = $3, lines = $4, created = $5, updated = $6, unchanged = $7, refused = $8, reason = $9
		WHERE id = $1`, i.id, i.at.Offset, i.at.Lines, i.lines, i.created, i.updated, i.unchanged, i.refused, i.reason)
}

func (i *importRow) count(action string) {
	i.lines++
	switch action {
	case rowCreated:
		i.created++
	case rowUpdated:
		i.updated++
	case rowUnchanged:
		i.unchanged++
	case rowRefused:
		i.refused++
	}
}

// failImport ends an import that cannot continue. Its changes stay.
func (s *Service) failImport(ctx context.Context, i importRow, why error) error {
	var no *fault.Fault
	if !errors.As(why, &no) {
		return why // for example an error of the store, which may be temporary
	}
	return s.finishImport(ctx, i, api.ImportFailed, strings.ReplaceAll(no.Message, "\n", "; "))
}

func (s *Service) finishImport(ctx context.Context, i importRow, status, reason string) error {
	if err := s.vault.Ready(ctx, i.workspace); err != nil {
		return err
	}
	_, err := db.Write(ctx, s.db, db.Caller{Actor: i.actor}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		end := s.endJob
		if i.options.Hold && i.options.DryRun {
			end = holdAgain
		}
		done, err := end(tx, i.id, i.claim, status, reason)
		if err == nil && done.id == "" {
			err = errNotMine
		}
		event := done.event(audit.ImportCompleted, "Completed")
		if done.options.Bulk == nil {
			event.Description += fmt.Sprintf(": %d created, %d updated, %d unchanged, %d refused", done.created, done.updated, done.unchanged, done.refused)
		}
		if status == api.ImportFailed {
			event = done.event(audit.ImportFailed, "Gave up")
			event.Outcome = audit.Failure
			event.Description += ": " + reason
		}
		event.Changes.Add("approval_id", "", done.approvalID)
		return struct{}{}, event, err
	})
	s.imports.own.Add(1)
	return err
}

// chunkReader reads a part of an import from the store, chunk by chunk.
type chunkReader struct {
	ctx     context.Context
	service *Service
	row     importRow
	part    string
	next    int64 // the chunk that comes next
	skip    int   // how much of it was already read
	rest    []byte
	err     error // an error of the store or the vault; the file is valid
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
