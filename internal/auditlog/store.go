package auditlog

import (
	"fmt"
	"strconv"
	"strings"

	"bursar/internal/db"
	"bursar/internal/web"
)

// filter is which rows a page shows.
type filter struct {
	column, value string // whose rows
	own           bool   // rows of no workspace alone
	equals        [][2]string
	from, to      int64
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

// each adds the rows of the page, newest first.
func (f filter) each(q db.Q, w web.Window, page *web.Encoded) error {
	// Ids carry their time: the span of time is a span of ids.
	before := min(w.After, db.FirstID("aud", f.to+1))
	if f.to == web.LastMillisecond {
		before = w.After
	}
	args := []any{f.value, before}
	var sql strings.Builder
	sql.WriteString(`SELECT id, action, actor_name, actor_email, description, outcome, at, actor_id, actor_type,
		resource_type, resource_id, request_id, ip FROM audit_log WHERE ` + f.column + ` = $1 AND id < $2`)
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
	args = append(args, w.Take)
	fmt.Fprintf(&sql, " ORDER BY id DESC LIMIT $%d", len(args))
	return q.Each(func(r db.Rows) error {
		page.Row(r.Raw(0), func(dst []byte) []byte { return appendRow(dst, r) })
		return nil
	}, sql.String(), args...)
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
