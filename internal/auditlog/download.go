package auditlog

import (
	"cmp"
	"context"
	"encoding/csv"

	"github.com/go-json-experiment/json"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/web"
)

// Download writes the rows that Export calls for into a file.
func (s *Service) Download(ctx context.Context, by db.Caller, in ExportInput, to *web.File) error {
	to.Name = cmp.Or(to.Name, "audit."+in.format())
	if in.format() == formatNDJSON {
		to.Type = "application/x-ndjson"
		return s.Export(ctx, by, in, func(row api.AuditEntry) error {
			line, err := json.Marshal(row)
			if err == nil {
				_, err = to.Write(append(line, '\n'))
			}
			return err
		})
	}
	to.Type = "text/csv; charset=utf-8"
	table := csv.NewWriter(to)
	err := table.Write(Columns())
	if err == nil {
		err = s.Export(ctx, by, in, func(row api.AuditEntry) error { return table.Write(Record(row)) })
	}
	table.Flush()
	return cmp.Or(err, table.Error())
}
