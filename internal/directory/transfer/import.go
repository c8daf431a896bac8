package transfer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/directory"
	"bursar/internal/directory/entryfile"
	"bursar/internal/fault"
	"bursar/internal/web"
)

const (
	// maxOpenImports and maxOpenBytes bound what a workspace can leave in the store at a time.
	maxOpenImports = 10
	maxOpenBytes   = 2 * MaxImport
	// MaxImport is the largest file in bytes.
	MaxImport = 200 << 20
	// uploadPiece is how much of a file one transaction stores.
	uploadPiece = 1 << 20
	// uploadLease is how long an upload may be silent before it is abandoned.
	uploadLease = 5 * time.Minute
	// keepImports is how long an import that has ended is kept.
	keepImports = 30 * 24 * time.Hour
)

// Import receives a file and queues its import.
func (s *Service) Import(ctx context.Context, by db.Caller, in ImportInput, body *web.Upload) (api.Import, error) {
	workspace, err := s.authority.Enter(ctx, by.Actor, in.WorkspaceID, access.DirectoryWrite)
	if err != nil {
		return api.Import{}, err
	}
	if in.options.OnDuplicate, err = s.directory.OnDuplicate(ctx, by, in.WorkspaceID, in.OnDuplicate); err != nil {
		return api.Import{}, err
	}
	first, err := readPiece(body, make([]byte, uploadPiece))
	if err != nil {
		return api.Import{}, err
	}
	// Files that are not tables are refused before any part of them is stored.
	var preview *api.ImportPreview
	if in.options.Hold {
		preview, err = in.options.preview(bytes.NewReader(first), in.WorkspaceID)
	} else {
		err = in.options.check(bytes.NewReader(first), in.WorkspaceID)
	}
	if err != nil {
		return api.Import{}, cannotImport("body", err)
	}
	i := job{record: record{ID: s.db.NewID("imp"), WorkspaceID: in.WorkspaceID, Workspace: workspace}, options: in.options, actor: by.Actor}
	if err := s.upload(ctx, by, i, first, body); err != nil {
		return api.Import{}, s.abandon(ctx, i, err)
	}
	// The body may have taken long: the session is checked again, and the idempotency key is bound to the received body.
	if by, err = body.End(); err == nil {
		err = s.authority.RequireInWorkspace(ctx, by.Actor, in.WorkspaceID, access.DirectoryWrite)
	}
	if err != nil {
		return api.Import{}, s.abandon(ctx, i, err)
	}
	queued, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Import, audit.Event, error) {
		status, lease := api.ImportQueued, tx.Now()
		if in.options.Hold {
			status, lease = api.ImportHeld, tx.Now()+holdTime.Milliseconds()
		}
		i, err := oneJob(tx.Q, `UPDATE directory_import SET status = $2, lease_until = $3 WHERE id = $1 RETURNING `+jobColumns, i.ID, status, lease)
		if err == nil && i.ID == "" {
			err = fault.Invalid("body", "took too long to arrive")
		}
		out, event := i.wire(tx.Now()), i.event(audit.ImportStarted, "Started")
		if in.options.Hold {
			out.Preview, event = preview, i.event(audit.ImportHeld, "Uploaded a file for")
		}
		return out, event, err
	})
	if err != nil {
		return api.Import{}, s.abandon(ctx, i, err)
	}
	s.queued.Send()
	return queued, nil
}

// upload stores the file in chunks as it arrives.
func (s *Service) upload(ctx context.Context, by db.Caller, i job, first []byte, rest io.Reader) error {
	by.IdempotencyKey = nil
	if err := s.vault.Ready(ctx, i.Workspace); err != nil {
		return err
	}
	_, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		// The workspace is locked, so that concurrent uploads are counted.
		_, err := tx.Row(`UPDATE workspace SET name = name WHERE id = $1 RETURNING id`, i.WorkspaceID).Scan(new(string))
		var count int64
		if err == nil {
			count, _, err = openImports(tx.Q, i.Workspace)
		}
		if err == nil && count >= maxOpenImports {
			err = fault.New(api.CodeTooMany, "the workspace has %d imports that have not ended: wait for one, or cancel it", count)
		}
		if err == nil {
			i.Status, i.LeaseUntil = uploading, tx.Now()+uploadLease.Milliseconds()
			err = insertJob(tx, i)
		}
		return struct{}{}, audit.None("an upload is no import yet"), err
	})
	lines := lineLimit{}
	piece := first
	for number := int64(0); err == nil && len(piece) > 0; number += uploadPiece / chunkSize {
		if err = lines.check(piece); err == nil {
			err = s.storePiece(ctx, by, i, number, piece)
		}
		if err != nil || len(piece) < uploadPiece {
			return err
		}
		piece, err = readPiece(rest, first)
	}
	return err
}

// readPiece reads the next piece of a file, which is shorter than the space for it only at the end.
func readPiece(from io.Reader, space []byte) ([]byte, error) {
	n, err := io.ReadFull(from, space)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return space[:n], err
}

func (s *Service) storePiece(ctx context.Context, by db.Caller, i job, number int64, piece []byte) error {
	_, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		none := audit.None("an upload is no import yet")
		there, err := tx.Row(`UPDATE directory_import SET bytes = bytes + $2, lease_until = $3 WHERE id = $1 AND status = 'uploading' RETURNING id`,
			i.ID, len(piece), tx.Now()+uploadLease.Milliseconds()).Scan(new(string))
		if err == nil && !there {
			err = fault.Invalid("body", "took too long to arrive")
		}
		if err != nil {
			return struct{}{}, none, err
		}
		if _, held, err := openImports(tx.Q, i.Workspace); err != nil || held > maxOpenBytes {
			if err == nil {
				err = fault.New(api.CodeTooMany, "the files of the workspace's imports that have not ended are larger than %d MiB together: wait for one, or cancel it", maxOpenBytes>>20)
			}
			return struct{}{}, none, err
		}
		for n := 0; n*chunkSize < len(piece); n++ {
			chunk := piece[n*chunkSize : min((n+1)*chunkSize, len(piece))]
			if err := s.insertChunk(tx, i, partFile, number+int64(n), chunk); err != nil {
				return struct{}{}, none, err
			}
		}
		return struct{}{}, none, nil
	})
	return err
}

