package auditlog

import (
	"fmt"
	"strconv"
	"strings"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/web"
)

const columns = `id, action, actor_name, actor_email, description, outcome, at, actor_id, actor_type,
	resource_type, resource_id, request_id, ip`

// filter is which rows a page shows.
type filter struct {
	column, value string // whose rows
	own           bool   // rows of no workspace alone
	equals        [][2]string
	from, to      int64
}

// all is every row of a workspace.
func all(workspaceID string) filter {
	return filter{column: "workspace_id", value: workspaceID, to: web.LastMillisecond}
}

func (f *filter) equal(column string, value *string) {
	if value != nil {
		f.equals = append(f.equals, [2]string{column, *value})
	}
}

// scope is what a cursor is bound to.
func (f filter) scope() []string {
	parts := []string{"audit", f.column, f.value, strconv.FormatInt(f.from, 10), strconv.FormatInt(f.to, 10)}
	for _, e := range f.equals {
		parts = append(parts, e[0], e[1])
	}
	return parts
}

// newest asks for the columns of rows below a position, newest first.
func (f filter) newest(below string, take int) (question string, args []any) {
	// Ids carry their time: the span of time is a span of ids.
	if f.to != web.LastMillisecond {
		below = min(below, db.FirstID("aud", f.to+1))
	}
	args = []any{f.value, below}
	var sql strings.Builder
	sql.WriteString(`SELECT ` + columns + ` FROM audit_log WHERE ` + f.column + ` = $1 AND id < $2`)
	arg := func(condition, value string) {
		args = append(args, value)
		fmt.Fprintf(&sql, " AND %s $%d", condition, len(args))
	}
	if f.own {
		sql.WriteString(` AND workspace_id IS NULL`)
	}
	if f.from > 0 {
		arg("id >=", db.FirstID("aud", f.from))
	}
	for _, e := range f.equals {
		arg(e[0]+" =", e[1])
	}
	args = append(args, take)
	fmt.Fprintf(&sql, " ORDER BY id DESC LIMIT $%d", len(args))
	return sql.String(), args
}

// encode adds the rows of a page as they are sent.
func (f filter) encode(q db.Q, w web.Window, page *web.Encoded) error {
	sql, args := f.newest(w.After, w.Take)
	return q.Each(func(r db.Rows) error {
		page.Row(r.Raw(0), func(dst []byte) []byte { return appendRow(dst, r) })
		return nil
	}, sql, args...)
}

// rows gathers rows below a position.
func (f filter) rows(q db.Q, below string, take int) ([]Row, error) {
	sql, args := f.newest(below, take)
	return db.Collect(q, readRow, sql, args...)
}

func find(q db.Q, workspaceID, id string) (row Row, found bool, err error) {
	err = q.Each(func(r db.Rows) error {
		row, found = readRow(r), true
		return nil
	}, `SELECT `+columns+` FROM audit_log WHERE id = $1 AND workspace_id = $2`, id, workspaceID)
	return row, found, err
}

// countSpan counts the rows of a workspace from one id to before another, and
// those among them that tell of no success, each up to a limit.
func countSpan(q db.Q, workspaceID, first, past string, limit int) (count, refused int, err error) {
	_, err = q.Row(`SELECT
		(SELECT count(*) FROM (SELECT 1 FROM audit_log WHERE workspace_id = $1 AND id >= $2 AND id < $3 LIMIT $4) a),
		(SELECT count(*) FROM (SELECT 1 FROM audit_log WHERE workspace_id = $1 AND outcome IN ($5, $6) AND id >= $2 AND id < $3 LIMIT $4) r)`,
		workspaceID, first, past, limit, string(audit.Denied), string(audit.Failure)).Scan(&count, &refused)
	return count, refused, err
}

func appendRow(dst []byte, r db.Rows) []byte {
	dst = append(dst, `{"id":"`...)
	dst = append(dst, r.Raw(0)...)
	dst = append(dst, `","action":"`...)
	dst = append(dst, r.Raw(1)...)
	dst = append(dst, `","actor_name":`...)
	dst = web.AppendString(dst, r.Raw(2))
	dst = append(dst, `,"actor_email":`...)
	dst = web.AppendString(dst, r.Raw(3))
	dst = append(dst, `,"description":`...)
	dst = web.AppendString(dst, r.Raw(4))
	dst = append(dst, `,"outcome":"`...)
	dst = append(dst, r.Raw(5)...)
	dst = append(dst, `","timestamp":`...)
	dst = strconv.AppendInt(dst, r.Int(6), 10)
	for i, name := range [...]string{"actor_id", "actor_type", "resource_type", "resource_id", "request_id", "ip"} {
		dst = append(dst, `,"`...)
		dst = append(dst, name...)
		dst = append(dst, `":`...)
		dst = web.AppendString(dst, r.Raw(7+i))
	}
	return append(dst, '}')
}
