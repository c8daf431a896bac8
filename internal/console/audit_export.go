package console

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"bursar/api"
	"bursar/internal/auditlog"
	"bursar/internal/db"
	"bursar/internal/web"
)

const (
	// exportChunk is how many rows are sent at once.
	exportChunk = 500
	// chunkTime is how long the browser may take to receive a chunk.
	chunkTime = time.Minute
)

// exportAudit downloads all rows that match the filter.
func (c *Console) exportAudit(v *visit) error {
	filter := readFilter(v.form, v.localTime())
	if len(filter.problems.Fields) > 0 {
		return v.redirect(filter.address(v.path("audit")))
	}
	out := newExport(v, v.field("format"), filter.Scope)
	_, err := change(v, exporting(c.Audit.Export, out.row), auditlog.ExportInput{Filters: filter.filters(v), Format: v.field("format")})
	if err == nil {
		err = out.end()
	}
	if err == nil || !out.begun {
		return err
	}
	// Break the connection, so that the browser does not take half a file for a whole
	// one.
	v.Log.Error("audit export failed", "request_id", v.RequestID, "route", v.Route, "rows", out.rows, "error", err.Error())
	panic(http.ErrAbortHandler)
}

// exporting adapts an export to a service method. The rows go to each instead of
// into the answer.
func exporting[In any](export func(context.Context, db.Caller, In, func(api.AuditEntry) error) error, each func(api.AuditEntry) error) web.Func[In, struct{}] {
	return func(ctx context.Context, by db.Caller, in In) (struct{}, error) {
		return struct{}{}, export(ctx, by, in, each)
	}
}

// export is a download in progress.
type export struct {
	v     *visit
	name  string
	kind  string
	begun bool
	rows  int

	wire  *http.ResponseController
	out   *bufio.Writer
	head  func() error
	write func(api.AuditEntry) error
	flush func() error
}

func newExport(v *visit, format, scope string) *export {
	today := v.localTime().Format(time.DateOnly)
	about := v.workspace.Slug
	if scope == scopeOrganization {
		about = "organization"
	}
	e := &export{v: v, wire: http.NewResponseController(v.W), out: bufio.NewWriterSize(v.W, 1<<16), name: fmt.Sprintf("audit-%s-%s.%s", about, today, format)}
	if format == "csv" {
		e.asCSV()
	} else {
		e.asNDJSON()
	}
	return e
}

func (e *export) asCSV() {
	table := csv.NewWriter(e.out)
	e.kind = "text/csv; charset=utf-8"
	e.head = func() error { return table.Write(auditlog.Columns()) }
	e.write = func(row api.AuditEntry) error { return table.Write(auditlog.Record(row)) }
	e.flush = func() error { table.Flush(); return table.Error() }
}

func (e *export) asNDJSON() {
	e.kind = "application/x-ndjson; charset=utf-8"
	e.head = func() error { return nil }
	e.write = func(row api.AuditEntry) error {
		line, err := json.Marshal(row)
		if err == nil {
			_, err = e.out.Write(append(line, '\n'))
		}
		return err
	}
	e.flush = func() error { return nil }
}

// begin sends the headers. It waits for the first row or the end, because until
// then the export can still fail with an error page.
func (e *export) begin() error {
	if e.begun {
		return nil
	}
	e.begun = true
	h := e.v.W.Header()
	h.Set("Content-Type", e.kind)
	h.Set("Content-Disposition", `attachment; filename="`+e.name+`"`)
	return e.head()
}

func (e *export) row(row api.AuditEntry) error {
	if err := e.begin(); err != nil {
		return err
	}
	if err := e.write(row); err != nil {
		return err
	}
	if e.rows++; e.rows%exportChunk == 0 {
		return e.send()
	}
	return nil
}

func (e *export) end() error {
	if err := e.begin(); err != nil {
		return err
	}
	return e.send()
}

// send flushes a chunk. The server's write timeout is meant for pages and would end
// a long download, so every chunk gets a timeout of its own.
func (e *export) send() error {
	if err := e.wire.SetWriteDeadline(time.Now().Add(chunkTime)); err != nil {
		return err
	}
	if err := e.flush(); err != nil {
		return err
	}
	if err := e.out.Flush(); err != nil {
		return err
	}
	return e.wire.Flush()
}
