package auditlog

import (
	"context"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/web"
)

// exportChunk is how many rows an export reads at once.
const exportChunk = 500

// Export calls each with every row that List would return, newest first. It first adds a row to
// the log that describes the export, so that every export leaves a trace. Rows that are added
// later are not exported. No connection to the store is held while each runs.
func (s *Service) Export(ctx context.Context, by db.Caller, in ExportInput, each func(api.AuditEntry) error) error {
	f, err := s.authorize(ctx, by, in.Filters, access.AuditExport)
	if err != nil {
		return err
	}
	newest, err := s.rows(ctx, filter{column: f.column, value: f.value, workspace: f.workspace, to: web.LastMillisecond}, string(web.Descending), 1)
	if err != nil {
		return err
	}
	if err := db.Record(ctx, s.db, by, f.exported(in.format()), nil); err != nil || len(newest) == 0 {
		return err
	}
	for below := db.NextID("aud", newest[0].ID); ; {
		chunk, err := s.rows(ctx, f, below, exportChunk)
		if err != nil {
			return err
		}
		for _, row := range chunk {
			if err := each(row); err != nil {
				return err
			}
			below = row.ID
		}
		if len(chunk) < exportChunk {
			return nil
		}
	}
}

// exported returns the event that describes which rows were exported.
func (f filter) exported(format string) audit.Event {
	event := audit.Event{Action: audit.AuditExported, ResourceID: f.value, Description: "Exported the audit log as " + strings.ToUpper(format)}
	if f.column == "workspace_id" {
		event.WorkspaceID = f.value
	} else {
		event.OrganizationID = f.value
	}
	if words := f.words(); words != "" {
		event.Description += " (" + words + ")"
	}
	return event
}

// words describes the filter, as in "outcome denied, from … to …".
func (f filter) words() string {
	var parts, span []string
	for _, e := range f.equals {
		name, value := strings.ReplaceAll(strings.TrimSuffix(string(e.by), "_id"), "_", " "), e.value
		if value == "" {
			value = "none"
		}
		parts = append(parts, name+" "+value)
	}
	if f.entry != nil {
		parts = append(parts, "history of "+*f.entry)
	}
	if f.key != nil {
		parts = append(parts, "done with "+*f.key)
	}
	if f.from > 0 {
		span = append(span, "from "+timeText(f.from))
	}
	if f.to < web.LastMillisecond {
		span = append(span, "to "+timeText(f.to))
	}
	if len(span) > 0 {
		parts = append(parts, strings.Join(span, " "))
	}
	return strings.Join(parts, ", ")
}
