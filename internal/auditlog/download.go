package auditlog

import (
	"cmp"
	"context"
	"strings"

	"github.com/go-json-experiment/json"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/spreadsheet"
	"bursar/internal/web"
)

// Download writes the rows that Export returns into a file.
func (s *Service) Download(ctx context.Context, by db.Caller, in ExportInput, to *web.File) error {
	end, _, _ := strings.Cut(in.format(), "-")
	to.Name = cmp.Or(to.Name, "audit."+end)
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
	table := spreadsheet.NewWriter(to, ',', in.format() == formatRaw)
	err := table.Write(Columns()...)
	if err == nil {
		err = s.Export(ctx, by, in, func(row api.AuditEntry) error { return table.Write(Cells(row)...) })
	}
	return cmp.Or(err, table.Flush())
}
