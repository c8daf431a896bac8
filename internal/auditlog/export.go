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

// exportChunk is how many rows an export holds at once.
const exportChunk = 500

// Export hands over every row that List would show, newest first, and notes
// beforehand that it does: whoever got a row is on record. Rows that arrive
// meanwhile do not belong. Nothing of the store is held while each takes a row.
func (s *Service) Export(ctx context.Context, by db.Caller, in exportInput, each func(api.AuditEntry) error) error {
	f, err := s.may(ctx, by, in.filters, access.AuditExport)
	if err != nil {
		return err
	}
	newest, err := s.rows(ctx, filter{column: f.column, value: f.value, to: web.LastMillisecond}, string(web.Descending), 1)
	if err != nil {
		return err
	}
	by.IdempotencyKey = nil // rows are not kept to be handed over again: a repeated export is another one
	if err := db.Record(ctx, s.db, by, f.exported(in.Format), nil); err != nil || len(newest) == 0 {
		return err
	}
	for below := newest[0].ID + string(web.Descending); ; {
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

// exported tells that rows were exported, and which.
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

// words says what is asked for, as in "outcome denied, from … to …".
func (f filter) words() string {
	var parts, span []string
	for _, e := range f.equals {
		name, value := strings.ReplaceAll(strings.TrimSuffix(e[0], "_id"), "_", " "), e[1]
		if value == "" {
			value = "none"
		}
		parts = append(parts, name+" "+value)
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
