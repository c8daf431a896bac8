package console

import (
	"context"
	"fmt"
	"time"

	"bursar/internal/auditlog"
	"bursar/internal/db"
	"bursar/internal/web"
)

// exportAudit downloads all rows that match the filter.
func (c *Console) exportAudit(v *visit) error {
	filter := readFilter(v.form, v.localTime())
	if len(filter.problems.Fields) > 0 {
		return v.redirect(filter.address(v.path("audit")))
	}
	format := v.field("format")
	about := v.workspace.Slug
	if filter.Scope == scopeOrganization {
		about = "organization"
	}
	name := fmt.Sprintf("audit-%s-%s.%s", about, v.localTime().Format(time.DateOnly), format)
	return download(v, func(ctx context.Context, by db.Caller, in auditlog.ExportInput, to *web.File) error {
		to.Name = name
		return c.Audit.Download(ctx, by, in, to)
	}, auditlog.ExportInput{Filters: filter.filters(v), Format: &format})
}