// lineLimit refuses a file with a line that is too long, before all of it has arrived.
type lineLimit struct{ length int }

func (l *lineLimit) check(piece []byte) error {
	for {
		end := bytes.IndexByte(piece, '\n')
		if end < 0 {
			l.length += len(piece)
		}
		if l.length+max(0, end) > entryfile.MaxRow {
			return fault.Invalid("body", "cannot be imported: a line is larger than 1 MiB")
		}
		if end < 0 {
			return nil
		}
		l.length, piece = 0, piece[end+1:]
	}
}

// abandon deletes an upload that does not become an import, and returns why.
func (s *Service) abandon(ctx context.Context, i job, why error) error {
	_, err := db.Write(context.WithoutCancel(ctx), s.db, db.SystemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("an upload is no import yet"),
			tx.Exec(`DELETE FROM directory_import WHERE id = $1 AND status = 'uploading'`, i.ID)
	})
	if err != nil {
		return errors.Join(why, err)
	}
	return why
}

// GetImport returns the state of an import.
func (s *Service) GetImport(ctx context.Context, by db.Caller, in OneImportInput) (api.Import, error) {
	i, err := s.get(ctx, by, directory.ImportKind, in.ID)
	if err != nil {
		return api.Import{}, err
	}
	out := i.wire(s.db.Now())
	if i.Status == api.ImportHeld && s.maySee(ctx, by, i) == nil {
		out.Preview, err = s.storedPreview(ctx, i)
	}
	return out, err
}

// Imports returns a page of the imports of a workspace, newest first.
func (s *Service) Imports(ctx context.Context, by db.Caller, in ImportsInput) (web.Page[api.Import], error) {
	workspace, err := s.authority.Enter(ctx, by.Actor, in.WorkspaceID, access.DirectoryRead)
	if err != nil {
		return web.Page[api.Import]{}, err
	}
	window, err := s.cursors.Paged(in.PageParams, web.Descending, "imports", in.WorkspaceID)
	if err != nil {
		return web.Page[api.Import]{}, err
	}
	rows := []api.Import{}
	err = s.db.ReadList(ctx, func(q db.Q) error {
		rows = rows[:0]
		return q.Each(func(r db.Rows) error {
			i, err := readJob(r)
			rows = append(rows, i.wire(s.db.Now()))
			return err
		}, `SELECT `+jobColumns+` FROM directory_import WHERE workspace_number = $1 AND id < $2 AND id >= 'imp_' AND status <> 'uploading'
			ORDER BY id DESC LIMIT $3`, workspace, window.After, window.Limit)
	})
	if err != nil {
		return web.Page[api.Import]{}, err
	}
	return web.NewPage(window, rows, func(i api.Import) string { return i.ID }), nil
}

// CancelImport ends an import that has not ended. Its changes stay.
func (s *Service) CancelImport(ctx context.Context, by db.Caller, in OneImportInput) (api.Import, error) {
	return cancel(ctx, s, by, directory.ImportKind, in.ID, job.wire)
}

// RefusedLines writes the lines that an import refused into a file that can be corrected and imported. The lines are as they were sent, so
// the audit log records who has read them.
func (s *Service) RefusedLines(ctx context.Context, by db.Caller, in OneImportInput, to *web.File) error {
	return s.download(ctx, by, in.ID, partRefused, to)
}

// Plan writes the result of a rehearsal for each line, as NDJSON.
func (s *Service) Plan(ctx context.Context, by db.Caller, in OneImportInput, to *web.File) error {
	return s.download(ctx, by, in.ID, partPlan, to)
}

func (s *Service) download(ctx context.Context, by db.Caller, id, part string, to *web.File) error {
	i, err := s.find(ctx, by, directory.ImportKind, id, job.needs)
	if err != nil {
		return err
	}
	if err := s.maySee(ctx, by, i); err != nil {
		return err
	}
	if err := db.Record(ctx, s.db, by, i.event(audit.ImportDownloaded, "Downloaded lines of"), nil); err != nil {
		return err
	}
	to.Name, to.Type = part+".csv", "text/csv; charset=utf-8"
	if part == partPlan || i.options.Format == entryfile.NDJSON {
		to.Name, to.Type = part+".ndjson", "application/x-ndjson"
	}
	_, err = io.Copy(to, s.part(ctx, i, part))
	return err
}

// maySee requires the permission to read the lines of a file that another person has sent: they may contain account numbers.
func (s *Service) maySee(ctx context.Context, by db.Caller, i job) error {
	if by.ID == i.actor.ID {
		return nil
	}
	return s.authority.RequireInWorkspace(ctx, by.Actor, i.WorkspaceID, access.ReceivingRead)
}

// ExpireImports deletes uploads that have stopped, cancels held files that no one has started, and deletes imports that ended long ago.
func ExpireImports(tx *db.Tx) error {
	if err := giveUpHeld(tx); err != nil {
		return err
	}
	if err := tx.Exec(`DELETE FROM directory_import WHERE ended_at = 0 AND lease_until <= $1 AND status = 'uploading'`, tx.Now()); err != nil {
		return err
	}
	return tx.Exec(`DELETE FROM directory_import WHERE ended_at > 0 AND ended_at <= $1`, tx.Now()-keepImports.Milliseconds())
}
