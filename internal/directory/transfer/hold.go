package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/directory"
	"bursar/internal/directory/entryfile"
	"bursar/internal/fault"
)

const (
	// holdTime is how long a file waits for its import to be started.
	holdTime = 24 * time.Hour
	// previewRows is how many rows of a held file are shown.
	previewRows = 10
)

var errNotHeld = fault.New(api.CodeImportNotHeld, "the import does not wait to be started: it was started, has ended or was given up")

// cannotImport returns a fault with the reason why a file cannot be imported, in a field.
func cannotImport(field string, err error) error {
	var no *fault.Fault
	if errors.As(err, &no) {
		return err
	}
	return fault.Invalid(field, "cannot be imported: "+strings.ReplaceAll(err.Error(), "\n", "; "))
}

// check opens a file by the options, and sets its format.
func (o *importOptions) check(from io.Reader, workspaceID string) error {
	file, err := entryfile.Open(from, o.file(workspaceID))
	if err == nil {
		o.Format = file.Format()
	}
	return err
}

// preview returns the beginning of a file, and sets its format. Account numbers are masked: they are not needed to distinguish columns. So
// no preview has to be recorded in the audit log.
func (o *importOptions) preview(from io.Reader, workspaceID string) (*api.ImportPreview, error) {
	begin, err := entryfile.NewPreview(from, o.file(workspaceID), previewRows)
	if err != nil {
		return nil, err
	}
	o.Format = begin.Format
	for at, name := range begin.Columns {
		means := begin.Mapping[strings.TrimSpace(name)]
		if means == "" && o.Format == entryfile.NDJSON {
			means = name
		}
		for _, row := range begin.Rows {
			if at < len(row) && row[at] != "" {
				row[at] = masked(means, row[at])
			}
		}
	}
	out := &api.ImportPreview{
		Columns: begin.Columns, Mapping: maps.Clone(begin.Mapping), Rows: begin.Rows, DefaultType: o.Type, Match: o.Match, OnMatch: o.OnMatch,
	}
	if out.Mapping == nil {
		out.Mapping = map[string]string{}
	}
	return out, nil
}

// masked hides the account numbers of a cell.
func masked(means, cell string) string {
	switch means {
	case "method.account_id":
		return audit.Mask(cell)
	case "receiving_methods":
		var methods []api.ReceivingMethodCreate
		if json.Unmarshal([]byte(cell), &methods) != nil {
			return audit.Mask("") // for example a shortened one
		}
		var all []string
		for _, m := range methods {
			all = append(all, m.Provider+" "+audit.Mask(m.AccountID))
		}
		return strings.Join(all, ", ")
	}
	return cell
}

func (s *Service) storedPreview(ctx context.Context, i job) (*api.ImportPreview, error) {
	preview, err := i.options.preview(s.part(ctx, i, partFile), i.WorkspaceID)
	if err != nil {
		return nil, cannotImport("file", err)
	}
	return preview, nil
}

// StartImport queues the import of a held file, or its rehearsal, after which the file is held again.
func (s *Service) StartImport(ctx context.Context, by db.Caller, in StartInput) (api.Import, error) {
	i, err := s.find(ctx, by, directory.ImportKind, in.ID, job.needs)
	if err == nil {
		err = s.maySee(ctx, by, i) // the caller who starts it can read its refused lines
	}
	if err == nil && i.Status != api.ImportHeld {
		err = errNotHeld
	}
	if err != nil {
		return api.Import{}, err
	}
	o := &i.options
	if in.Mapping != nil {
		o.Mapping = in.Mapping
	}
	set(&o.Type, in.DefaultType)
	set(&o.Match, in.Match)
	set(&o.OnMatch, in.OnMatch)
	o.DryRun = in.DryRun
	if err := o.check(s.part(ctx, i, partFile), i.WorkspaceID); err != nil {
		return api.Import{}, cannotImport("mapping", err)
	}
	err = s.db.Read(ctx, func(q db.Q) error {
		involved, err := approval.Involved(q, i.actor)
		o.Behind = slices.Concat(o.Behind, involved)
		return err
	})
	if err != nil {
		return api.Import{}, err
	}
	slices.Sort(o.Behind)
	o.Behind, i.actor = slices.Compact(o.Behind), by.Actor
	if err := i.encode(); err != nil {
		return api.Import{}, err
	}
	queued, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Import, audit.Event, error) {
		i, err := oneJob(tx.Q, `UPDATE directory_import SET status = 'queued', options = $2, actor = $3, lease_until = $4, reason = '', started_at = 0,
				position = 0, position_lines = 0, lines = 0, created = 0, updated = 0, unchanged = 0, refused = 0
			WHERE id = $1 AND status = 'held' AND lease_until > $4 RETURNING `+jobColumns, i.ID, i.Options, i.Actor, tx.Now())
		if err == nil && i.ID == "" {
			err = errNotHeld
		}
		if err == nil { // the results of a rehearsal are obsolete
			err = tx.Exec(`DELETE FROM directory_import_chunk WHERE import_id = $1 AND part IN ($2, $3)`, i.ID, partRefused, partPlan)
		}
		return i.wire(tx.Now()), i.event(audit.ImportStarted, "Started"), err
	})
	if err == nil {
		s.queued.Send()
	}
	return queued, err
}

// holdAgain ends the rehearsal of a held file. The id of the returned import is empty if another node has claimed it or it has ended. A
// reason is why the rehearsal failed.
func holdAgain(tx *db.Tx, id, claim, _, reason string) (job, error) {
	return oneJob(tx.Q, `UPDATE directory_import SET status = 'held', reason = $2, lease_until = $3, node = ''
		WHERE id = $1 AND ended_at = 0 AND status = 'running' AND node = $4 RETURNING `+jobColumns,
		id, reason, tx.Now()+holdTime.Milliseconds(), claim)
}

// giveUpHeld cancels imports that no one has started in time, and deletes their files.
func giveUpHeld(tx *db.Tx) error {
	late, err := db.Collect(tx.Q, func(r db.Rows) string { return r.Text(0) },
		`UPDATE directory_import SET status = 'cancelled', reason = 'nobody started it within 24 hours', ended_at = $1, lease_until = 0
			WHERE ended_at = 0 AND lease_until <= $1 AND status = 'held' RETURNING id`, tx.Now())
	for _, id := range late {
		if err == nil {
			err = tx.Exec(`DELETE FROM directory_import_chunk WHERE import_id = $1`, id)
		}
	}
	return err
}
