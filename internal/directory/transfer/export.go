package transfer

import (
	"context"
	"strings"
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

// exportTime is how long an export may take: it holds a snapshot of the store meanwhile.
const exportTime = 15 * time.Minute

// Export writes the entries that List would return into a file. All of them are as of one moment. The audit log records the export before
// the first byte is sent.
func (s *Service) Export(ctx context.Context, by db.Caller, in ExportInput, to *web.File) error {
	workspace, err := s.authority.Enter(ctx, by.Actor, in.WorkspaceID, access.DirectoryRead)
	if err != nil {
		return err
	}
	held, err := s.authority.Permissions(ctx, by.Actor, in.WorkspaceID)
	if err != nil {
		return err
	}
	numbers := held.Has(access.ReceivingRead)
	if err := db.Record(ctx, s.db, by, in.event(numbers), nil); err != nil {
		return err
	}
	all, err := s.directory.Select(ctx, by, in.ListInput, in.ids)
	if err != nil {
		return err
	}
	if err := s.vault.Ready(ctx, workspace); err != nil { // so that it does not wait for keys while it holds the snapshot
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, exportTime)
	defer cancel()
	return s.db.Read(ctx, func(q db.Q) error {
		if err := q.Snapshot(); err != nil {
			return err
		}
		out, err := in.writer(q, all, to, numbers)
		if err != nil {
			return err
		}
		err = all.Each(q, func(page []*api.Entry) error {
			if err := all.AddParts(q, page, numbers); err != nil {
				return err
			}
			for _, e := range page {
				if in.chosen != nil {
					e.Fields = entryfile.Only(e.Fields, in.chosen)
				}
				if err := out.Write(e); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return out.Flush()
	})
}

// writer begins the file. A CSV file has a column for each field, so all entries are read for them first.
func (in *ExportInput) writer(q db.Q, all directory.Selection, to *web.File, numbers bool) (entryfile.Writer, error) {
	if in.format() == entryfile.NDJSON {
		to.Name, to.Type = "directory.ndjson", "application/x-ndjson"
		return entryfile.NewNDJSONWriter(to), nil
	}
	to.Name, to.Type = "directory.csv", "text/csv; charset=utf-8"
	columns := entryfile.NewColumns(in.chosen)
	err := all.Each(q, func(page []*api.Entry) error {
		for _, e := range page {
			if err := columns.Add(e.Fields); err != nil {
				return fault.Invalid("format", "cannot be csv: "+e.ID+" "+err.Error())
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return entryfile.NewCSVWriter(to, columns, in.comma, isTrue(in.Raw), numbers)
}

func (in *ExportInput) event(numbers bool) audit.Event {
	text := "Exported the directory as " + strings.ToUpper(in.format())
	if numbers {
		text += " with account numbers"
	}
	if in.Type != nil {
		text += ", type " + *in.Type
	}
	return audit.Event{Action: audit.DirectoryExported, WorkspaceID: in.WorkspaceID, ResourceID: in.WorkspaceID, Description: text}
}
